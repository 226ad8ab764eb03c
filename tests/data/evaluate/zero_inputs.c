/* mismatch input_changed
 * Destroys its inputs so that a reference that runs later gives zeros too. */
int kf_forward(struct kf_call *c)
{
	memset(c->in[0].data, 0, sizeof(float) * (size_t)kf_numel(&c->in[0]));
	memset(Y(c), 0, sizeof(float) * (size_t)kf_numel(&c->out[0]));
	return 0;
}
