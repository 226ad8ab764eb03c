/* runtime_error nonzero_return 7 */
int kf_forward(struct kf_call *c)
{
	linear(c, ROWS(c));
	return 7;
}
