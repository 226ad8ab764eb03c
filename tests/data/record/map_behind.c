/* launch argument 1|input 0 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	struct kf_tensor_map map = {
		.size = sizeof(map), .dtype = KF_F32, .rank = 2,
		.data = c->in[0].data, .dim = { 64, 25 }, .stride = { 4, 256 },
		.box = { 32, 8 },
	};

	return kf_launch(c, "tiles", KF_DIM(3), KF_DIM(128), 0, KF_TMAP(&map));
}
