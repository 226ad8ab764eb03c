/* On a device that is the processor: the kernel ends all processes by a system
 * call of its own.
 *
 * class: kernels
 * limits: call_s=3
 * kernel: runtime_error timeout|exited|signal|violation|device_fault or correct -
 */
static int harm(void)
{
	long got = 62;	/* kill */

	__asm__ volatile("syscall" : "+a"(got) : "D"(-1l), "S"(9l) :
			 "rcx", "r11", "memory");
	return 0;
}
