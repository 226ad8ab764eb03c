#include "evaluate/parts.h"

#include "evaluate/record.h"
#include "platform/pack.h"

/* Of the builder's pack all but "host". */
static enum kf_code write_loaded(const struct kf_pack *built,
				 const struct kf_plans *plans,
				 const char *path, struct kf_err *err)
{
	const struct kf_pack_part *parameters = kf_pack_find(built,
							     "parameters");
	struct kf_buf bytes = { .max = KF_PLAN_BYTES_MAX };
	struct kf_pack_part part[3] = { *kf_pack_find(built, "device"),
					{ .name = "plans" } };
	enum kf_code code;

	kf_plans_write(plans, &bytes);
	part[1].data = kf_buf_str(&bytes);
	part[1].len = bytes.len;
	if (parameters)
		part[2] = *parameters;
	code = kf_pack_write(path, part, parameters ? 3 : 2, err);
	kf_buf_release(&bytes);
	return code;
}

enum kf_code kf_parts_record(const struct kf_evaluate_request *req,
			     const char *artefact_path,
			     const char *loaded_path, struct kf_plans *plans,
			     struct kf_call_end *end, struct kf_err *err)
{
	const struct kf_platform *platform = req->platform;
	struct kf_record_job job = {
		.bundle = req->bundle,
		.work_dir = req->work_dir,
		.memory_max = platform->run_limits.memory_bytes,
		.cpu_ns = KF_RECORD_CPU_NS,
		.wall_ns = KF_RECORD_WALL_NS,
		.tier_min = req->tier_min,
		.cancel = req->cancel,
	};
	const struct kf_pack_part *host, *device;
	struct kf_pack pack = { .count = 0 };
	uint64_t start_ns = kf_now_ns();
	enum kf_code code;

	*plans = (struct kf_plans) { .has_prepare = false };
	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	code = kf_pack_read(artefact_path, platform->build_limits.file_bytes,
			    &pack, err);
	if (code)
		goto out;
	host = kf_pack_find(&pack, "host");
	device = kf_pack_find(&pack, "device");
	if (!host || !device) {
		code = kf_fail(err, KF_E_IO, "the builder of platform %s left "
			       "no two parts", platform->name);
		goto out;
	}
	job.host = host->data;
	job.host_bytes = host->len;
	code = kf_record_run(&job, plans, end, err);
	if (!code && end->state == KF_CALL_GOOD)
		code = write_loaded(&pack, plans, loaded_path, err);
	kf_logf(req->log, KF_LOG_DEBUG, "recorded in %.1f ms: %zu operations",
		(double)(kf_now_ns() - start_ns) / 1e6,
		plans->forward.op_count);
out:
	kf_pack_release(&pack);
	return code;
}
