/* mismatch input_changed byte */
int kf_forward(struct kf_call *c)
{
	return linear(c, ROWS(c)) | put(c, c->in[0].data, 5);
}
