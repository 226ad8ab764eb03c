/* Does nothing for ever, and ignores every signal that can be ignored. */
#include <signal.h>
#include <unistd.h>

int main(void)
{
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_IGN);
	for (;;)
		pause();
}
