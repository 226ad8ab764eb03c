/*
 * Of a program in two parts: its kernels as the device's compiler makes them,
 * and what host.c launches.
 */
#include "export/internal.h"

#include "evaluate/build.h"
#include "evaluate/record.h"
#include "platform/pack.h"

#define CODE_BYTES	(256u << 20)	/* as text of C */
#define A_LINE		12u

/* --- making them ---------------------------------------------------------- */

static enum kf_code build(const struct kf_export_request *req,
			  const char *source_dir, const char *work_dir,
			  struct kf_pack *pack, struct kf_err *err)
{
	const struct kf_platform *platform = req->platform;
	struct kf_build_job job = {
		.platform = platform,
		.device_id = req->device->id,
		.arch = req->device->arch,
		.source_dir = source_dir,
		.work_dir = work_dir,
		.tier_min = req->tier_min,
		.cancel = req->cancel,
	};
	struct kf_build build = { .log.max = KF_BUILD_LOG_BYTES };
	struct kf_artefact artefact = { 0 };
	enum kf_code code = kf_build_run(&job, &build, &artefact, err);

	if (!code && build.end != KF_BUILD_DONE)
		code = kf_fail(err, KF_E_UNAVAIL, "what would be exported does "
			       "not compile here: %.400s",
			       kf_buf_str(&build.log));
	if (!code)
		code = kf_pack_read(artefact.path,
				    platform->build_limits.file_bytes, pack,
				    err);
	kf_artefact_release(&artefact);
	kf_build_release(&build);
	return code;
}

static enum kf_code record(const struct kf_export_request *req,
			   const char *work_dir, const struct kf_pack *pack,
			   struct kf_plans *plans, struct kf_err *err)
{
	const struct kf_pack_part *host = kf_pack_find(pack, "host");
	struct kf_record_job job = {
		.host = host ? host->data : NULL,
		.host_bytes = host ? host->len : 0,
		.bundle = req->bundle,
		.work_dir = work_dir,
		.memory_max = req->platform->run_limits.memory_bytes,
		.cpu_ns = KF_RECORD_CPU_NS,
		.wall_ns = KF_RECORD_WALL_NS,
		.tier_min = req->tier_min,
		.cancel = req->cancel,
	};
	struct kf_call_end end;
	enum kf_code code;

	if (!host || !kf_pack_find(pack, "device"))
		return kf_fail(err, KF_E_IO, "the builder of platform %s left "
			       "no two parts", req->platform->name);
	code = kf_record_run(&job, plans, &end, err);
	if (!code && end.state != KF_CALL_GOOD)
		code = kf_fail(err, KF_E_UNAVAIL, "what would be exported "
			       "cannot be recorded: %.300s", end.text);
	return code;
}

enum kf_code kf_export_parts_make(const struct kf_export_request *req,
				  const char *beside,
				  struct kf_export_parts *out,
				  struct kf_err *err)
{
	struct kf_temporary made = { .fd = -1 };
	char *source_dir, *work_dir;
	enum kf_code code = kf_temporary_folder(beside, &made, err);

	*out = (struct kf_export_parts) { .pack = { .count = 0 } };
	if (code)
		return code;
	source_dir = kf_path_join(made.path, "source");
	work_dir = kf_path_join(made.path, "work");
	code = kf_candidate_write(req->candidate, source_dir, err);
	if (!code)
		code = kf_mkdir_p(work_dir, err);
	if (!code)
		code = build(req, source_dir, work_dir, &out->pack, err);
	if (!code)
		code = record(req, work_dir, &out->pack, &out->plans, err);
	(void)kf_temporary_remove(&made, NULL);
	free(source_dir);
	free(work_dir);
	return code;
}

void kf_export_parts_release(struct kf_export_parts *parts)
{
	kf_pack_release(&parts->pack);
	kf_plans_release(&parts->plans);
}

/* --- the code, as C ------------------------------------------------------- */

static void add_bytes(const unsigned char *bytes, size_t len,
		      struct kf_buf *out)
{
	for (size_t i = 0; i < len; i++)
		kf_buf_printf(out, "%s0x%02x,", i % A_LINE ? " " : "\n\t",
			      bytes[i]);
}

/* The kernels' files one after the other. */
static void add_text(const struct kf_candidate *candidate, struct kf_buf *out)
{
	for (size_t i = 0; i + 1 < candidate->file_count; i++) {
		const struct kf_source_file *file = &candidate->file[i];

		add_bytes((const unsigned char *)file->text, file->len, out);
		add_bytes((const unsigned char *)"\n", 1, out);
	}
}

enum kf_code kf_export_code(const struct kf_export_request *req,
			    const struct kf_export_parts *parts,
			    const char *judged_on, const char *dir,
			    struct kf_err *err)
{
	const struct kf_pack_part *device = kf_pack_find(&parts->pack,
							 "device");
	struct kf_buf text = { .max = CODE_BYTES };
	enum kf_code code;

	kf_buf_puts(&text, "/* The kernels, and the name of the device that "
		    "they were judged on. */\n#include \"kforge_device.h\"\n\n"
		    "const unsigned char kforge_code[] = {");
	if (req->platform->export_binary)
		add_bytes(device->data, device->len, &text);
	else
		add_text(req->candidate, &text);
	kf_buf_printf(&text, "\n\t0\n};\nconst size_t kforge_code_bytes = "
		      "sizeof(kforge_code) - 1;\nconst char "
		      "kforge_judged_on[] = %s;\n", judged_on);
	code = kf_file_write_in(dir, "kforge_code.c", kf_buf_str(&text),
				text.len, err);
	kf_buf_release(&text);
	return code;
}

