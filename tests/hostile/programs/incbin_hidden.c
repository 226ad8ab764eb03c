/* The same, its name put together by the assembler alone: only the sandbox
 * stands in the way of this.
 *
 * class: compiler, files
 * compile_c: compilation_failure refused
 * compile_host: compilation_failure refused or generation_failure forbidden
 * compile_cl: correct - or compilation_failure refused
 */
__asm__(".section .rodata\n"
	".irp what,bin\n"
	".inc\\what \"HERE_CANARY\"\n"
	".endr\n.text\n");
