/* So many brackets that the compiler's stack overflows.
 *
 * class: compiler, endless
 * limits: build_s=5
 * compile_c: compilation_failure refused|compile_timeout|compile_resource
 * compile_cl: compilation_failure refused|compile_timeout|compile_resource
 * compile_cu: compilation_failure refused|compile_timeout|compile_resource
 */
#define A0(x) ((((((((((x))))))))))
#define A1(x) A0(A0(A0(A0(A0(A0(A0(A0(A0(A0(x))))))))))
#define A2(x) A1(A1(A1(A1(A1(A1(A1(A1(A1(A1(x))))))))))
#define A3(x) A2(A2(A2(A2(A2(A2(A2(A2(A2(A2(x))))))))))
#define A4(x) A3(A3(A3(A3(A3(A3(A3(A3(A3(A3(x))))))))))
int deep = A4(1);
