/*
 * Which devices there are. Asked in a process of its own: the driver's library
 * leaves threads and descriptors behind, and changes what can be forked.
 */
#include "platform/apart.h"
#include "platform/cuda/cuda.h"

#define DEADLINE_NS	(20 * KF_NS_PER_S)
#define MEASURE_NS	(10 * KF_NS_PER_S)	/* more for the one */

struct found {
	enum kf_code code;		/* with text */
	char text[512];
	const char *measure;		/* an id, or NULL */
	int only;			/* or KF_CUDA_EVERY_DEVICE */
	size_t max, count;
	struct kf_cuda_facts facts[KF_CUDA_DEVICES_MAX];
};

/* --- CUDA_VISIBLE_DEVICES ------------------------------------------------- */

/* Does an entry of the list, a number or the beginning of a name, mean this
 * device? */
static bool means(const char *entry, size_t len, int ordinal, const char *uuid)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", ordinal);
	if (strlen(number) == len && strncmp(entry, number, len) == 0)
		return true;
	return len > 4 && strncmp(entry, uuid, len) == 0;
}

/* Leaves out as it is if the driver does not tell. */
static void name_hardware(const struct kf_cuda_api *api, int device,
			  char out[48])
{
	unsigned char uuid[16];

	if (api->device_uuid(uuid, device) == 0)
		kf_device_hardware(uuid, out);
}

