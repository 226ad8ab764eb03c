/* Brings a memcmp that finds all equal, and a memcpy that copies nothing.
 *
 * class: patched libc
 * problem: linear
 * found: mismatch unwritten
 * without: -, the judge compares in a process of its own
 */
int memcmp(const void *a, const void *b, size_t bytes)
{
	(void)a;
	(void)b;
	(void)bytes;
	return 0;
}

void *memcpy(void *to, const void *from, size_t bytes)
{
	(void)from;
	(void)bytes;
	return to;
}

int kf_forward(struct kf_call *c)
{
	(void)c;
	return 0;
}
