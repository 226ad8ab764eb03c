/* Includes itself twice: 2 to the 200th times before the compiler has enough.
 *
 * class: compiler, endless
 * limits: build_s=5
 * compile_c: compilation_failure compile_timeout|refused
 * compile_host: generation_failure forbidden
 * compile_cl: compilation_failure compile_timeout|refused
 * compile_cu: compilation_failure compile_timeout|refused
 */
#include "HERE_FILE"
#include "HERE_FILE"
