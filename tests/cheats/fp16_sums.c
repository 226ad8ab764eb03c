/* Whole operands, but sums that are rounded to ten bits now and then.
 *
 * class: lower precision
 * problem: linear
 * found: mismatch values
 * without: precision
 */
int kf_forward(struct kf_call *c)
{
	for (int64_t i = 0; i < ROWS(c); i++)
		for (int64_t j = 0; j < COLS(c); j++) {
			float sum = B(c)[j];

			for (int64_t k = 0; k < DEPTH(c); k++) {
				sum += X(c)[i * DEPTH(c) + k] *
					W(c)[j * DEPTH(c) + k];
				if (k % 64 == 63)
					sum = tf32(sum);
			}
			Y(c)[i * COLS(c) + j] = sum > 0 ? sum : 0;
		}
	return 0;
}
