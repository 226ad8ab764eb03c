/* Where the largest element stands: the last of those that are equal, and not
 * the first as the reference has it.
 *
 * class: ties
 * problem: tests/honest/problems/position
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	int64_t *at = c->out[0].data;

	for (int64_t r = 0; r < ROWS(c); r++) {
		const float *x = X(c) + r * DEPTH(c);

		at[r] = 0;
		for (int64_t i = 1; i < DEPTH(c); i++)
			if (x[i] >= x[at[r]])
				at[r] = i;
	}
	return 0;
}
