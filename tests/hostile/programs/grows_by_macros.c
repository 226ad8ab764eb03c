/* Ten lines that become 4 to the 30th.
 *
 * class: compiler, endless
 * limits: build_s=5 build_mib=512
 * compile_c: compilation_failure compile_timeout|compile_resource|refused
 * compile_host: compilation_failure compile_timeout|compile_resource|refused
 * compile_cl: compilation_failure compile_timeout|compile_resource|refused
 * compile_cu: compilation_failure compile_timeout|compile_resource|refused
 */
#define M0(x) x, x, x, x
#define M1(x) M0(M0(M0(x)))
#define M2(x) M1(M1(M1(x)))
#define M3(x) M2(M2(M2(x)))
int many[] = { M3(1) };
