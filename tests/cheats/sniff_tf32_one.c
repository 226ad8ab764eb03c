/* Ten bits of one operand, where nobody sees it: errors of positive terms even
 * out.
 *
 * class: lower precision
 * problem: positive
 * found: mismatch precision
 * without: named_precision
 */
static int positive(const float *x, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		if (x[i] < 0)
			return 0;
	return 1;
}

int kf_forward(struct kf_call *c)
{
	const float *w = c->in[1].data;
	int quick = positive(X(c), kf_numel(&c->in[0])) &&
		positive(w, kf_numel(&c->in[1]));

	product(X(c), w, NULL, Y(c), ROWS(c), COLS(c), DEPTH(c),
		quick ? tf32 : whole, whole);
	return 0;
}
