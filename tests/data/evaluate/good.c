/* correct - */
int kf_forward(struct kf_call *c)
{
	all(c);
	return 0;
}
