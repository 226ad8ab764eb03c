/* correct -
 * Keeps a transposed copy of the weights, made anew whenever they change. */
int kf_prepare(struct kf_call *c)
{
	float *t = kf_keep(c, 0, sizeof(float) * (size_t)(COLS(c) * DEPTH(c)));

	for (int64_t j = 0; j < COLS(c); j++)
		for (int64_t k = 0; k < DEPTH(c); k++)
			t[k * COLS(c) + j] = W(c)[j * DEPTH(c) + k];
	return 0;
}

int kf_forward(struct kf_call *c)
{
	const float *t = kf_keep(c, 0,
		sizeof(float) * (size_t)(COLS(c) * DEPTH(c)));

#pragma omp parallel for
	for (int64_t i = 0; i < ROWS(c); i++) {
		float *y = Y(c) + i * COLS(c);

		memcpy(y, B(c), sizeof(float) * (size_t)COLS(c));
		for (int64_t k = 0; k < DEPTH(c); k++)
			for (int64_t j = 0; j < COLS(c); j++)
				y[j] += X(c)[i * DEPTH(c) + k] *
					t[k * COLS(c) + j];
		for (int64_t j = 0; j < COLS(c); j++)
			y[j] = y[j] > 0 ? y[j] : 0;
	}
	return 0;
}
