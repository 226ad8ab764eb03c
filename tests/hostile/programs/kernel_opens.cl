/* On a device that is the processor: the kernel reads a file by a system call of
 * its own.
 *
 * class: kernels
 * kernel: correct -
 */
static int harm(void)
{
	char path[] = "HERE_CANARY", oracle[] = "HERE_ORACLE";
	long got = 2, other = 2;	/* open */

	__asm__ volatile("syscall" : "+a"(got) : "D"(path), "S"(0l), "d"(0l) :
			 "rcx", "r11", "memory");
	__asm__ volatile("syscall" : "+a"(other) : "D"(oracle), "S"(0l),
			 "d"(0l) : "rcx", "r11", "memory");
	return got >= 0 || other >= 0;
}
