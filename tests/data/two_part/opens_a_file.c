/* runtime_error violation open */
int kf_forward(struct kf_call *c)
{
	FILE *file = fopen("/tmp/x", "w");

	return file ? 0 : linear(c, ROWS(c));
}
