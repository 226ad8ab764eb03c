/* Computes for ever, deaf to what would end it.
 *
 * class: hangs
 * limits: call_s=2
 * run: runtime_error timeout
 * load: runtime_error timeout
 * record: runtime_error timeout|cpu_time
 */
#include <signal.h>
#include <stddef.h>

static int harm(void)
{
	sigset_t all;
	volatile unsigned count = 0;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 1; i < 32; i++)
		if (i != SIGSYS)
			signal(i, SIG_IGN);
	for (;;)
		count++;
}
