#include "problem/bundle_sum.h"

#include "problem/bundle_condensed.h"

#define NAME "sum"
#define HEX 17		/* 16 digits and the NUL */

static uint64_t mix(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return sum ^ sum >> 29;
}

static uint64_t sum_of(const struct kf_safetensors *file, uint64_t sum)
{
	const unsigned char *bytes = file->map;
	size_t at = 0;
	uint64_t word;

	for (; at + sizeof(word) <= file->map_bytes; at += sizeof(word)) {
		memcpy(&word, bytes + at, sizeof(word));
		sum = mix(sum, word);
	}
	for (; at < file->map_bytes; at++)
		sum = mix(sum, bytes[at]);
	return sum;
}

static void sum_text(const struct kf_bundle *bundle, char text[HEX])
{
	const struct kf_bundle_maps *maps = bundle->maps;
	uint64_t sum = maps->count;

	for (size_t i = 0; i < maps->count; i++)
		sum = sum_of(&maps->file[i], sum);
	snprintf(text, HEX, "%016llx", (unsigned long long)sum);
}

enum kf_code kf_bundle_sum_write(const struct kf_bundle *bundle,
				 struct kf_err *err)
{
	char text[HEX];

	sum_text(bundle, text);
	return kf_file_write_in(bundle->folder, NAME, text, strlen(text), err);
}

enum kf_code kf_bundle_check(const struct kf_bundle *bundle,
			     struct kf_err *err)
{
	struct kf_buf kept = { .max = HEX };
	char *path;
	char now[HEX];
	bool whole;

	if (!bundle->maps)
		return KF_OK;
	path = kf_path_join(bundle->folder, NAME);
	sum_text(bundle, now);
	/* One of before has none. */
	whole = kf_file_read(path, &kept, NULL) != KF_OK ||
		strcmp(kf_buf_str(&kept), now) == 0;
	kf_buf_release(&kept);
	free(path);
	if (whole)
		return KF_OK;
	(void)!kf_remove_tree(bundle->folder, NULL);
	return kf_fail(err, KF_E_IO, "the bundle %s was altered since it was "
		       "made, so nothing was judged by it; it is removed, and "
		       "made anew the next time", bundle->folder);
}
