#include "evaluate/device.h"

#define HOLDER_BYTES 128

static void notice(const struct kf_device_wait *wait, uint64_t waited_ns)
{
	char holder[HOLDER_BYTES];

	kf_lock_holder(wait->lock_path, holder, sizeof(holder));
	kf_logf(wait->log, KF_LOG_INFO, "waiting: %s times on %s, for %.0f s "
		"so far", holder, wait->device_id, (double)waited_ns / 1e9);
}

static enum kf_code fail(const struct kf_device_wait *wait, struct kf_err *err)
{
	char holder[HOLDER_BYTES];

	kf_lock_holder(wait->lock_path, holder, sizeof(holder));
	return kf_fail(err, KF_E_TIMEOUT, "others have timed on device %s for "
		       "%.3g s, now %s; try again when it has ended, or end "
		       "it", wait->device_id, (double)wait->timeout_ns / 1e9,
		       holder);
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

enum kf_code kf_device_lock(const struct kf_device_wait *wait,
			    struct kf_lock *out, uint64_t *waited_ns,
			    struct kf_err *err)
{
	uint64_t start_ns = kf_now_ns();
	enum kf_code code = kf_lock_try(wait->lock_path, out, err);
	struct kf_err why = { 0 };

	*waited_ns = 0;
	while (!code && !out->held) {
		uint64_t left_ns = wait->timeout_ns - *waited_ns;

		notice(wait, *waited_ns);
		code = kf_lock_wait(wait->lock_path,
				    lesser(wait->notice_ns, left_ns),
				    wait->cancel, out, &why);
		*waited_ns = kf_now_ns() - start_ns;
		if (code == KF_E_TIMEOUT)
			code = *waited_ns < wait->timeout_ns ? KF_OK :
				fail(wait, err);
		else if (code && err)
			*err = why;
	}
	return code;
}
