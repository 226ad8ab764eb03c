/* violation|signal|nonzero_return */
#include <kforge/launch.h>
#include <stdio.h>

int kf_forward(struct kf_call *c)
{
	FILE *file = fopen("/tmp/kept", "w");

	if (file)
		fclose(file);
	return kf_launch(c, "axpb", KF_DIM(file ? 1 : 2), KF_DIM(1), 0);
}
