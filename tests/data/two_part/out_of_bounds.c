/* mismatch out_of_bounds beyond */
int kf_forward(struct kf_call *c)
{
	return linear(c, ROWS(c)) |
		put(c, c->out[0].data, kf_numel(&c->out[0]) + 3);
}
