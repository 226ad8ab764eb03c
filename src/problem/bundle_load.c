#include "problem/bundle_load.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "problem/bundle_condensed.h"

#define INFO_BYTES (16u << 20)
#define TENSORS_MAX 16384
#define CASES_MAX 128
#define KIND_BYTES 32

/* --- files, without following a link anywhere ---------------------------- */

/* name is "part/file". The caller closes it. */
static enum kf_code open_inside(const struct kf_bundle_loader *l,
				const char *name, int *fd)
{
	const char *slash = strchr(name, '/');
	char *part = kf_strndup(name, (size_t)(slash - name));
	int part_fd = openat(l->folder_fd, part, O_RDONLY | O_DIRECTORY |
			     O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	*fd = part_fd < 0 ? -1 : openat(part_fd, slash + 1, O_RDONLY |
					O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	free(part);
	if (part_fd >= 0)
		close(part_fd);
	if (*fd >= 0 && fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
		return KF_OK;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return kf_fail(l->err, KF_E_INPUT, "bundle: %s is missing", name);
}

static enum kf_code read_json(const struct kf_bundle_loader *l,
			      const char *name, json_t **out)
{
	struct kf_buf text = { .max = INFO_BYTES };
	char chunk[8192];
	ssize_t got = 0;
	enum kf_code code;
	int fd;

	*out = NULL;
	code = open_inside(l, name, &fd);
	if (code)
		return code;
	do
		got = read(fd, chunk, sizeof(chunk));
	while (got > 0 && kf_buf_add(&text, chunk, (size_t)got));
	close(fd);
	if (got)
		code = kf_fail(l->err, KF_E_INPUT,
			       "bundle: cannot read %s", name);
	else
		code = kf_json_parse(kf_buf_str(&text), text.len, name, out,
				     l->err);
	kf_buf_release(&text);
	return code;
}

static enum kf_code map_file(const struct kf_bundle_loader *l,
			     const char *name,
			     const struct kf_safetensors **out)
{
	struct kf_safetensors *file = &l->maps->file[l->maps->count];
	enum kf_code code;
	int fd;

	code = open_inside(l, name, &fd);
	if (code)
		return code;
	code = kf_safetensors_map(fd, name, file, l->err);
	close(fd);
	if (!code)
		l->maps->count++;
	*out = file;
	return code;
}

/* --- bundle.json --------------------------------------------------------- */

static bool read_shape(const json_t *shape, struct kf_tensor_info *out)
{
	out->numel = 1;
	out->rank = (int)json_array_size(shape);
	if (!json_is_array(shape) || out->rank > KF_MAX_RANK)
		return false;
	for (int i = 0; i < out->rank; i++) {
		const json_t *size = json_array_get(shape, (size_t)i);

		out->shape[i] = json_integer_value(size);
		if (!json_is_integer(size) || out->shape[i] < 0 ||
		    __builtin_mul_overflow(out->numel, out->shape[i],
					   &out->numel))
			return false;
	}
	return !__builtin_mul_overflow((size_t)out->numel,
				       kf_dtype_bytes(out->dtype),
				       &out->bytes);
}

static enum kf_code read_tensors(const struct kf_bundle_loader *l,
				 const char *member, bool none_allowed,
				 struct kf_tensor_info **out, size_t *count)
{
	const json_t *list = json_object_get(l->bundle->info, member);
	size_t number = json_array_size(list);

	if (!json_is_array(list) || number > TENSORS_MAX)
		return kf_fail(l->err, KF_E_INPUT,
			       "bundle.json: %s is malformed", member);
	*out = kf_alloc(number * sizeof((*out)[0]));
	for (size_t i = 0; i < number; i++) {
		const json_t *entry = json_array_get(list, i);
		const char *type = kf_json_str(entry, "dtype", "");
		struct kf_tensor_info *info = &(*out)[(*count)++];
		bool none = none_allowed && strcmp(type, "none") == 0;

		info->name = kf_strdup(kf_json_str(entry, "name", ""));
		info->dtype = kf_dtype_by_name(type);
		info->structural = kf_json_bool(entry, "structural", false);
		info->matters = kf_json_bool(entry, "matters", true);
		info->must_be_read = kf_json_bool(entry, "must_be_read",
						  false);
		if (!info->name[0] || (!info->dtype && !none) ||
		    !read_shape(json_object_get(entry, "shape"), info))
			return kf_fail(l->err, KF_E_INPUT, "bundle.json: "
				       "%s[%zu] is malformed", member, i);
		if (none)
			info->numel = 0;
	}
	return KF_OK;
}

static enum kf_code read_scalars(const struct kf_bundle_loader *l)
{
	const json_t *list = json_object_get(l->bundle->info, "scalars");
	size_t number = json_array_size(list);

	if (!json_is_array(list) || number > TENSORS_MAX)
		return kf_fail(l->err, KF_E_INPUT,
			       "bundle.json: scalars is malformed");
	l->bundle->scalar = kf_alloc(number * sizeof(l->bundle->scalar[0]));
	for (size_t i = 0; i < number; i++) {
		const json_t *entry = json_array_get(list, i);
		const json_t *value = json_object_get(entry, "value");
		const char *kind = kf_json_str(entry, "kind", "");
		struct kf_scalar_info *info = &l->bundle->scalar[i];
		double f = json_number_value(value);

		if (!kind[0] || kind[1] || !strchr("ifb", kind[0]) ||
		    !json_is_number(value) ||
		    (kind[0] != 'f' && !json_is_integer(value)))
			return kf_fail(l->err, KF_E_INPUT, "bundle.json: "
				       "scalars[%zu] is malformed", i);
		info->kind = kind[0];
		info->f = f;
		if (json_is_integer(value))
			info->i = json_integer_value(value);
		else if (fabs(f) < 0x1p62)
			info->i = (int64_t)f;
		l->bundle->scalar_count++;
	}
	return KF_OK;
}

static enum kf_code read_info(const struct kf_bundle_loader *l)
{
	struct kf_bundle *b = l->bundle;
	const json_t *counts;
	enum kf_code code = KF_OK;

	if (!b->info)
		code = read_json(l, "public/bundle.json", &b->info);
	if (!code && kf_json_int(b->info, "format", 0) != KF_BUNDLE_FORMAT)
		code = kf_fail(l->err, KF_E_INPUT,
			       "bundle.json has an unknown format");
	if (!code)
		code = read_tensors(l, "inputs", true, &b->in, &b->in_count);
	if (!code)
		code = read_scalars(l);
	if (!code)
		code = read_tensors(l, "weights", false, &b->weight,
				    &b->weight_count);
	if (!code)
		code = read_tensors(l, "outputs", false, &b->out,
				    &b->out_count);
	if (code)
		return code;
	counts = json_object_get(b->info, "operations");
	b->flops = kf_json_real(counts, "total", (double)NAN);
	b->bytes = kf_json_real(b->info, "bytes", 0);
	b->has_exact = json_is_string(json_object_get(b->info, "float64"));
	b->condensed = json_is_object(json_object_get(b->info, "condensed"));
	return KF_OK;
}

/* --- data ---------------------------------------------------------------- */

enum kf_code kf_bundle_find(const struct kf_bundle_loader *l,
			    const struct kf_safetensors *file,
			    const char *name,
			    const struct kf_tensor_info *info,
			    enum kf_dtype dtype, const void **out)
{
	const struct kf_safe_tensor *t = kf_safetensors_get(file, name);

	if (!t || t->dtype != dtype || t->rank != info->rank ||
	    memcmp(t->shape, info->shape,
		   (size_t)info->rank * sizeof(t->shape[0])) != 0)
		return kf_fail(l->err, KF_E_INPUT,
			       "bundle: tensor %s is missing or of another "
			       "shape or type", name);
	*out = t->data;
	return KF_OK;
}

/* prefix.0, prefix.1, ... for each info that is not an empty slot; as is its
 * type, or float outputs only in another. */
static enum kf_code find_all(const struct kf_bundle_loader *l,
			     const struct kf_safetensors *file,
			     const char *prefix,
			     const struct kf_tensor_info *info, size_t count,
			     enum kf_dtype as, const void **out)
{
	for (size_t i = 0; i < count; i++) {
		enum kf_dtype dtype = as ? as : info[i].dtype;
		enum kf_code code;
		char name[48];

		if (!info[i].dtype || (as && info[i].dtype < KF_F16))
			continue;
		snprintf(name, sizeof(name), "%s.%zu", prefix, i);
		code = kf_bundle_find(l, file, name, &info[i], dtype, &out[i]);
		if (code)
			return code;
	}
	return KF_OK;
}

static enum kf_code load_weights(const struct kf_bundle_loader *l)
{
	struct kf_bundle *b = l->bundle;
	const struct kf_safetensors *file;
	enum kf_code code = map_file(l, "inputs/weights.safetensors", &file);

	b->weight_data = kf_alloc(b->weight_count * sizeof(void *));
	for (size_t i = 0; i < b->weight_count && !code; i++)
		code = kf_bundle_find(l, file, b->weight[i].name, &b->weight[i],
				 b->weight[i].dtype, &b->weight_data[i]);
	return code;
}

static enum kf_code load_inputs(const struct kf_bundle_loader *l,
				const char *name, struct kf_case *c)
{
	const struct kf_bundle *b = l->bundle;
	const struct kf_safetensors *file;
	enum kf_code code = map_file(l, name, &file);

	if (code)
		return code;
	c->in = kf_alloc(b->in_count * sizeof(c->in[0]));
	code = b->condensed ? kf_condensed_inputs(l, file, c) :
		find_all(l, file, "in", b->in, b->in_count, KF_DTYPE_NONE,
			 c->in);
	if (code || (strcmp(c->kind, "weights") != 0 &&
		     !kf_safetensors_get(file, "weight.0")))
		return code;
	c->weight = kf_alloc(b->weight_count * sizeof(c->weight[0]));
	return find_all(l, file, "weight", b->weight, b->weight_count,
			KF_DTYPE_NONE, c->weight);
}

const char *const kf_precision_name[KF_PRECISIONS] = {
	[KF_TF32] = "tf32",
	[KF_TF32_CUT] = "tf32_cut",
	[KF_BF16_OPERANDS] = "bf16",
};

/* Those of lower precision that are there. */
static enum kf_code load_rounded(const struct kf_bundle_loader *l,
				 const struct kf_safetensors *file,
				 enum kf_precision p, struct kf_case *c)
{
	const struct kf_bundle *b = l->bundle;
	enum kf_code code = KF_OK;
	char name[48];

	c->rounded[p] = kf_alloc(b->out_count * sizeof(void *));
	for (size_t i = 0; i < b->out_count && !code; i++) {
		snprintf(name, sizeof(name), "%s.%zu", kf_precision_name[p],
			 i);
		if (kf_safetensors_get(file, name))
			code = kf_bundle_find(l, file, name, &b->out[i], KF_F32,
				(const void **)&c->rounded[p][i]);
	}
	return code;
}

static enum kf_code load_oracle(const struct kf_bundle_loader *l,
				const char *name, struct kf_case *c)
{
	const struct kf_bundle *b = l->bundle;
	bool scales = strcmp(c->kind, "stock") != 0;
	size_t bytes = b->out_count * sizeof(void *);
	struct kf_tensor_info *window = NULL;
	const struct kf_tensor_info *out;
	const struct kf_safetensors *file;
	enum kf_code code = map_file(l, name, &file);

	if (code)
		return code;
	c->expect = kf_alloc(bytes);
	c->exact = kf_alloc(bytes);
	c->react = kf_alloc(bytes);
	c->noise = kf_alloc(bytes);
	if (b->condensed)
		code = kf_condensed_outputs(l, file, c, &window);
	out = window ? window : b->out;
	if (!code)
		code = find_all(l, file, "expect", out, b->out_count,
				KF_DTYPE_NONE, c->expect);
	if (!code && scales && b->has_exact)
		code = find_all(l, file, "exact", out, b->out_count, KF_F64,
				(const void **)c->exact);
	if (!code && scales)
		code = find_all(l, file, "react", out, b->out_count, KF_F32,
				(const void **)c->react);
	if (!code && scales && b->has_exact)
		code = find_all(l, file, "noise", out, b->out_count, KF_F32,
				(const void **)c->noise);
	for (int p = 0; p < KF_PRECISIONS && !code && c == b->set &&
	     !b->condensed; p++)
		code = load_rounded(l, file, (enum kf_precision)p, c);
	free(window);
	return code;
}

static enum kf_code load_cases(const struct kf_bundle_loader *l,
			       const char *member, const char *file_prefix,
			       struct kf_case **out, size_t *count)
{
	const json_t *list = json_object_get(l->maps->seeds, member);
	size_t number = json_array_size(list);
	enum kf_code code = KF_OK;

	if (!number || number > CASES_MAX)
		return kf_fail(l->err, KF_E_INPUT,
			       "bundle: seeds.json is malformed");
	*out = kf_alloc(number * sizeof((*out)[0]));
	for (size_t i = 0; i < number && !code; i++) {
		const json_t *entry = json_array_get(list, i);
		struct kf_case *c = &(*out)[(*count)++];
		char name[64];

		c->kind = kf_json_str(entry, "kind", "");
		c->seed = (uint64_t)kf_json_int(entry, "seed", 0);
		snprintf(name, sizeof(name), "inputs/%s-%02zu.safetensors",
			 file_prefix, i);
		code = load_inputs(l, name, c);
		snprintf(name, sizeof(name), "oracle/%s-%02zu.safetensors",
			 file_prefix, i);
		if (!code)
			code = load_oracle(l, name, c);
	}
	if (!code && strcmp(file_prefix, "set") == 0 &&
	    strcmp((*out)[0].kind, "declared") != 0)
		code = kf_fail(l->err, KF_E_INPUT,
			       "bundle: its first set is not the declared one");
	return code;
}

enum kf_code kf_bundle_load(const char *folder, struct kf_bundle *out,
			    struct kf_err *err)
{
	struct kf_bundle_loader l = { .bundle = out, .err = err };
	enum kf_code code;

	*out = (struct kf_bundle) { .flops = (double)NAN };
	l.folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			   O_CLOEXEC);
	if (l.folder_fd < 0)
		return kf_fail_errno(err, "cannot open bundle %s", folder);
	out->folder = kf_strdup(folder);
	out->maps = l.maps = kf_alloc(sizeof(*l.maps));
	l.maps->used_fd = -1;
	l.maps->file = kf_alloc((4 * CASES_MAX + 2) *
				sizeof(l.maps->file[0]));
	code = read_info(&l);
	if (!code)
		code = read_json(&l, "oracle/seeds.json", &l.maps->seeds);
	if (!code)
		code = load_weights(&l);
	if (!code && out->condensed)
		code = map_file(&l, "inputs/base.safetensors", &l.base);
	if (!code)
		code = load_cases(&l, "sets", "set", &out->set,
				  &out->set_count);
	if (!code)
		code = load_cases(&l, "stock", "stock", &out->stock,
				  &out->stock_count);
	close(l.folder_fd);
	if (code)
		kf_bundle_release(out);
	return code;
}

enum kf_code kf_bundle_from_info(const json_t *info, struct kf_bundle *out,
				 struct kf_err *err)
{
	struct kf_bundle_loader l = { .bundle = out, .err = err };
	enum kf_code code;

	*out = (struct kf_bundle) { .flops = (double)NAN };
	out->info = json_deep_copy(info);
	if (!out->info)
		return kf_fail(err, KF_E_INPUT, "there is no bundle.json");
	code = read_info(&l);
	if (code)
		kf_bundle_release(out);
	return code;
}

static void release_cases(struct kf_case *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(list[i].in);
		free(list[i].weight);
		free(list[i].expect);
		free(list[i].exact);
		free(list[i].react);
		free(list[i].noise);
		free(list[i].fresh);
		free(list[i].digest);
		for (int p = 0; p < KF_PRECISIONS; p++)
			free(list[i].rounded[p]);
	}
	free(list);
}

static void release_infos(struct kf_tensor_info *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i].name);
	free(list);
}

void kf_bundle_release(struct kf_bundle *bundle)
{
	struct kf_bundle_maps *maps = bundle->maps;

	for (size_t i = 0; maps && i < maps->count; i++)
		kf_safetensors_release(&maps->file[i]);
	if (maps) {
		free(maps->file);
		json_decref(maps->seeds);
		if (maps->used_fd >= 0)
			close(maps->used_fd);
	}
	free(maps);
	release_cases(bundle->set, bundle->set_count);
	release_cases(bundle->stock, bundle->stock_count);
	release_infos(bundle->in, bundle->in_count);
	release_infos(bundle->weight, bundle->weight_count);
	release_infos(bundle->out, bundle->out_count);
	free(bundle->weight_data);
	free(bundle->scalar);
	free(bundle->folder);
	free(bundle->place);
	json_decref(bundle->info);
	*bundle = (struct kf_bundle) { 0 };
}
