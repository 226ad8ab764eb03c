/* mismatch out_of_bounds */
int kf_forward(struct kf_call *c)
{
	volatile float *y = Y(c);

	all(c);
	y[kf_numel(&c->out[0]) + 2] = 1;
	return 0;
}
