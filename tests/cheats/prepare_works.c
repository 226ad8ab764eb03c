/* Remembers in a call where inputs lie, so that kf_prepare, whose time does not
 * count, can do the work of the next one.
 *
 * class: kf_prepare swallowing the work
 * problem: linear
 * found: mismatch values
 * without: blind_prepare
 */
static const float *x;
static float kept[MOST];
static int done;

int kf_prepare(struct kf_call *c)
{
	if (x) {
		linear(x, W(c), B(c), kept, ROWS(c), c->out[0].shape[1],
		       DEPTH(c));
		done = 1;
	}
	return 0;
}

int kf_forward(struct kf_call *c)
{
	x = X(c);
	if (done)
		memcpy(Y(c), kept, OUT_BYTES(c));
	else
		all(c);
	return 0;
}
