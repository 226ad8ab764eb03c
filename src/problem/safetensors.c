#include "problem/safetensors.h"

#include <sys/mman.h>
#include <sys/stat.h>

#define LENGTH_BYTES 8u
#define HEADER_BYTES (16u << 20)
#define PAD_NAME "__pad"
#define METADATA_NAME "__metadata__"

static const struct { const char *name; enum kf_dtype dtype; } type[] = {
	{ "BOOL", KF_BOOL }, { "U8", KF_U8 }, { "I8", KF_I8 },
	{ "I16", KF_I16 }, { "I32", KF_I32 }, { "I64", KF_I64 },
	{ "F16", KF_F16 }, { "BF16", KF_BF16 }, { "F32", KF_F32 },
	{ "F64", KF_F64 },
};

static enum kf_dtype type_by_name(const char *name)
{
	for (size_t i = 0; i < KF_COUNT(type); i++)
		if (strcmp(name, type[i].name) == 0)
			return type[i].dtype;
	return KF_DTYPE_NONE;
}

const char *kf_safetensors_type(enum kf_dtype dtype)
{
	for (size_t i = 0; i < KF_COUNT(type); i++)
		if (type[i].dtype == dtype)
			return type[i].name;
	return "";
}

/* Reads shape; *bytes is the size it takes. False if it cannot be. */
static bool read_shape(const json_t *shape, struct kf_safe_tensor *out)
{
	size_t bytes = kf_dtype_bytes(out->dtype);
	bool empty = false;

	if (!json_is_array(shape) || json_array_size(shape) > KF_MAX_RANK)
		return false;
	out->rank = (int)json_array_size(shape);
	for (int i = 0; i < out->rank; i++) {
		const json_t *size = json_array_get(shape, (size_t)i);

		out->shape[i] = json_integer_value(size);
		if (!json_is_integer(size) || out->shape[i] < 0)
			return false;
		empty |= out->shape[i] == 0;
	}
	for (int i = 0; i < out->rank && !empty; i++)
		if (__builtin_mul_overflow(bytes, (size_t)out->shape[i],
					   &bytes))
			return false;
	out->bytes = empty ? 0 : bytes;
	return true;
}

/* One entry of the header; data: where offsets count from. */
static bool read_tensor(const char *name, const json_t *entry,
			const char *data, size_t data_bytes,
			struct kf_safe_tensor *out)
{
	const json_t *offsets = json_object_get(entry, "data_offsets");
	const json_t *from = json_array_get(offsets, 0);
	const json_t *to = json_array_get(offsets, 1);
	json_int_t begin = json_integer_value(from);
	json_int_t end = json_integer_value(to);

	*out = (struct kf_safe_tensor) { .name = name };
	out->dtype = type_by_name(kf_json_str(entry, "dtype", ""));
	if (!out->dtype || !read_shape(json_object_get(entry, "shape"), out))
		return false;
	if (json_array_size(offsets) != 2 || !json_is_integer(from) ||
	    !json_is_integer(to) || begin < 0 || end < begin ||
	    (uint64_t)end > data_bytes ||
	    (uint64_t)(end - begin) != out->bytes)
		return false;
	out->data = data + begin;
	return (uintptr_t)out->data % kf_dtype_bytes(out->dtype) == 0;
}

static int by_place(const void *a, const void *b)
{
	const struct kf_safe_tensor *x = a, *y = b;

	if (x->data != y->data)
		return (uintptr_t)x->data > (uintptr_t)y->data ? 1 : -1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Sorted tensors must follow each other from the first byte to the last. */
static bool covers(const struct kf_safetensors *file, const char *data,
		   size_t data_bytes)
{
	const char *next = data;

	for (size_t i = 0; i < file->count; i++) {
		if (file->tensor[i].data != (const void *)next)
			return false;
		next += file->tensor[i].bytes;
	}
	return next == data + data_bytes;
}

static void drop_pads(struct kf_safetensors *file)
{
	size_t kept = 0;

	for (size_t i = 0; i < file->count; i++)
		if (strncmp(file->tensor[i].name, PAD_NAME,
			    strlen(PAD_NAME)) != 0)
			file->tensor[kept++] = file->tensor[i];
	file->count = kept;
}

enum kf_code kf_safetensors_parse(const void *bytes, size_t len,
				  const char *what,
				  struct kf_safetensors *out,
				  struct kf_err *err)
{
	const unsigned char *byte = bytes;
	uint64_t header_bytes = 0;
	const char *name, *data;
	json_t *entry;
	enum kf_code code;

	*out = (struct kf_safetensors) { 0 };
	if (len < LENGTH_BYTES)
		return kf_fail(err, KF_E_INPUT, "%s is too short", what);
	for (unsigned i = 0; i < LENGTH_BYTES; i++)
		header_bytes |= (uint64_t)byte[i] << (8 * i);
	if (header_bytes > HEADER_BYTES || header_bytes > len - LENGTH_BYTES)
		return kf_fail(err, KF_E_INPUT, "%s: its header is too long",
			       what);
	code = kf_json_parse((const char *)bytes + LENGTH_BYTES,
			     (size_t)header_bytes, what, &out->header, err);
	if (code)
		return code;
	data = (const char *)bytes + LENGTH_BYTES + header_bytes;
	len -= LENGTH_BYTES + (size_t)header_bytes;
	out->tensor = kf_alloc((json_object_size(out->header) + 1) *
			       sizeof(out->tensor[0]));
	if (!json_is_object(out->header))
		code = kf_fail(err, KF_E_INPUT, "%s: its header is not an "
			       "object", what);
	json_object_foreach(out->header, name, entry) {
		if (strcmp(name, METADATA_NAME) == 0)
			continue;
		if (read_tensor(name, entry, data, len,
				&out->tensor[out->count++]))
			continue;
		code = kf_fail(err, KF_E_INPUT, "%s: tensor '%.80s' is "
			       "malformed", what, name);
		break;
	}
	if (!code && out->count)
		qsort(out->tensor, out->count, sizeof(out->tensor[0]),
		      by_place);
	if (!code && !covers(out, data, len))
		code = kf_fail(err, KF_E_INPUT, "%s: its tensors overlap or "
			       "leave holes", what);
	if (code)
		kf_safetensors_release(out);
	else
		drop_pads(out);
	return code;
}

enum kf_code kf_safetensors_map(int fd, const char *what,
				struct kf_safetensors *out,
				struct kf_err *err)
{
	struct stat st;
	enum kf_code code;
	size_t bytes;
	void *map;

	*out = (struct kf_safetensors) { 0 };
	if (fstat(fd, &st))
		return kf_fail_errno(err, "cannot look at %s", what);
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)LENGTH_BYTES)
		return kf_fail(err, KF_E_INPUT, "%s is not a safetensors file",
			       what);
	bytes = (size_t)st.st_size;
	map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return kf_fail_errno(err, "cannot map %s", what);
	code = kf_safetensors_parse(map, bytes, what, out, err);
	if (code) {
		munmap(map, bytes);
		return code;
	}
	out->map = map;
	out->map_bytes = bytes;
	return KF_OK;
}

const struct kf_safe_tensor *kf_safetensors_get(
		const struct kf_safetensors *file, const char *name)
{
	for (size_t i = 0; i < file->count; i++)
		if (strcmp(file->tensor[i].name, name) == 0)
			return &file->tensor[i];
	return NULL;
}

void kf_safetensors_release(struct kf_safetensors *file)
{
	if (file->map)
		munmap(file->map, file->map_bytes);
	free(file->tensor);
	json_decref(file->header);
	*file = (struct kf_safetensors) { 0 };
}
