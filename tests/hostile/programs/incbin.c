/* Has the assembler put a file into the program.
 *
 * class: compiler, files
 * compile_c: generation_failure forbidden
 * compile_host: generation_failure forbidden
 * compile_cl: generation_failure forbidden
 */
__asm__(".section .rodata\n.incbin \"HERE_CANARY\"\n.text\n");
