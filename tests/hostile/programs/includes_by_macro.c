/* The same by a name that is put together.
 *
 * class: compiler, files
 * compile_c: generation_failure forbidden
 * compile_host: generation_failure forbidden
 * compile_cl: generation_failure forbidden
 * compile_cu: generation_failure forbidden
 */
#define TEXT(x) #x
#define NAME(x) TEXT(x)
#include NAME(HERE_CANARY)
