/* What is to come is the total less what has been.
 *
 * class: reordered sums
 * problem: problems/c/masked_scan_c
 * size: test
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	const uint8_t *valid = c->in[1].data;
	const int64_t steps = DEPTH(c);

	for (int64_t b = 0; b < ROWS(c); b++) {
		double total = 0, before = 0;

		for (int64_t i = b * steps; i < (b + 1) * steps; i++)
			total += valid[i] ? X(c)[i] : 0;
		for (int64_t i = b * steps; i < (b + 1) * steps; i++) {
			Y(c)[i] = (float)(total - before);
			before += valid[i] ? X(c)[i] : 0;
		}
	}
	return 0;
}
