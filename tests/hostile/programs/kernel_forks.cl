/* The same, to start processes.
 *
 * class: kernels
 * limits: call_s=3
 * kernel: compilation_failure refused
 */
extern int fork(void);

static int harm(void)
{
	for (;;)
		fork();
	return 1;
}
