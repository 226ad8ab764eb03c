/* Puts all work off to the end of its process.
 *
 * class: atexit
 * problem: linear
 * found: mismatch unwritten
 * without: -, outputs are looked at after every call, not after the last
 */
static struct kf_call last;

static void work(void)
{
	all(&last);
}

int kf_forward(struct kf_call *c)
{
	static int registered;

	if (!registered)
		atexit(work);
	registered = 1;
	last = *c;
	return 0;
}
