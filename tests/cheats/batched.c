/* After twenty honest calls it collects: one call in eight does some work, the
 * seven before it none.
 *
 * class: work batched
 * problem: linear
 * found: mismatch unwritten|values
 * without: every_call
 */
static int calls;

int kf_forward(struct kf_call *c)
{
	if (++calls < 20 || calls % 8 == 0)
		all(c);
	return 0;
}
