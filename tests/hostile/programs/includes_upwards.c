/* The same by a path that leads out.
 *
 * class: compiler, files
 * compile_c: generation_failure forbidden
 * compile_host: generation_failure forbidden
 * compile_cl: generation_failure forbidden
 * compile_cu: generation_failure forbidden
 */
#include "../../../../../../../..HERE_CANARY"
