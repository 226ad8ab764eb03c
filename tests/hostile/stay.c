/* Does nothing for ever, and ignores every signal that can be ignored. */
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
	prctl(PR_SET_NAME, "kf-hostile-stay");
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_IGN);
	for (;;)
		pause();
}
