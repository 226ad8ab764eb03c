/* The checking front: what reaches a table is well formed. */
#include <kforge/driver.h>

#include <math.h>

#include "base/base.h"

void kf_device_info_release(struct kf_device_info *info)
{
	kf_buf_release(&info->card);
}

void kf_device_hardware(const unsigned char uuid[16], char out[48])
{
	size_t len = (size_t)snprintf(out, 48, "GPU-");

	for (size_t i = 0; i < 16; i++)
		len += (size_t)snprintf(out + len, 48 - len, "%s%02x",
					i == 4 || i == 6 || i == 8 || i == 10 ?
					"-" : "", uuid[i]);
}

void kf_trace_op_init(struct kf_trace_op *op, const char *name)
{
	const double unknown = (double)NAN;

	*op = (struct kf_trace_op) {
		.groups = unknown, .group_size = unknown,
		.registers = unknown, .shared_bytes = unknown,
		.local_bytes = unknown, .occupancy = unknown,
		.bytes = unknown,
	};
	snprintf(op->name, sizeof(op->name), "%.95s", name);
}

void kf_trace_release(struct kf_trace *trace)
{
	free(trace->op);
	*trace = (struct kf_trace) { 0 };
}

void kf_build_release(struct kf_build *build)
{
	kf_buf_release(&build->log);
}

const struct kf_driver *kf_driver_by_name(const char *name)
{
	for (size_t i = 0; kf_drivers[i]; i++)
		if (strcmp(kf_drivers[i]->name, name) == 0)
			return kf_drivers[i];
	return NULL;
}

static enum kf_code malformed(const struct kf_driver *driver, const char *what,
			      const char *why, struct kf_err *err)
{
	return kf_fail(err, KF_E_INPUT, "driver %s, %s: %s", driver->name,
		       what, why);
}

static const struct kf_device_info unknown = { .card.max = 16u << 10 };

enum kf_code kf_driver_find(const struct kf_driver *driver,
			    struct kf_device_info *info, size_t max,
			    const char *measure, size_t *count,
			    struct kf_err *err)
{
	*count = 0;
	if (!max)
		return malformed(driver, "find", "room for no device", err);
	for (size_t i = 0; i < max; i++)
		info[i] = unknown;
	return driver->find(info, max, measure, count, err);
}

enum kf_code kf_driver_find_one(const struct kf_driver *driver,
				int64_t number, struct kf_device_info *info,
				bool *there, struct kf_err *err)
{
	*there = false;
	*info = unknown;
	if (number < KF_DEVICE_FIRST)
		return malformed(driver, "find_one", "no device named", err);
	return driver->find_one(number, info, there, err);
}

enum kf_code kf_driver_build(const struct kf_driver *driver,
			     const struct kf_build_request *req,
			     struct kf_build *out, struct kf_err *err)
{
	*out = (struct kf_build) { .log.max = KF_BUILD_LOG_BYTES };
	if (!req->source || !req->source_count)
		return malformed(driver, "build", "no source file", err);
	for (size_t i = 0; i < req->source_count; i++)
		if (!req->source[i] || !req->source[i][0])
			return malformed(driver, "build",
					 "a source file without a name", err);
	if (!req->command)
		return malformed(driver, "build", "no command", err);
	if (!req->output_path || !req->output_path[0])
		return malformed(driver, "build", "no output path", err);
	if (!req->timeout_ns)
		return malformed(driver, "build", "no deadline given", err);
	if (driver->two_part && (!req->device_id || !req->device_id[0] ||
				 !req->arch || !req->arch[0]))
		return malformed(driver, "build", "no device named", err);
	return driver->build(req, out, err);
}

enum kf_code kf_driver_open(const struct kf_driver *driver,
			    const char *device_id, uint64_t memory_max,
			    struct kf_device **out, struct kf_err *err)
{
	*out = NULL;
	if (driver->python)
		return malformed(driver, "open", "its programs are run by "
				 "Python", err);
	if (!device_id || !device_id[0])
		return malformed(driver, "open", "no device named", err);
	if (!memory_max)
		return malformed(driver, "open", "no memory limit given", err);
	return driver->open(device_id, memory_max, out, err);
}

