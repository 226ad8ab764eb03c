/* Calls itself for ever.
 *
 * class: memory
 * run: runtime_error signal
 * load: runtime_error signal
 * record: runtime_error signal
 * reference: harness_error input
 */
static int deeper(volatile char *above)
{
	volatile char here[4096];

	here[0] = above[0];
	return deeper(here) + here[0];
}

static int harm(void)
{
	char top = 1;

	return deeper(&top) == 7;
}
