/* Tensors -> safetensors. */
#include "export/internal.h"

#include <fcntl.h>
#include <unistd.h>

static const char *const type_name[] = {
	[KF_BOOL] = "BOOL", [KF_U8] = "U8", [KF_I8] = "I8", [KF_I16] = "I16",
	[KF_I32] = "I32", [KF_I64] = "I64", [KF_F16] = "F16",
	[KF_BF16] = "BF16", [KF_F32] = "F32", [KF_F64] = "F64",
};

struct part {
	char *name;		/* owned */
	const struct kf_tensor_info *info;
	const void *data;
};

struct parts {
	struct part *part;	/* owned */
	size_t count, bytes;
};

static void add(struct parts *p, const char *prefix,
		const struct kf_tensor_info *info, const void *data)
{
	if (info->dtype == KF_DTYPE_NONE)
		return;
	p->part = kf_realloc(p->part, (p->count + 1) * sizeof(p->part[0]));
	p->part[p->count++] = (struct part) {
		kf_format("%s%s", prefix, info->name), info, data,
	};
	p->bytes += info->bytes;
}

static void parts_release(struct parts *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->part[i].name);
	free(p->part);
	*p = (struct parts) { 0 };
}

static json_t *entry(const struct kf_tensor_info *info, size_t begin)
{
	json_t *shape = json_array();

	for (int k = 0; k < info->rank; k++)
		json_array_append_new(shape,
				      json_integer((json_int_t)info->shape[k]));
	return json_pack("{s:s, s:o, s:[I,I]}", "dtype",
			 type_name[info->dtype], "shape", shape,
			 "data_offsets", (json_int_t)begin,
			 (json_int_t)(begin + info->bytes));
}

/* Wide types first, so that all of them are aligned in the file. */
static int by_width(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	size_t p = kf_dtype_bytes(x->info->dtype);
	size_t q = kf_dtype_bytes(y->info->dtype);

	return p < q ? 1 : p > q ? -1 : 0;
}

static enum kf_code write_all(int fd, const void *bytes, size_t len,
			      const char *path, struct kf_err *err)
{
	const char *at = bytes;

	while (len) {
		ssize_t done = write(fd, at, len);

		if (done < 0)
			return kf_fail_errno(err, "cannot write %s", path);
		at += done;
		len -= (size_t)done;
	}
	return KF_OK;
}

/* The header's length, the header padded to 64 bytes, the data. */
static enum kf_code write_file(const char *path, struct parts *p,
			       struct kf_err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	json_t *header = json_object();
	struct kf_buf text = { .max = 64u << 20 };
	unsigned char length[8];
	enum kf_code code;
	size_t begin = 0;
	char *json;

	qsort(p->part, p->count, sizeof(p->part[0]), by_width);
	for (size_t i = 0; i < p->count; i++) {
		json_object_set_new(header, p->part[i].name,
				    entry(p->part[i].info, begin));
		begin += p->part[i].info->bytes;
	}
	json = kf_json_text(header);
	kf_buf_puts(&text, json);
	while ((sizeof(length) + text.len) % 64)
		kf_buf_puts(&text, " ");
	for (size_t i = 0; i < sizeof(length); i++)
		length[i] = (unsigned char)((uint64_t)text.len >> 8 * i);
	code = fd < 0 ? kf_fail_errno(err, "cannot make %s", path)
		      : write_all(fd, length, sizeof(length), path, err);
	if (!code)
		code = write_all(fd, kf_buf_str(&text), text.len, path, err);
	for (size_t i = 0; !code && i < p->count; i++)
		code = write_all(fd, p->part[i].data, p->part[i].info->bytes,
				 path, err);
	if (fd >= 0 && close(fd) && !code)
		code = kf_fail_errno(err, "cannot write %s", path);
	free(json);
	kf_buf_release(&text);
	json_decref(header);
	return code;
}

static enum kf_code write_into(const char *dir, const char *name,
			       struct parts *p, struct kf_err *err)
{
	char *path = kf_path_join(dir, name);
	enum kf_code code = write_file(path, p, err);

	free(path);
	return code;
}

static enum kf_code write_weights(const struct kf_bundle *b, bool tables,
				  const char *dir, const char *name,
				  struct kf_err *err)
{
	struct parts p = { 0 };
	enum kf_code code;

	for (size_t i = 0; i < b->weight_count; i++)
		if (!tables || b->weight[i].structural)
			add(&p, "", &b->weight[i], b->weight_data[i]);
	code = p.count ? write_into(dir, name, &p, err) : KF_OK;
	parts_release(&p);
	return code;
}

enum kf_code kf_export_weights(const struct kf_export_request *req,
			       const char *dir, struct kf_err *err)
{
	return write_weights(req->bundle, false, dir, "weights.safetensors",
			     err);
}

enum kf_code kf_export_tables(const struct kf_export_request *req,
			      const char *dir, struct kf_err *err)
{
	return write_weights(req->bundle, true, dir, "tables.safetensors",
			     err);
}

enum kf_code kf_export_example(const struct kf_export_request *req,
			       const char *dir, bool *written,
			       struct kf_err *err)
{
	const struct kf_bundle *b = req->bundle;
	const struct kf_case *declared = &b->set[0];
	enum kf_code code = KF_OK;
	struct parts p = { 0 };

	*written = false;
	if (b->condensed)	/* too large by far */
		return KF_OK;
	for (size_t i = 0; i < b->in_count; i++)
		add(&p, "inputs.", &b->in[i], declared->in[i]);
	for (size_t i = 0; i < b->out_count; i++)
		add(&p, "expected.", &b->out[i], declared->expect[i]);
	*written = p.bytes <= KF_EXPORT_EXAMPLE_BYTES;
	if (*written)
		code = write_into(dir, "example.safetensors", &p, err);
	parts_release(&p);
	return code;
}
