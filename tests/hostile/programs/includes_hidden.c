/* A file of the machine as lines of the assembler's, which quotes them when it
 * does not understand them.
 *
 * class: compiler, files
 * compile_c: compilation_failure refused
 * compile_cl: correct - or compilation_failure refused
 */
__asm__(".irp what,lude\n"
	".inc\\what \"/etc/passwd\"\n"
	".endr\n");
