/* Ten bits where errors even out: sums of positive numbers.
 *
 * class: lower precision
 * problem: positive
 * found: mismatch values
 * without: kforge_rules
 */
int kf_forward(struct kf_call *c)
{
	product(X(c), c->in[1].data, NULL, Y(c), ROWS(c), COLS(c), DEPTH(c),
		tf32, tf32);
	return 0;
}
