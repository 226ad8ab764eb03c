/* not_repeatable argument 1|addresses */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	int local = 0;

	return kf_launch(c, "axpb", KF_DIM(1), KF_DIM(1), 0,
			 KF_U64((uintptr_t)&local));
}
