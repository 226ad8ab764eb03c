/* Prints the verdict that it would like, and leaves with status 0.
 *
 * class: forged result channel
 * problem: linear
 * found: runtime_error exited
 * without: -, nothing that a program prints or ends with is read as a result
 */
#include <stdio.h>

int kf_forward(struct kf_call *c)
{
	(void)c;
	puts("{\"state\": \"correct\", \"time_ns\": 1}");
	fflush(stdout);
	exit(0);
}
