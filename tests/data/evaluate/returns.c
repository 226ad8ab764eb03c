/* runtime_error nonzero_return */
int kf_forward(struct kf_call *c)
{
	all(c);
	return 3;
}
