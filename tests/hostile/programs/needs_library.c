/* Names a library that is to be loaded with the program.
 *
 * class: compiler, files
 * compile_c: compilation_failure refused
 */
extern int not_there_at_all(void);
int (*volatile wanted)(void) = not_there_at_all;
