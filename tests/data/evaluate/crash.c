/* runtime_error signal */
int kf_forward(struct kf_call *c)
{
	volatile float *nowhere = (float *)8;

	(void)c;
	*nowhere = 1;
	return 0;
}
