#include "executor/quarantine.h"

#include <errno.h>
#include <unistd.h>

#include "base/json.h"
#include "evaluate/device.h"

#define CANARIES	2
#define PAUSE_NS	KF_NS_PER_S	/* a device may be resetting itself */

enum kf_code kf_quarantine_check(const char *device_id, const char *path,
				 struct kf_err *err)
{
	enum kf_code code = KF_OK;
	json_t *json = NULL;

	if (kf_path_exists(path)) {
		/* A file that cannot be read is one all the same. */
		(void)kf_json_read(path, &json, NULL);
		code = kf_fail(err, KF_E_UNAVAIL, "device %s is in quarantine "
			       "since %s: %s; when it is well again, `kforge "
			       "doctor --release %s`", device_id,
			       kf_json_str(json, "at", "some time ago"),
			       kf_json_str(json, "reason", "nobody knows why"),
			       device_id);
	}
	json_decref(json);
	return code;
}

static enum kf_code put(const struct kf_quarantine *q, const char *reason,
			struct kf_err *err)
{
	json_t *json = json_object();
	enum kf_code code;
	char now[32];

	kf_time_iso(now);
	json_object_set_new(json, "device", json_string(q->device_id));
	json_object_set_new(json, "reason", kf_json_string(reason,
							   strlen(reason)));
	json_object_set_new(json, "at", json_string(now));
	code = kf_json_write(q->path, json, err);
	kf_logf(q->log, KF_LOG_ERROR, "device %s is put into quarantine: %s",
		q->device_id, reason);
	json_decref(json);
	return code;
}

static enum kf_code sing(const struct kf_quarantine *q, struct kf_err *why)
{
	enum kf_code code = KF_OK;

	for (int i = 0; i < CANARIES; i++) {
		if (i)
			kf_sleep_ns(PAUSE_NS);
		*why = (struct kf_err) { 0 };
		code = q->driver->canary(q->device_id, KF_CANARY_NS, why);
		if (!code)
			return KF_OK;
		kf_logf(q->log, KF_LOG_WARN, "a canary on device %s failed: "
			"%s", q->device_id, why->text);
	}
	return code;
}

enum kf_code kf_quarantine_look(const struct kf_quarantine *q,
				struct kf_err *err)
{
	const struct kf_device_wait wait = kf_device_wait_usual(
		q->lock_path, q->device_id, q->log, q->cancel);
	struct kf_err why = { 0 };
	struct kf_lock lock;
	uint64_t waited_ns;
	enum kf_code code;

	if (!q->driver->canary || !q->lock_path || !q->path)
		return KF_OK;
	code = kf_device_share(&wait, &lock, &waited_ns, &why);
	if (!code) {
		code = sing(q, &why);
		kf_lock_release(&lock);
		if (code && code != KF_E_LIMIT)
			return put(q, why.text, err);
	}
	if (code)
		kf_logf(q->log, KF_LOG_WARN, "whether device %s came to harm "
			"is not known: %s", q->device_id, why.text);
	return KF_OK;
}

enum kf_code kf_quarantine_release(const char *path, bool *was,
				   struct kf_err *err)
{
	*was = unlink(path) == 0;
	return *was || errno == ENOENT ? KF_OK :
		kf_fail_errno(err, "cannot remove %s", path);
}
