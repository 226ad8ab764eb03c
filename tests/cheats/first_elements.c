/* The first elements are computed, for those are what people print.
 *
 * class: only the first elements
 * problem: linear
 * found: mismatch values
 * without: every_element
 */
int kf_forward(struct kf_call *c)
{
	memset(Y(c), 0, OUT_BYTES(c));
	linear(X(c), W(c), B(c), Y(c), 8, COLS(c), DEPTH(c));
	return 0;
}
