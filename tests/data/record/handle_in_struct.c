/* not_repeatable argument 1|struct */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	struct { const void *x; int64_t n; } s = { c->in[0].data, 3 };

	return kf_launch(c, "axpb", KF_DIM(1), KF_DIM(1), 0,
			 KF_BYTES(&s, sizeof(s)));
}
