/* An object of 64 GiB.
 *
 * class: compiler, floods
 * limits: build_s=5
 * compile_c: compilation_failure refused|compile_resource|compile_timeout
 * compile_host: compilation_failure refused|compile_resource|compile_timeout
 */
__asm__(".data\n.fill 0x1000000000, 1, 1\n.text\n");
