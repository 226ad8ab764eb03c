/* On a device that is the processor: the kernel makes system calls itself, as
 * many processes as there may be, none of which ends.
 *
 * class: kernels
 * limits: call_s=3
 * kernel: runtime_error timeout|exited|signal|violation|device_fault|memory
 */
static int harm(void)
{
	for (;;) {
		long got = 57;	/* fork */

		__asm__ volatile("syscall" : "+a"(got) : :
				 "rcx", "r11", "memory");
	}
	return 1;
}
