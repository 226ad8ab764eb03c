/* On a device that is the processor: the compiler of the kernel's last step is
 * told to bring in a file, in the process that runs kernels.
 *
 * class: kernels
 * kernel: correct - or compilation_failure refused
 */
static int harm(void)
{
	unsigned long first = 0;

	__asm__ volatile("jmp 2f\n.balign 8\n1:\n"
			 ".irp what,bin\n.inc\\what \"HERE_CANARY\"\n.endr\n"
			 ".quad 0\n2:\nmovq 1b(%%rip), %0" : "=r"(first));
	return first != 0;
}
