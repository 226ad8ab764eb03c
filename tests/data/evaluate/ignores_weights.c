/* mismatch values weight
 * Takes the weights of the first kf_prepare for ever. */
static float w[1 << 16], b[1 << 10];
static int have;

int kf_prepare(struct kf_call *c)
{
	if (!have) {
		memcpy(w, W(c), sizeof(float) *
		       (size_t)kf_numel(&c->weight[0]));
		memcpy(b, B(c), sizeof(float) *
		       (size_t)kf_numel(&c->weight[1]));
	}
	have = 1;
	return 0;
}

int kf_forward(struct kf_call *c)
{
	linear(X(c), w, b, Y(c), ROWS(c), COLS(c), DEPTH(c));
	return 0;
}
