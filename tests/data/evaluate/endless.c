/* runtime_error timeout */
int kf_forward(struct kf_call *c)
{
	for (volatile int i = 0; i >= 0; i ^= 1)
		(void)c;
	return 0;
}