static bool is_visible(const struct kf_cuda_api *api, const char *list,
		       int ordinal, int device)
{
	char name[48] = "";

	if (!list)
		return true;
	name_hardware(api, device, name);
	while (*list) {
		size_t len = strcspn(list, ",");

		if (len && means(list, len, ordinal, name))
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

/* --- in the child --------------------------------------------------------- */

static int attribute(const struct kf_cuda_api *api, int which, int device)
{
	int value = 0;

	return api->device_attribute(&value, which, device) ? 0 : value;
}

static void describe(const struct kf_cuda_api *api, int ordinal, int device,
		     struct kf_cuda_facts *f)
{
	const struct { int *to; int which; } rows[] = {
		{ &f->major, KF_CUDA_COMPUTE_CAPABILITY_MAJOR },
		{ &f->minor, KF_CUDA_COMPUTE_CAPABILITY_MINOR },
		{ &f->units, KF_CUDA_MULTIPROCESSOR_COUNT },
		{ &f->clock_khz, KF_CUDA_CLOCK_RATE },
		{ &f->memory_clock_khz, KF_CUDA_MEMORY_CLOCK_RATE },
		{ &f->memory_bits, KF_CUDA_GLOBAL_MEMORY_BUS_WIDTH },
		{ &f->l2_bytes, KF_CUDA_L2_CACHE_SIZE },
		{ &f->shared_block_bytes,
		  KF_CUDA_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN },
		{ &f->shared_unit_bytes,
		  KF_CUDA_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR },
		{ &f->registers_unit, KF_CUDA_MAX_REGISTERS_PER_MULTIPROCESSOR },
		{ &f->threads_unit, KF_CUDA_MAX_THREADS_PER_MULTIPROCESSOR },
		{ &f->groups_unit, KF_CUDA_MAX_BLOCKS_PER_MULTIPROCESSOR },
		{ &f->threads_group, KF_CUDA_MAX_THREADS_PER_BLOCK },
	};
	size_t bytes = 0;

	*f = (struct kf_cuda_facts) { .ordinal = ordinal };
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		*rows[i].to = attribute(api, rows[i].which, device);
	/* Of the machine's own memory drivers tell the processors' clock. */
	if (attribute(api, KF_CUDA_INTEGRATED, device))
		f->memory_clock_khz = 0;
	api->driver_version(&f->driver_version);
	if (api->device_name(f->name, sizeof(f->name), device))
		snprintf(f->name, sizeof(f->name), "a CUDA device");
	if (api->device_memory(&bytes, device) == 0)
		f->memory_bytes = bytes;
	name_hardware(api, device, f->hardware);
}

static void compiler_version(int *major, int *minor)
{
	struct kf_nvrtc nvrtc;

	*major = 0;
	*minor = 0;
	if (kf_nvrtc_open(&nvrtc, NULL) == KF_OK &&
	    nvrtc.version(major, minor))
		*major = 0;
	kf_nvrtc_release(&nvrtc);
}

static void name_device(int ordinal, char out[32])
{
	snprintf(out, 32, "cuda:%d", ordinal);
}

static bool is_named(const char *id, int ordinal)
{
	char name[32];

	name_device(ordinal, name);
	return id && strcmp(id, name) == 0;
}

static enum kf_code look(struct found *found, const struct kf_cuda_api *api,
			 const char *visible, struct kf_err *err)
{
	int count = 0, major, minor;
	enum kf_code code;

	code = kf_cuda_check(api, api->device_count(&count),
			     "count the devices", err);
	compiler_version(&major, &minor);
	for (int i = 0; i < count && found->count < found->max; i++) {
		struct kf_cuda_facts *facts = &found->facts[found->count];
		const bool alone = found->only != KF_CUDA_EVERY_DEVICE;
		int device;

		if (api->device_get(&device, i) ||
		    (!alone && !is_visible(api, visible, i, device)))
			continue;
		describe(api, alone ? found->only : i, device, facts);
		facts->nvrtc_major = major;
		facts->nvrtc_minor = minor;
		if (is_named(found->measure, i))
			kf_cuda_measure(api, device, &facts->measured);
		found->count++;
	}
	return code;
}

static void in_child(void *arg, struct kf_buf *out)
{
	struct found *found = arg;
	/* Before the library is opened, which takes it away. */
	char *visible = kf_strdup(getenv("CUDA_VISIBLE_DEVICES"));
	struct kf_cuda_api api;
	struct kf_err err = { 0 };

	found->code = kf_cuda_api_open(&api, found->only, &err);
	if (!found->code)
		found->code = look(found, &api, visible, &err);
	else if (api.absent)
		found->code = KF_OK;
	snprintf(found->text, sizeof(found->text), "%.511s", err.text);
	free(visible);
	kf_buf_add(out, found, sizeof(*found));
}

/* --- in the supervisor ---------------------------------------------------- */

/* Instructions of one generation alone (wgmma) have names of their own since
 * Hopper. */
void kf_cuda_arch(int major, int minor, char arch[32])
{
	snprintf(arch, 32, "sm_%d%d%s", major, minor, major >= 9 ? "a" : "");
}

/* As the kernel's module has it, else what the library says of itself. */
static void tell_driver(const struct kf_cuda_facts *facts, char out[48])
{
	struct kf_buf text = { .max = 40 };

	snprintf(out, 48, "CUDA %d.%d", facts->driver_version / 1000,
		 facts->driver_version % 1000 / 10);
	if (kf_file_read("/sys/module/nvidia/version", &text, NULL) == KF_OK &&
	    text.len)
		snprintf(out, 48, "%.*s",
			 (int)strcspn(kf_buf_str(&text), " \n"),
			 kf_buf_str(&text));
	kf_buf_release(&text);
}

static void tell(const struct kf_cuda_facts *facts, struct kf_device_info *info)
{
	name_device(facts->ordinal, info->id);
	snprintf(info->name, sizeof(info->name), "%s", facts->name);
	snprintf(info->hardware, sizeof(info->hardware), "%s",
		 facts->hardware);
	kf_cuda_arch(facts->major, facts->minor, info->arch);
	tell_driver(facts, info->driver);
	info->memory_bytes = facts->memory_bytes;
	info->units = (unsigned)facts->units;
	info->ceiling = (struct kf_ceilings) {
		.bytes_per_s = facts->measured.copy_bytes_per_s,
		.flops_per_s = facts->measured.f32_flops,
		.matrix_flops_per_s = facts->measured.bf16_flops,
		.cache_bytes = (uint64_t)(facts->l2_bytes > 0 ?
					  facts->l2_bytes : 0),
		.bytes_per_s_in_theory = kf_cuda_memory_bytes_per_s(facts),
	};
	kf_cuda_card(facts, &info->card);
}

static enum kf_code judge(const struct kf_apart_end *end, size_t len,
			  struct kf_err *err)
{
	if (end->timed_out)
		return kf_fail(err, KF_E_UNAVAIL, "the CUDA driver does not "
			       "answer: nvidia-smi tells if a device is stuck");
	if (len != sizeof(struct found))
		return kf_fail(err, KF_E_UNAVAIL, "the CUDA driver crashes "
			       "(signal %d) when it is asked for its devices",
			       end->signal);
	return KF_OK;
}

static enum kf_code find(const struct found *asked, struct kf_device_info *info,
			 size_t *count, struct kf_err *err)
{
	struct found found = *asked;
	struct kf_buf result = { .max = sizeof(found) };
	uint64_t timeout_ns = DEADLINE_NS;
	struct kf_apart_end end;
	struct kf_apart apart;
	enum kf_code code;

	if (found.measure)
		timeout_ns += MEASURE_NS;
	code = kf_apart_start(in_child, &found, result.max, &apart, err);
	if (!code)
		code = kf_apart_finish(&apart, timeout_ns, &result, &end, err);
	if (!code)
		code = judge(&end, result.len, err);
	if (!code) {
		memcpy(&found, result.data, sizeof(found));
		if (found.code)
			code = kf_fail(err, found.code, "%s", found.text);
		for (size_t i = 0; i < found.count && !code; i++)
			tell(&found.facts[i], &info[(*count)++]);
	}
	kf_buf_release(&result);
	return code;
}

/* No driver and no device are not errors: a machine is looked at for what it
 * has. */
enum kf_code kf_cuda_find(struct kf_device_info *info, size_t max,
			  const char *measure, size_t *count,
			  struct kf_err *err)
{
	const struct found asked = {
		.measure = measure, .only = KF_CUDA_EVERY_DEVICE,
		.max = max < KF_CUDA_DEVICES_MAX ? max : KF_CUDA_DEVICES_MAX,
	};

	return find(&asked, info, count, err);
}

/* Of a list of numbers alone. */
static bool is_listed(const char *list, int wanted, int *least)
{
	bool listed = false;

	*least = KF_CUDA_EVERY_DEVICE;
	while (*list) {
		size_t len = strcspn(list, ",");
		char *word = kf_strndup(list, len);
		uint64_t number;
		bool is_number = kf_parse_u64(word, &number) &&
			number < KF_CUDA_DEVICES_MAX &&
			(len == 1 || word[0] != '0');	/* as means has it */

		free(word);
		if (!is_number) {
			*least = KF_CUDA_EVERY_DEVICE;
			return false;
		}
		listed |= (int)number == wanted;
		if (*least == KF_CUDA_EVERY_DEVICE || (int)number < *least)
			*least = (int)number;
		list += len + (list[len] == ',');
	}
	return listed;
}

/* The driver gets every card ready that it sees, each for a tenth of a
 * second. */
enum kf_code kf_cuda_find_one(int64_t number, struct kf_device_info *info,
			      bool *there, struct kf_err *err)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	struct found asked = { .only = (int)number, .max = 1 };
	bool known = true;
	int least = 0;
	size_t count = 0;
	enum kf_code code;

	if (number >= KF_CUDA_DEVICES_MAX)
		return KF_OK;
	if (visible)
		known = is_listed(visible, asked.only, &least);
	if (number == KF_DEVICE_FIRST) {
		known = least != KF_CUDA_EVERY_DEVICE;
		asked.only = least;
	}
	if (!known)
		return KF_OK;
	code = find(&asked, info, &count, err);
	*there = !code && count == 1;
	return code;
}
