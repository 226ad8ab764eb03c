/* good */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	struct kf_tensor_map map = {
		.size = sizeof(map), .dtype = KF_F32, .rank = 2, .swizzle = 3,
		.data = c->in[0].data, .dim = { 64, 24 }, .stride = { 4, 256 },
		.box = { 32, 8 }, .element_stride = { 1, 1 },
	};

	return kf_launch(c, "tiles", KF_DIM(3), KF_DIM(128), 0, KF_TMAP(&map),
			 KF_BUF(c->out[0]));
}
