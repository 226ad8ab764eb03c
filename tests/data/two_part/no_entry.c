/* compilation_failure load|refused kf_forward */
int kf_backward(struct kf_call *c)
{
	return linear(c, ROWS(c));
}
