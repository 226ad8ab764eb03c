/* Only the first half of the rows: the rest is left to whoever was here.
 *
 * class: stale or unwritten output
 * problem: linear
 * found: mismatch unwritten
 * without: oracle_apart
 */
int kf_forward(struct kf_call *c)
{
	linear(X(c), W(c), B(c), Y(c), ROWS(c) / 2, COLS(c), DEPTH(c));
	return 0;
}
