/* compilation_failure refused */
int kf_forward(struct kf_call *c)
{
	return undeclared_thing(c);
}
