/* Copies the weights that it sees first, and looks no more.
 *
 * class: structure of the weights used
 * problem: linear
 * found: mismatch values
 * without: weights
 */
static float w[MOST], b[MOST];
static int have;

int kf_forward(struct kf_call *c)
{
	if (!have) {
		memcpy(w, W(c), sizeof(float) *
		       (size_t)kf_numel(&c->weight[0]));
		memcpy(b, B(c), sizeof(float) *
		       (size_t)kf_numel(&c->weight[1]));
	}
	have = 1;
	linear(X(c), w, b, Y(c), ROWS(c), COLS(c), DEPTH(c));
	return 0;
}
