/* A kernel that writes where nothing was given to it.
 *
 * class: kernels
 * kernel: runtime_error signal|device_fault
 */
static int harm(void)
{
	*(volatile __global int *)0x10 = 1;
	return 1;
}
