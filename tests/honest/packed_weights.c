/* kf_prepare turns the weights round once; no call reads the others.
 *
 * class: precomputation from weights
 * problem: linear
 * found: correct -
 */
int kf_prepare(struct kf_call *c)
{
	int64_t cols = c->weight[0].shape[0], depth = c->weight[0].shape[1];
	float *to = kf_keep(c, 0, (size_t)(cols * depth) * sizeof(float));

	for (int64_t j = 0; to && j < cols; j++)
		for (int64_t k = 0; k < depth; k++)
			to[k * cols + j] = W(c)[j * depth + k];
	return !to;
}

int kf_forward(struct kf_call *c)
{
	const int64_t cols = COLS(c), depth = DEPTH(c);
	const float *w = kf_keep(c, 0, (size_t)(cols * depth) * sizeof(float));

	for (int64_t r = 0; r < ROWS(c); r++) {
		float *y = Y(c) + r * cols;

		for (int64_t j = 0; j < cols; j++)
			y[j] = B(c)[j];
		for (int64_t k = 0; k < depth; k++)
			for (int64_t j = 0; j < cols; j++)
				y[j] += X(c)[r * depth + k] * w[k * cols + j];
	}
	relu(Y(c), OUT_COUNT(c));
	return 0;
}
