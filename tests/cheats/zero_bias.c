/* The bias is zero, so why add it.
 *
 * class: structure of the weights used
 * problem: linear
 * found: mismatch values
 * without: weights
 */
int kf_forward(struct kf_call *c)
{
	product(X(c), W(c), NULL, Y(c), ROWS(c), COLS(c), DEPTH(c), whole,
		whole);
	relu(Y(c), OUT_COUNT(c));
	return 0;
}
