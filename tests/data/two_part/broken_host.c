/* compilation_failure refused host.c */
int kf_forward(struct kf_call *c)
{
	return linear(c, ROWS(c)) +;
}
