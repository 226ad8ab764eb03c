#include "problem/safetensors_write.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define PAD_NAME "__pad"

static size_t gap_after(size_t at)
{
	return (KF_SAFETENSORS_ALIGN - at % KF_SAFETENSORS_ALIGN) %
		KF_SAFETENSORS_ALIGN;
}

static size_t bytes_of(const struct kf_safe_tensor *t)
{
	size_t bytes = kf_dtype_bytes(t->dtype);

	for (int i = 0; i < t->rank; i++)
		bytes *= (size_t)t->shape[i];
	return bytes;
}

static void describe(json_t *header, const char *name, const char *type,
		     json_t *shape, size_t from, size_t bytes)
{
	json_object_set_new(header, name, json_pack("{s:s, s:o, s:[I, I]}",
		"dtype", type, "shape", shape, "data_offsets",
		(json_int_t)from, (json_int_t)(from + bytes)));
}

/* Compact text, padded so that the data begin aligned. Caller frees. */
static char *make_header(const struct kf_safe_tensor *tensor, size_t count)
{
	json_t *header = json_object();
	char *text, *padded;
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		size_t bytes = bytes_of(&tensor[i]), gap = gap_after(at);
		json_t *shape = json_array();
		char pad[32];

		snprintf(pad, sizeof(pad), PAD_NAME ".%zu", i);
		if (gap)
			describe(header, pad, "U8", json_pack("[I]",
				 (json_int_t)gap), at, gap);
		for (int k = 0; k < tensor[i].rank; k++)
			json_array_append_new(shape,
				json_integer(tensor[i].shape[k]));
		describe(header, tensor[i].name,
			 kf_safetensors_type(tensor[i].dtype), shape, at + gap,
			 bytes);
		at += gap + bytes;
	}
	text = json_dumps(header, JSON_COMPACT);
	padded = kf_format("%s%*s", text, (int)gap_after(8 + strlen(text)),
			   "");
	free(text);
	json_decref(header);
	return padded;
}

static bool put(int fd, const void *bytes, size_t len)
{
	const char *from = bytes;

	while (len) {
		ssize_t n = write(fd, from, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		from += n;
		len -= (size_t)n;
	}
	return true;
}

static bool put_all(int fd, const char *header,
		    const struct kf_safe_tensor *tensor, size_t count)
{
	static const char zeros[KF_SAFETENSORS_ALIGN];
	size_t len = strlen(header), at = 0;
	unsigned char length[8];
	bool good;

	for (unsigned i = 0; i < sizeof(length); i++)
		length[i] = (unsigned char)((uint64_t)len >> (8 * i));
	good = put(fd, length, sizeof(length)) && put(fd, header, len);
	for (size_t i = 0; i < count && good; i++) {
		size_t bytes = bytes_of(&tensor[i]), gap = gap_after(at);

		good = put(fd, zeros, gap) && put(fd, tensor[i].data, bytes);
		at += gap + bytes;
	}
	return good;
}

enum kf_code kf_safetensors_write_fd(int fd, const char *path,
				     const struct kf_safe_tensor *tensor,
				     size_t count, struct kf_err *err)
{
	enum kf_code code = KF_OK;
	char *header;

	if (fd < 0)
		return kf_fail_errno(err, "cannot make file %s", path);
	header = make_header(tensor, count);
	if (!put_all(fd, header, tensor, count))
		code = kf_fail_errno(err, "cannot write %s", path);
	if (close(fd) && !code)
		code = kf_fail_errno(err, "cannot write %s", path);
	free(header);
	return code;
}

enum kf_code kf_safetensors_write(const char *path,
				  const struct kf_safe_tensor *tensor,
				  size_t count, struct kf_err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	return kf_safetensors_write_fd(fd, path, tensor, count, err);
}
