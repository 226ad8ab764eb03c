/* An array of 16 GiB that is not zero.
 *
 * class: compiler, floods
 * limits: build_s=5
 * compile_c: compilation_failure refused|compile_resource|compile_timeout
 * compile_host: compilation_failure refused|compile_resource|compile_timeout
 */
char large[17179869184] = { [17179869183] = 1 };
