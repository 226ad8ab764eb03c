/* good */
#include <kforge/launch.h>

struct pair { int64_t i; float f; uint32_t zero; };

int kf_prepare(struct kf_call *c)
{
	const struct kf_tensor *w = kf_weight(c, "fc.weight");
	void *turned = kf_keep(c, 3, kf_numel(w) * 4);
	void *scratch = kf_temp(c, 100);

	if (kf_keep(c, 3, 16) != turned || c->in[0].data || c->out[0].data)
		return 7;
	if (kf_zero(c, scratch, 100) || kf_fill32(c, turned, -1, 4))
		return 1;
	return kf_launch(c, "turn", KF_DIM(2, 2), KF_DIM(16, 4), 1024,
			 KF_BUF(w), KF_BUF(turned), KF_BUF(scratch));
}

int kf_forward(struct kf_call *c)
{
	struct pair pair = { c->scalar[0].i, 0.5f, 0 };
	void *turned = kf_keep(c, 3, 16);
	float *first = kf_temp(c, 1000), *second = kf_temp(c, 0);

	if (!turned || !first || !second || first == second)
		return 2;
	if (kf_launch(c, "nothing", KF_DIM(1), KF_DIM(1), 0))
		return 3;
	if (kf_copy(c, kf_at(first, 8), KF_HANDLE(c->in[0]), 32) ||
	    kf_zero(c, c->out[0], 0))
		return 4;
	if (kf_launch_with(c, "all", KF_DIM(4, 5, 6), KF_DIM(32), 49152,
			   ((struct kf_options) { .cluster = KF_DIM(2),
						  .cooperative = 1,
						  .dependent = 1 }),
			   KF_BUF_AT(c->in[0], 256), KF_BUF(first + 2),
			   KF_BUF_AT(c->in[0], 24 * 64 * 4), KF_I8(-1), KF_U16(65535),
			   KF_I32(-5), KF_U64(1ull << 63), KF_F32(0.5), KF_F64(-2),
			   KF_BYTES(&pair, sizeof(pair)), KF_LOCAL(512)))
		return 5;
	return kf_launch(c, "last", KF_DIM(1), KF_DIM(32), 0,
			 KF_BUF(turned), KF_BUF(kf_weight(c, "fc.bias")),
			 KF_BUF(c->out[0]));
}
