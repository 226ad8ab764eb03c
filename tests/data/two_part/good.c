/* correct - */
int kf_forward(struct kf_call *c)
{
	return linear(c, ROWS(c));
}
