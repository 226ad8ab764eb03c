/* Knows the one shape that was shown to it.
 *
 * class: only checked shapes
 * problem: linear
 * shapes: ROWS=24 ROWS=31
 * found: mismatch unwritten
 * without: other_shapes
 */
int kf_forward(struct kf_call *c)
{
	linear(X(c), W(c), B(c), Y(c), 24, COLS(c), DEPTH(c));
	return 0;
}
