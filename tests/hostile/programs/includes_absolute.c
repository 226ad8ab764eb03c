/* Brings a file of the machine into the compiler's messages.
 *
 * class: compiler, files
 * compile_c: generation_failure forbidden
 * compile_host: generation_failure forbidden
 * compile_cl: generation_failure forbidden
 * compile_cu: generation_failure forbidden
 */
#include "/etc/passwd"