enum kf_code kf_driver_load(const struct kf_driver *driver,
			    struct kf_device *dev, const char *artefact_path,
			    char refused[256], struct kf_err *err)
{
	refused[0] = '\0';
	if (!dev)
		return malformed(driver, "load", "no open device", err);
	if (!artefact_path || !artefact_path[0])
		return malformed(driver, "load", "no artefact named", err);
	return driver->load(dev, artefact_path, refused, err);
}

static const char *wrong_tensor(const struct kf_tensor *t, bool data_wanted)
{
	size_t element = kf_dtype_bytes((enum kf_dtype)t->dtype);

	if (t->size != sizeof(*t))
		return "a tensor of another version of the contract";
	if (t->rank < 0 || t->rank > KF_MAX_RANK)
		return "a tensor whose rank is not 0 to 8";
	for (int32_t k = 0; k < t->rank; k++)
		if (t->shape[k] < 0)
			return "a tensor with a negative extent";
	if (t->dtype != KF_DTYPE_NONE && !element)
		return "a tensor of unknown dtype";
	if (t->dtype == KF_DTYPE_NONE && t->data)
		return "an absent tensor that has data";
	if (t->dtype != KF_DTYPE_NONE && data_wanted && !t->data &&
	    kf_numel(t))
		return "a tensor without data";
	return NULL;
}

/* NULL if the call is well formed. with_data: forward, not prepare. */
static const char *wrong_call(const struct kf_call *call, bool with_data)
{
	const struct {
		const struct kf_tensor *tensor;
		int32_t count;
		bool data_wanted;
	} lists[] = {
		{ call->in, call->in_count, with_data },
		{ call->weight, call->weight_count, true },
		{ call->out, call->out_count, with_data },
	};

	if (call->size != sizeof(*call))
		return "a call of another version of the contract";
	if (call->scalar_count < 0 || (call->scalar_count && !call->scalar))
		return "scalars that are not there";
	for (size_t i = 0; i < KF_COUNT(lists); i++) {
		if (lists[i].count < 0 ||
		    (lists[i].count && !lists[i].tensor))
			return "tensors that are not there";
		for (int32_t k = 0; k < lists[i].count; k++) {
			const char *why = wrong_tensor(&lists[i].tensor[k],
						       lists[i].data_wanted);

			if (why)
				return why;
		}
	}
	for (int32_t k = 0; !with_data && k < call->in_count; k++)
		if (call->in[k].data)
			return "inputs shown to kf_prepare";
	for (int32_t k = 0; k < call->weight_count; k++)
		if (!call->weight[k].name)
			return "a weight without a name";
	return NULL;
}

enum kf_code kf_driver_prepare(const struct kf_driver *driver,
			       struct kf_device *dev, struct kf_call *call,
			       int *rc, struct kf_err *err)
{
	const char *why = dev ? wrong_call(call, false) : "no open device";

	*rc = 0;
	if (why)
		return malformed(driver, "prepare", why, err);
	return driver->prepare(dev, call, rc, err);
}

enum kf_code kf_driver_forward(const struct kf_driver *driver,
			       struct kf_device *dev, struct kf_call *call,
			       int *rc, struct kf_err *err)
{
	const char *why = dev ? wrong_call(call, true) : "no open device";

	*rc = 0;
	if (why)
		return malformed(driver, "forward", why, err);
	return driver->forward(dev, call, rc, err);
}

/* --- two-part drivers ---------------------------------------------------- */

static bool lies_in(const void *data, uint64_t bytes, const void *memory,
		    uint64_t memory_bytes)
{
	uintptr_t at = (uintptr_t)data, start = (uintptr_t)memory;

	return at >= start && at - start <= memory_bytes &&
	       bytes <= memory_bytes - (at - start);
}

static bool all_lie_in(const struct kf_tensor *t, int32_t count,
		       const void *memory, uint64_t memory_bytes)
{
	for (int32_t i = 0; i < count; i++) {
		uint64_t bytes = (uint64_t)kf_numel(&t[i]) *
			kf_dtype_bytes((enum kf_dtype)t[i].dtype);

		if (t[i].data &&
		    !lies_in(t[i].data, bytes, memory, memory_bytes))
			return false;
	}
	return true;
}

enum kf_code kf_driver_attach(const struct kf_driver *driver,
			      struct kf_device *dev,
			      const struct kf_shared_memory *m,
			      const struct kf_call *tensors,
			      struct kf_err *err)
{
	const char *why = !driver->attach ? "programs have one part" :
		!dev ? "no open device" : wrong_call(tensors, true);

