/* runtime_error device_fault kernel */
int kf_forward(struct kf_call *c)
{
	return linear(c, ROWS(c)) |
		put(c, c->out[0].data, INT64_C(1) << 44);
}
