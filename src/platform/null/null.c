/*
 * The driver that does everything and computes nothing: tests use it, and it
 * is what one copies to begin a driver. Its "compiler" accepts a source that
 * mentions kf_forward and copies it; its programs leave the outputs as they
 * are.
 */
#include "base/base.h"
#include "platform/drivers.h"

#define DEVICE_ID	"null:0"
#define SOURCE_MAX	(1u << 20)
#define ENTRY		"kf_forward"

struct kf_device {
	bool loaded;
};

static enum kf_code find(struct kf_device_info *info, size_t max,
			 const char *measure, size_t *count,
			 struct kf_err *err)
{
	(void)max;
	(void)measure;
	(void)err;
	snprintf(info->id, sizeof(info->id), "%s", DEVICE_ID);
	snprintf(info->name, sizeof(info->name), "a device that does nothing");
	snprintf(info->arch, sizeof(info->arch), "null");
	info->units = 1;
	kf_buf_puts(&info->card, "device: computes nothing\n");
	*count = 1;
	return KF_OK;
}

static enum kf_code build(const struct kf_build_request *req,
			  struct kf_build *out, struct kf_err *err)
{
	struct kf_buf text = { .max = SOURCE_MAX };
	uint64_t start_ns = kf_now_ns();
	enum kf_code code = KF_OK;

	for (size_t i = 0; i < req->source_count && !code; i++)
		code = kf_file_read(req->source[i], &text, err);
	if (code)
		goto out;
	if (strstr(kf_buf_str(&text), ENTRY)) {
		code = kf_file_write(req->output_path, kf_buf_str(&text),
				     text.len, err);
		out->end = code ? KF_BUILD_NONE : KF_BUILD_DONE;
	} else {
		kf_buf_printf(&out->log, "%s: error: no " ENTRY "\n",
			      req->source[0]);
		out->end = KF_BUILD_REFUSED;
	}
	out->took_ns = kf_now_ns() - start_ns;
out:
	kf_buf_release(&text);
	return code;
}

static enum kf_code open_device(const char *device_id, uint64_t memory_max,
				struct kf_device **out, struct kf_err *err)
{
	(void)memory_max;
	if (strcmp(device_id, DEVICE_ID) != 0)
		return kf_fail(err, KF_E_UNAVAIL, "no device %s: there is "
			       "only %s", device_id, DEVICE_ID);
	*out = kf_alloc(sizeof(**out));
	return KF_OK;
}

static enum kf_code load(struct kf_device *dev, const char *artefact_path,
			 char refused[256], struct kf_err *err)
{
	struct kf_buf text = { .max = SOURCE_MAX };
	enum kf_code code;

	(void)err;
	code = kf_file_read(artefact_path, &text, NULL);
	dev->loaded = !code && strstr(kf_buf_str(&text), ENTRY);
	if (!dev->loaded)
		snprintf(refused, 256, "the program defines no function "
			 ENTRY);
	kf_buf_release(&text);
	return KF_OK;
}

static enum kf_code run(struct kf_device *dev, struct kf_call *call, int *rc,
			struct kf_err *err)
{
	(void)call;
	*rc = 0;
	if (!dev->loaded)
		return kf_fail(err, KF_E_INPUT, "no program is loaded");
	return KF_OK;
}

static void close_device(struct kf_device *dev)
{
	free(dev);
}

const struct kf_driver kf_driver_null = {
	.abi = KF_DRIVER_ABI,
	.name = "null",
	.in_process = true,
	.find = find,
	.build = build,
	.open = open_device,
	.load = load,
	.prepare = run,
	.forward = run,
	.close = close_device,
};
