/* A kernel that prints without end.
 *
 * class: kernels
 * limits: call_s=2
 * kernel: runtime_error timeout
 */
static int harm(void)
{
	volatile int go = 1;

	while (go)
		printf("%d %d %d\n", 1234567, 1234567, 1234567);
	return 0;
}
