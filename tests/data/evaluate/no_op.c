/* mismatch unwritten
 * Hopes that the memory still holds somebody else's result. */
int kf_forward(struct kf_call *c)
{
	(void)c;
	return 0;
}
