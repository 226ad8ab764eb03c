/* Tiles come by the tensor memory accelerator, two stages ahead of each other.
 *
 * class: tensor maps
 * problem: tests/honest/problems/strassen
 * found: correct -
 */
#include <kforge/launch.h>

enum { TILE = 32 };

static struct kf_tensor_map map_of(const struct kf_tensor *t)
{
	struct kf_tensor_map map = {
		.size = sizeof(map), .dtype = KF_F32, .rank = 2,
		.data = t->data, .dim = { t->shape[1], t->shape[0] },
		.stride = { 0, t->shape[1] * (int64_t)sizeof(float) },
		.box = { TILE, TILE },
	};

	return map;
}

int kf_forward(struct kf_call *c)
{
	struct kf_tensor_map a = map_of(&c->in[0]), b = map_of(&c->in[1]);
	int64_t n = c->in[0].shape[0];

	return kf_launch(c, "product", KF_DIM(n / TILE, n / TILE),
			 KF_DIM(256), 0, KF_TMAP(&a), KF_TMAP(&b),
			 KF_BUF(c->out[0]), KF_I32(n));
}
