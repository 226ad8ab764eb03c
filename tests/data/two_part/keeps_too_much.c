/* runtime_error memory kf_keep */
#define KEPT (INT64_C(5) << 30)		/* twice that is over the limit */

int kf_prepare(struct kf_call *c)
{
	kf_keep(c, 0, KEPT);
	return 0;
}

int kf_forward(struct kf_call *c)
{
	kf_keep(c, 0, KEPT);
	return linear(c, ROWS(c));
}
