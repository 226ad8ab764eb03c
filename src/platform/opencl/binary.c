/*
 * The part "device" of a pack: what it was built for, the kernels with their
 * parameters (devices tell of these only while they have the source), and the
 * binary. Texts have their length in front; numbers are four bytes,
 * little-endian.
 */
#include "platform/opencl/opencl.h"

#define MAGIC		"kforge-opencl-1\n"
#define KERNELS_MAX	1024u
#define PARAMETERS_MAX	256u

static void put_number(struct kf_buf *out, uint32_t value)
{
	unsigned char bytes[4];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(value >> 8 * i);
	kf_buf_add(out, bytes, sizeof(bytes));
}

static void put_text(struct kf_buf *out, const char *text)
{
	put_number(out, (uint32_t)strlen(text));
	kf_buf_puts(out, text);
}

void kf_opencl_binary_write(const struct kf_opencl_binary *binary,
			    struct kf_buf *out)
{
	kf_buf_puts(out, MAGIC);
	put_text(out, binary->device);
	put_text(out, binary->driver);
	put_number(out, (uint32_t)binary->kernel_count);
	for (size_t i = 0; i < binary->kernel_count; i++) {
		const struct kf_opencl_kernel *k = &binary->kernel[i];

		put_text(out, k->name);
		put_number(out, (uint32_t)k->parameter_count);
		for (size_t j = 0; j < k->parameter_count; j++) {
			put_number(out, k->parameter[j].where);
			put_text(out, k->parameter[j].type);
			put_text(out, k->parameter[j].name);
		}
	}
	put_number(out, (uint32_t)binary->len);
	kf_buf_add(out, binary->bytes, binary->len);
}

struct reader { const unsigned char *at, *end; bool good; };

static uint32_t get_number(struct reader *r, uint32_t max)
{
	uint32_t value = 0;

	r->good = r->good && r->end - r->at >= 4;
	if (!r->good)
		return 0;
	for (unsigned i = 0; i < 4; i++)
		value |= (uint32_t)r->at[i] << 8 * i;
	r->at += 4;
	r->good = value <= max;
	return r->good ? value : 0;
}

static void get_text(struct reader *r, char *text, size_t size)
{
	uint32_t len = get_number(r, (uint32_t)size - 1);

	text[0] = '\0';
	r->good = r->good && (size_t)(r->end - r->at) >= len &&
		  !memchr(r->at, '\0', len);
	if (!r->good)
		return;
	memcpy(text, r->at, len);
	text[len] = '\0';
	r->at += len;
}

static void get_kernel(struct reader *r, struct kf_opencl_kernel *k)
{
	uint32_t count;

	get_text(r, k->name, sizeof(k->name));
	count = get_number(r, PARAMETERS_MAX);
	k->parameter = kf_alloc(count * sizeof(k->parameter[0]));
	k->parameter_count = count;
	for (uint32_t i = 0; i < count && r->good; i++) {
		struct kf_opencl_parameter *p = &k->parameter[i];

		p->where = get_number(r, UINT32_MAX);
		get_text(r, p->type, sizeof(p->type));
		get_text(r, p->name, sizeof(p->name));
	}
}

bool kf_opencl_binary_read(const void *part, size_t len,
			   struct kf_opencl_binary *out)
{
	struct reader r = { part, (const unsigned char *)part + len, true };
	uint32_t count;

	*out = (struct kf_opencl_binary) { .kernel = NULL };
	if (len < strlen(MAGIC) || memcmp(part, MAGIC, strlen(MAGIC)) != 0)
		return false;
	r.at += strlen(MAGIC);
	get_text(&r, out->device, sizeof(out->device));
	get_text(&r, out->driver, sizeof(out->driver));
	count = get_number(&r, KERNELS_MAX);
	out->kernel = kf_alloc(count * sizeof(out->kernel[0]));
	for (uint32_t i = 0; i < count && r.good; i++, out->kernel_count++)
		get_kernel(&r, &out->kernel[i]);
	out->len = get_number(&r, UINT32_MAX);
	out->bytes = r.at;
	return r.good && (size_t)(r.end - r.at) == out->len;
}

void kf_opencl_binary_release(struct kf_opencl_binary *binary)
{
	for (size_t i = 0; i < binary->kernel_count; i++)
		free(binary->kernel[i].parameter);
	free(binary->kernel);
	*binary = (struct kf_opencl_binary) { .kernel = NULL };
}

const struct kf_opencl_kernel *
kf_opencl_kernel_find(const struct kf_opencl_binary *binary, const char *name)
{
	for (size_t i = 0; i < binary->kernel_count; i++)
		if (strcmp(binary->kernel[i].name, name) == 0)
			return &binary->kernel[i];
	return NULL;
}
