/* Prints much and crashes. */
#include <kforge/program.h>
#include <stdio.h>
#include <stdlib.h>

int kf_forward(struct kf_call *c)
{
	(void)c;
	for (int i = 0; i < 200000; i++)
		printf("line %d\n", i);
	fflush(stdout);
	abort();
}
