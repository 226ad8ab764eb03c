/* runtime_error signal handle */
int kf_forward(struct kf_call *c)
{
	const volatile float *x = c->in[0].data;

	return x[0] > 0 ? linear(c, ROWS(c)) : 0;
}
