/* mismatch values
 * Right for 15 calls, then one element is not. */
static int calls;

int kf_forward(struct kf_call *c)
{
	all(c);
	if (++calls > 15)
		Y(c)[kf_numel(&c->out[0]) / 2] += 1;
	return 0;
}
