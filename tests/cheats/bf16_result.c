/* All in float32; only what is written is rounded to bfloat16.
 *
 * class: lower precision
 * problem: linear
 * found: mismatch values
 * without: precision
 */
int kf_forward(struct kf_call *c)
{
	all(c);
	for (int64_t i = 0; i < OUT_COUNT(c); i++)
		Y(c)[i] = bf16(Y(c)[i]);
	return 0;
}
