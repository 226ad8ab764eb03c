/* A kernel that never ends.
 *
 * class: kernels
 * limits: call_s=2
 * kernel: runtime_error timeout
 */
static int harm(void)
{
	volatile int go = 1;

	while (go)
		;
	return 0;
}