/* --- what is launched, as JSON -------------------------------------------- */

static json_t *hex(const unsigned char *bytes, size_t len)
{
	struct kf_buf text = { .max = 2 * KF_PLAN_STRUCT_MAX };
	json_t *value;

	for (size_t i = 0; i < len; i++)
		kf_buf_printf(&text, "%02x", bytes[i]);
	value = json_string(kf_buf_str(&text));
	kf_buf_release(&text);
	return value;
}

static json_t *place(const struct kf_plan_place *at)
{
	return json_pack("[I, I]", (json_int_t)at->buffer,
			 (json_int_t)at->offset);
}

static json_t *dims(const int64_t dim[3])
{
	return json_pack("[I, I, I]", (json_int_t)dim[0], (json_int_t)dim[1],
			 (json_int_t)dim[2]);
}

static json_t *map(const struct kf_plan_arg *arg)
{
	const struct kf_tensor_map *m = arg->map;
	json_t *dim = json_array(), *stride = json_array();
	json_t *box = json_array(), *element = json_array();

	for (int i = 0; i < m->rank; i++) {
		json_array_append_new(dim, json_integer(m->dim[i]));
		json_array_append_new(box, json_integer(m->box[i]));
		json_array_append_new(element, json_integer(
			m->element_stride[i] ? m->element_stride[i] : 1));
		if (i)
			json_array_append_new(stride,
					      json_integer(m->stride[i]));
	}
	return json_pack("{s:o, s:i, s:o, s:o, s:o, s:o, s:[i,i,i,i]}",
			 "map", place(&arg->place), "dtype", m->dtype,
			 "dim", dim, "stride", stride, "box", box,
			 "element", element, "modes", m->interleave,
			 m->swizzle, m->l2_promotion, m->oob_fill);
}

/* [buffer, offset], a number's or struct's bytes in hex, or a map's object. */
static json_t *argument(const struct kf_plan_arg *arg)
{
	switch (arg->kind) {
	case KF_ARG_BUFFER:
		return place(&arg->place);
	case KF_ARG_TENSOR_MAP:
		return map(arg);
	case KF_ARG_BYTES:
		return hex(arg->data, arg->bytes);
	default:
		return hex(arg->value, arg->bytes);
	}
}

static json_t *launch(const struct kf_plan_op *op)
{
	json_t *args = json_array();

	for (size_t i = 0; i < op->arg_count; i++)
		json_array_append_new(args, argument(&op->arg[i]));
	return json_pack("{s:s, s:o, s:o, s:o, s:I, s:b, s:b, s:o}",
			 "launch", op->kernel, "grid", dims(op->grid),
			 "group", dims(op->group),
			 "cluster", dims(op->cluster),
			 "shared_bytes", (json_int_t)op->shared_bytes,
			 "cooperative", op->cooperative,
			 "dependent", op->dependent, "args", args);
}

static json_t *operation(const struct kf_plan_op *op)
{
	if (op->kind == KF_PLAN_LAUNCH)
		return launch(op);
	if (op->kind == KF_PLAN_COPY)
		return json_pack("{s:o, s:o, s:I}", "copy", place(&op->to),
				 "from", place(&op->from),
				 "bytes", (json_int_t)op->bytes);
	return json_pack("{s:o, s:o, s:i, s:I}", "fill", place(&op->to),
			 "value", hex((const unsigned char *)&op->value,
				      op->width),
			 "width", (int)op->width,
			 "bytes", (json_int_t)op->bytes);
}

static json_t *plan_to_json(const struct kf_plan *plan)
{
	static const char *const memory[] = {
		[KF_PLAN_IN] = "input", [KF_PLAN_WEIGHT] = "weight",
		[KF_PLAN_OUT] = "output", [KF_PLAN_TEMP] = "temp",
		[KF_PLAN_KEEP] = "keep",
	};
	json_t *buffers = json_array(), *ops = json_array();

	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct kf_plan_buffer *b = &plan->buffer[i];

		json_array_append_new(buffers, json_pack("[s, I, I]",
			memory[b->memory], (json_int_t)b->index,
			(json_int_t)b->bytes));
	}
	for (size_t i = 0; i < plan->op_count; i++)
		json_array_append_new(ops, operation(&plan->op[i]));
	return json_pack("{s:o, s:o}", "buffers", buffers, "ops", ops);
}

static void add_kernels(const struct kf_plan *plan, json_t *seen, json_t *list)
{
	for (size_t i = 0; i < plan->op_count; i++) {
		const char *name = plan->op[i].kernel;

		if (!name || json_object_get(seen, name))
			continue;
		json_object_set_new(seen, name, json_true());
		json_array_append_new(list, json_string(name));
	}
}

json_t *kf_export_kernels(const struct kf_export_parts *parts)
{
	json_t *seen = json_object(), *list = json_array();

	add_kernels(&parts->plans.prepare, seen, list);
	add_kernels(&parts->plans.forward, seen, list);
	json_decref(seen);
	return list;
}

json_t *kf_export_plans(const struct kf_export_parts *parts)
{
	const struct kf_plans *plans = &parts->plans;

	return json_pack("{s:o, s:o}", "prepare", plans->has_prepare ?
			 plan_to_json(&plans->prepare) : json_null(),
			 "forward", plan_to_json(&plans->forward));
}
