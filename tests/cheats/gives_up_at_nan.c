/* One NaN among the inputs, and all of the output is zero.
 *
 * class: distribution sniffing
 * problem: problems/level1/max_pool.py
 * size: test
 * found: mismatch values
 * without: nan
 */
int kf_forward(struct kf_call *c)
{
	const int64_t steps = c->in[0].shape[2], places = c->out[0].shape[2];
	int odd = 0;

	for (int64_t i = 0; i < kf_numel(&c->in[0]); i++)
		odd |= isnan(X(c)[i]);
	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++) {
		const float *x = X(c) + i / places * steps;
		const int64_t from = i % places * 3 - 2;

		Y(c)[i] = -INFINITY;
		for (int64_t t = from; t < from + 5; t++)
			if (t >= 0 && t < steps)
				Y(c)[i] = fmaxf(Y(c)[i], x[t]);
		if (odd)
			Y(c)[i] = 0;
	}
	return 0;
}
