/*
 * Replies of any bytes: never a crash, and either a program that names
 * kf_forward or words for the model. The first byte chooses how the reply
 * ended and whether the platform has one file or two.
 */
#include <assert.h>
#include <stdint.h>

#include "candidate/candidate.h"
#include "platform/platform.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct kf_platform_file files[] = {
	{ .name = (char[]) { "program.c" }, .language = (char[]) { "c" },
	  .required = true },
	{ .name = (char[]) { "kernels.xx" }, .language = (char[]) { "xx" },
	  .required = true },
};

static void check(const struct kf_candidate *got, size_t file_count)
{
	bool entry = false;

	assert(strlen(got->text) < sizeof(got->text));
	assert(strlen(got->note) < sizeof(got->note));
	if (got->end != KF_EXTRACT_GOOD) {
		assert(got->text[0]);
		return;
	}
	assert(!got->text[0] && got->hash[0]);
	assert(got->file_count == file_count);
	for (size_t i = 0; i < got->file_count; i++) {
		assert(strlen(got->file[i].text) == got->file[i].len);
		entry |= strstr(got->file[i].text, "kf_") != NULL;
	}
	assert(entry || file_count > 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kf_platform platform = {
		.name = (char[]) { "cpu" }, .file = files, .file_count = 1,
	};
	struct kf_extract_request req = { .platform = &platform };
	struct kf_candidate got;

	if (!size)
		return 0;
	req.finish = (enum kf_finish)(data[0] % 4);
	platform.file_count = 1 + (data[0] / 4 % 2);
	req.reply = (const char *)data + 1;
	req.reply_len = size - 1;
	kf_candidate_extract(&req, &got);
	check(&got, platform.file_count);
	kf_candidate_release(&got);
	return 0;
}
