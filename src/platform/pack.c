/*
 * Little-endian: u32 magic, u32 version, u32 count; for each part its name in
 * 16 bytes (the rest NUL) and u64 length; then the parts, one after the other,
 * and nothing else.
 */
#include "platform/pack.h"

#define MAGIC		UINT32_C(0x6b70666b)	/* "kfpk" */
#define VERSION		2u	/* 2: with "parameters" */
#define HEAD_BYTES	12u
#define ENTRY_BYTES	(KF_PACK_NAME_MAX + 1 + 8u)

static void put(struct kf_buf *out, uint64_t value, unsigned bytes)
{
	unsigned char byte[8];

	for (unsigned i = 0; i < bytes; i++)
		byte[i] = (unsigned char)(value >> (8 * i));
	kf_buf_add(out, byte, bytes);
}

static uint64_t get(const char *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)(unsigned char)at[i] << (8 * i);
	return value;
}

/* "[a-z]+" and NULs to the end. */
static bool is_name(const char name[KF_PACK_NAME_MAX + 1])
{
	size_t len = 0;

	while (len < KF_PACK_NAME_MAX && name[len] >= 'a' && name[len] <= 'z')
		len++;
	for (size_t i = len; i <= KF_PACK_NAME_MAX; i++)
		if (name[i])
			return false;
	return len > 0;
}

const struct kf_pack_part *kf_pack_find(const struct kf_pack *pack,
					const char *name)
{
	for (size_t i = 0; i < pack->count; i++)
		if (strcmp(pack->part[i].name, name) == 0)
			return &pack->part[i];
	return NULL;
}

enum kf_code kf_pack_write(const char *path, const struct kf_pack_part *part,
			   size_t count, struct kf_err *err)
{
	struct kf_buf bytes = { .max = SIZE_MAX };
	enum kf_code code;

	if (count > KF_PACK_PARTS_MAX)
		return kf_fail(err, KF_E_LIMIT, "a pack has at most %d parts",
			       KF_PACK_PARTS_MAX);
	put(&bytes, MAGIC, 4);
	put(&bytes, VERSION, 4);
	put(&bytes, count, 4);
	for (size_t i = 0; i < count; i++) {
		char name[KF_PACK_NAME_MAX + 1] = "";

		snprintf(name, sizeof(name), "%s", part[i].name);
		kf_buf_add(&bytes, name, sizeof(name));
		put(&bytes, part[i].len, 8);
	}
	for (size_t i = 0; i < count; i++)
		kf_buf_add(&bytes, part[i].data, part[i].len);
	code = kf_file_write_scratch(path, bytes.data, bytes.len, err);
	kf_buf_release(&bytes);
	return code;
}

/* NULL if all is well, else what is wrong. */
static const char *parse(struct kf_pack *pack)
{
	const char *at = kf_buf_str(&pack->bytes);
	size_t left = pack->bytes.len, count;

	if (left < HEAD_BYTES || get(at, 4) != MAGIC)
		return "it is none";
	if (get(at + 4, 4) != VERSION)
		return "it is of another version";
	count = get(at + 8, 4);
	at += HEAD_BYTES;
	left -= HEAD_BYTES;
	if (count > KF_PACK_PARTS_MAX)
		return "it has too many parts";
	if (count > left / ENTRY_BYTES)
		return "it is cut off";
	left -= count * ENTRY_BYTES;
	for (size_t i = 0; i < count; i++, at += ENTRY_BYTES) {
		struct kf_pack_part *part = &pack->part[i];

		if (!is_name(at))
			return "the name of a part is malformed";
		if (kf_pack_find(pack, at))
			return "two of its parts have one name";
		memcpy(part->name, at, sizeof(part->name));
		part->len = get(at + sizeof(part->name), 8);
		if (part->len > left)
			return "it is cut off";
		left -= part->len;
		pack->count++;
	}
	for (size_t i = 0; i < count; i++) {
		pack->part[i].data = at;
		at += pack->part[i].len;
	}
	return left ? "something follows its end" : NULL;
}

enum kf_code kf_pack_read(const char *path, size_t max, struct kf_pack *out,
			  struct kf_err *err)
{
	enum kf_code code;
	const char *why;

	*out = (struct kf_pack) { .bytes.max = max };
	code = kf_file_read(path, &out->bytes, err);
	why = code ? NULL : parse(out);
	if (why)
		code = kf_fail(err, KF_E_INPUT, "%s is not a pack that can be "
			       "read: %s", path, why);
	if (code)
		kf_pack_release(out);
	return code;
}

void kf_pack_release(struct kf_pack *pack)
{
	kf_buf_release(&pack->bytes);
	*pack = (struct kf_pack) { 0 };
}
