/* The same, to end all processes.
 *
 * class: kernels
 * limits: call_s=3
 * kernel: compilation_failure refused
 */
extern int kill(int pid, int signal);

static int harm(void)
{
	return kill(-1, 9) == 0;
}
