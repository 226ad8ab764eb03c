/* runtime_error device_fault kf_temp */
int kf_forward(struct kf_call *c)
{
	float *p = kf_temp(c, 1024);

	return linear(c, ROWS(c)) | put(c, p, 257);
}
