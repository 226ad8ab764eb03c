/* Does a device still compute? Memory that is filled must hold that, and the
 * digests that a kernel takes of it must tell one filling from another. */
#include "platform/cuda/cuda.h"

#include "platform/canary.h"

#define BYTES	KF_CUDA_STAGING_BYTES
#define CHUNKS	(BYTES / KF_CUDA_DIGEST_CHUNK)

static enum kf_code fill(struct kf_device *dev, unsigned char byte,
			 uint64_t digest[CHUNKS], struct kf_err *err)
{
	const enum kf_twopart_arena arena = KF_TWOPART_SCRATCH;
	struct kf_cuda_digest d = { .count = 0 };
	int result = dev->api.fill8(dev->arena[arena], byte, BYTES,
				    dev->stream);
	enum kf_code code;

	if (!result)
		result = dev->api.copy_to_host(dev->staging, dev->arena[arena],
					       BYTES, dev->stream);
	code = kf_cuda_check(&dev->api, result, "fill memory", err);
	if (!code)
		code = kf_cuda_digest_take(dev, arena, &d, err);
	if (!code)
		memcpy(digest, d.want, CHUNKS * sizeof(digest[0]));
	for (size_t i = 0; i < BYTES && !code; i++)
		if (dev->staging[i] != byte)
			code = kf_fail(err, KF_E_UNAVAIL, "memory that was "
				       "filled on it does not hold that");
	free(d.want);
	return code;
}

static enum kf_code sing(const char *device_id, struct kf_err *err)
{
	uint64_t first[CHUNKS] = { 0 }, other[CHUNKS] = { 0 };
	uint64_t again[CHUNKS] = { 0 };
	struct kf_device *dev = NULL;
	enum kf_code code = kf_cuda_open(device_id, BYTES, &dev, err);

	if (!code)
		code = kf_cuda_arena_alloc(dev, KF_TWOPART_SCRATCH, BYTES,
					   err);
	if (!code)
		code = fill(dev, 0x5a, first, err);
	if (!code)
		code = fill(dev, 0xa5, other, err);
	if (!code)
		code = fill(dev, 0x5a, again, err);
	for (size_t i = 0; i < CHUNKS && !code; i++)
		if (first[i] != again[i] || first[i] == other[i])
			code = kf_fail(err, KF_E_UNAVAIL, "a kernel of "
				       "kforge's own gave a wrong result on "
				       "it");
	return code;
}

enum kf_code kf_cuda_canary(const char *device_id, uint64_t timeout_ns,
			    struct kf_err *err)
{
	return kf_canary_run(sing, device_id, timeout_ns, err);
}
