/* mismatch unwritten remainder
 * Whole vectors of eight columns; the rest is forgotten. */
int kf_forward(struct kf_call *c)
{
	int64_t whole = COLS(c) / 8 * 8;

	for (int64_t i = 0; i < ROWS(c); i++)
		for (int64_t j = 0; j < whole; j++) {
			float sum = B(c)[j];

			for (int64_t k = 0; k < DEPTH(c); k++)
				sum += X(c)[i * DEPTH(c) + k] *
					W(c)[j * DEPTH(c) + k];
			Y(c)[i * COLS(c) + j] = sum > 0 ? sum : 0;
		}
	return 0;
}
