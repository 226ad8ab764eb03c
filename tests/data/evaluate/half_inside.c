/* mismatch values precision
 * Operands cut to 10 bits, as half precision has them. */
static float cut(float x)
{
	unsigned bits;

	memcpy(&bits, &x, sizeof(bits));
	bits = (bits + 0x1000u) & ~0x1fffu;
	memcpy(&x, &bits, sizeof(bits));
	return x;
}

int kf_forward(struct kf_call *c)
{
	for (int64_t i = 0; i < ROWS(c); i++)
		for (int64_t j = 0; j < COLS(c); j++) {
			float sum = B(c)[j];

			for (int64_t k = 0; k < DEPTH(c); k++)
				sum += cut(X(c)[i * DEPTH(c) + k]) *
					cut(W(c)[j * DEPTH(c) + k]);
			Y(c)[i * COLS(c) + j] = sum > 0 ? sum : 0;
		}
	return 0;
}
