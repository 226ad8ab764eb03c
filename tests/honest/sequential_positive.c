/* A thousand positive terms in one float each, where rounding errors add up.
 *
 * class: sequential sums
 * problem: positive
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	product(X(c), c->in[1].data, NULL, Y(c), ROWS(c), COLS(c), DEPTH(c),
		whole, whole);
	return 0;
}