	if (!why && (!all_lie_in(tensors->in, tensors->in_count, m->inputs,
				 m->inputs_bytes) ||
		     !all_lie_in(tensors->weight, tensors->weight_count,
				 m->inputs, m->inputs_bytes) ||
		     !all_lie_in(tensors->out, tensors->out_count, m->outputs,
				 m->outputs_bytes)))
		why = "a tensor that does not lie in the shared memory";
	if (why)
		return malformed(driver, "attach", why, err);
	return driver->attach(dev, m, tensors, err);
}

enum kf_code kf_driver_upload(const struct kf_driver *driver,
			      struct kf_device *dev, struct kf_err *err)
{
	if (!driver->attach || !dev)
		return malformed(driver, "upload", "no open device of two-part "
				 "programs", err);
	return driver->upload(dev, err);
}

enum kf_code kf_driver_download(const struct kf_driver *driver,
				struct kf_device *dev, uint64_t *changed,
				struct kf_err *err)
{
	*changed = UINT64_MAX;
	if (!driver->attach || !dev)
		return malformed(driver, "download", "no open device of "
				 "two-part programs", err);
	return driver->download(dev, changed, err);
}

enum kf_code kf_driver_sum(const struct kf_driver *driver,
			   struct kf_device *dev, const struct kf_sums *sums,
			   size_t count, uint64_t *changed, struct kf_err *err)
{
	*changed = UINT64_MAX;
	if (!driver->sum || !dev)
		return malformed(driver, "sum", "no open device that adds up",
				 err);
	return driver->sum(dev, sums, count, changed, err);
}

enum kf_code kf_driver_base(const struct kf_driver *driver,
			    struct kf_device *dev, uint32_t input,
			    uint64_t offset, const void *data, uint64_t bytes,
			    struct kf_err *err)
{
	if (!driver->base || !dev)
		return malformed(driver, "base", "no open device that makes "
				 "inputs", err);
	return driver->base(dev, input, offset, data, bytes, err);
}

enum kf_code kf_driver_make(const struct kf_driver *driver,
			    struct kf_device *dev, const struct kf_made *made,
			    size_t count, struct kf_err *err)
{
	if (!driver->make || !dev)
		return malformed(driver, "make", "no open device that makes "
				 "inputs", err);
	return driver->make(dev, made, count, err);
}

uint64_t kf_driver_device_ns(const struct kf_driver *driver,
			     const struct kf_device *dev)
{
	return dev && driver->device_ns ? driver->device_ns(dev) : 0;
}

uint64_t kf_driver_host_ns(const struct kf_driver *driver,
			   const struct kf_device *dev)
{
	return dev && driver->host_ns ? driver->host_ns(dev) : 0;
}

const char *kf_driver_fault(const struct kf_driver *driver,
			    const struct kf_device *dev)
{
	return dev && driver->fault ? driver->fault(dev) : NULL;
}

bool kf_driver_short_of_memory(const struct kf_driver *driver,
			       const struct kf_device *dev)
{
	return dev && driver->short_of_memory && driver->short_of_memory(dev);
}

void kf_driver_paths(const struct kf_driver *driver,
		     enum kf_driver_place place, kf_driver_path_fn *add,
		     void *arg)
{
	if (driver->paths)
		driver->paths(place, add, arg);
}

/* --- the rest ------------------------------------------------------------- */

bool kf_driver_trace(const struct kf_driver *driver, struct kf_device *dev,
		     struct kf_trace *trace)
{
	*trace = (struct kf_trace) { .watched = trace->watched,
				     .activity = trace->activity };
	if (!driver->trace || !dev)
		return false;
	driver->trace(dev, trace);
	return true;
}

void kf_driver_tidy(const struct kf_driver *driver, struct kf_device *dev)
{
	if (dev && driver->tidy)
		driver->tidy(dev);
}

const char *kf_driver_owns(const struct kf_driver *driver,
			   const struct kf_device *dev, const void *address)
{
	return dev && driver->owns ? driver->owns(dev, address) : NULL;
}

void kf_driver_close(const struct kf_driver *driver, struct kf_device *dev)
{
	driver->close(dev);
}
