#include "evaluate/device.h"

#define HOLDER_BYTES 128

static void notice(const struct kf_device_wait *wait, uint64_t waited_ns)
{
	char holder[HOLDER_BYTES];

	kf_lock_holder(wait->lock_path, holder, sizeof(holder));
	kf_logf(wait->log, KF_LOG_INFO, "waiting: %s is at work on %s, for "
		"%.0f s so far", holder, wait->device_id, (double)waited_ns / 1e9);
}

static enum kf_code fail(const struct kf_device_wait *wait, struct kf_err *err)
{
	char holder[HOLDER_BYTES];

	kf_lock_holder(wait->lock_path, holder, sizeof(holder));
	return kf_fail(err, KF_E_TIMEOUT, "others have worked on device %s for "
		       "%.3g s, now %s; try again when it has ended, or end "
		       "it", wait->device_id, (double)wait->timeout_ns / 1e9,
		       holder);
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Held by who waits to time, so that others who compute queue behind. */
static char *gate_path(const struct kf_device_wait *wait)
{
	return kf_format("%s.next", wait->lock_path);
}

/* Until the time is up, with a notice now and then. */
static enum kf_code wait_on(const struct kf_device_wait *wait,
			    enum kf_code (*take)(const char *path,
				uint64_t timeout_ns,
				const volatile int *cancel,
				struct kf_lock *out, struct kf_err *err),
			    struct kf_lock *out, uint64_t start_ns,
			    uint64_t *waited_ns, struct kf_err *err)
{
	enum kf_code code = KF_OK;
	struct kf_err why = { 0 };

	while (!code && !out->held) {
		uint64_t left_ns = wait->timeout_ns - *waited_ns;

		notice(wait, *waited_ns);
		code = take(wait->lock_path, lesser(wait->notice_ns, left_ns),
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

enum kf_code kf_device_lock(const struct kf_device_wait *wait,
			    struct kf_lock *out, uint64_t *waited_ns,
			    struct kf_err *err)
{
	uint64_t start_ns = kf_now_ns();
	enum kf_code code = kf_lock_try(wait->lock_path, out, err);
	struct kf_lock gate = { 0 };
	char *path = gate_path(wait);

	*waited_ns = 0;
	/* Where another one waits already, its gate does for both. */
	if (!code && !out->held)
		code = kf_lock_try(path, &gate, err);
	if (!code)
		code = wait_on(wait, kf_lock_wait, out, start_ns, waited_ns,
			       err);
	kf_lock_release(&gate);
	free(path);
	return code;
}

enum kf_code kf_device_share(const struct kf_device_wait *wait,
			     struct kf_lock *out, uint64_t *waited_ns,
			     struct kf_err *err)
{
	uint64_t start_ns = kf_now_ns();
	struct kf_lock gate;
	char *path = gate_path(wait);
	struct kf_err why = { 0 };
	enum kf_code code = kf_lock_share(path, wait->timeout_ns,
					  wait->cancel, &gate, &why);

	*out = (struct kf_lock) { 0 };
	*waited_ns = 0;
	if (code == KF_E_TIMEOUT) {
		code = fail(wait, err);
	} else if (!code) {
		code = kf_lock_share(wait->lock_path, 0, wait->cancel, out,
				     &why);
		if (code == KF_E_TIMEOUT)
			code = wait_on(wait, kf_lock_share, out, start_ns,
				       waited_ns, err);
		else if (code && err)
			*err = why;
	} else if (err) {
		*err = why;
	}
	*waited_ns = kf_now_ns() - start_ns;
	kf_lock_release(&gate);
	free(path);
	return code;
}
