/* A hundred thousand errors, each with its line.
 *
 * class: compiler, floods
 * limits: build_s=5
 * compile_c: compilation_failure refused|compile_timeout|compile_resource
 * compile_host: compilation_failure refused|compile_timeout|compile_resource
 * compile_cl: compilation_failure refused|compile_timeout|compile_resource
 * compile_cu: compilation_failure refused|compile_timeout|compile_resource
 */
#define E0 wrong; wrong; wrong; wrong; wrong; wrong; wrong; wrong;
#define E1 E0 E0 E0 E0 E0 E0 E0 E0
#define E2 E1 E1 E1 E1 E1 E1 E1 E1
#define E3 E2 E2 E2 E2 E2 E2 E2 E2
#define E4 E3 E3 E3 E3 E3 E3 E3 E3
E4 E4 E4 E4
