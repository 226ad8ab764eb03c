/* Has the compiler quote the lines of another file in a message.
 *
 * class: compiler, files
 * compile_c: generation_failure forbidden
 * compile_cl: generation_failure forbidden
 */
#line 1 "HERE_CANARY"
int broken = ;
