/* mismatch unwritten written */
int kf_forward(struct kf_call *c)
{
	return linear(c, ROWS(c) / 2);
}
