/*
 * Candidates from and to files on disk.
 */
#include "candidate/candidate.h"

#include <errno.h>
#include <strings.h>
#include <unistd.h>

#include "candidate/choose.h"
#include "platform/platform.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *extension(const char *path)
{
	const char *dot = strrchr(base_name(path), '.');

	return dot ? dot : "";
}

static bool is_reply_name(const char *path)
{
	return strcasecmp(extension(path), ".md") == 0 ||
	       strcasecmp(extension(path), ".markdown") == 0;
}

static bool is_python_name(const char *path)
{
	return strcasecmp(extension(path), ".py") == 0;
}

size_t kf_platform_place(const struct kf_platform *platform, const char *path,
			 bool by_name)
{
	size_t fitting = 0, place = platform->file_count;

	for (size_t i = 0; i < platform->file_count; i++)
		if (strcmp(platform->file[i].name, base_name(path)) == 0)
			return i;
	for (size_t i = 0; i < platform->file_count && !by_name; i++) {
		if (!extension(path)[0] ||
		    strcasecmp(extension(platform->file[i].name),
			       extension(path)) != 0)
			continue;
		fitting++;
		place = i;
	}
	return fitting == 1 ? place : platform->file_count;
}

static enum kf_code read_stdin(struct kf_buf *out, struct kf_err *err)
{
	char chunk[8192];
	ssize_t got;

	for (;;) {
		got = read(STDIN_FILENO, chunk, sizeof(chunk));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		if (!kf_buf_add(out, chunk, (size_t)got))
			return kf_fail(err, KF_E_LIMIT, "standard input is "
				       "larger than %zu bytes", out->max);
	}
	if (got < 0)
		return kf_fail_errno(err, "cannot read standard input");
	return KF_OK;
}

static void extract(const struct kf_buf *reply,
		    const struct kf_platform *platform,
		    struct kf_candidate *out)
{
	struct kf_extract_request req = {
		.reply = kf_buf_str(reply),
		.reply_len = reply->len,
		.finish = KF_FINISH_UNKNOWN,
		.platform = platform,
	};

	kf_candidate_extract(&req, out);
}

static enum kf_code read_reply(const char *path,
			       const struct kf_platform *platform,
			       struct kf_candidate *out, struct kf_err *err)
{
	struct kf_buf reply = { .max = KF_REPLY_BYTES_MAX };
	enum kf_code code = path ? kf_file_read(path, &reply, err)
				 : read_stdin(&reply, err);

	if (!code)
		extract(&reply, platform, out);
	kf_buf_release(&reply);
	return code;
}

/* One text per place, "" where none was given yet. */
struct texts { struct kf_buf *text; bool *given; };

static enum kf_code read_source(const char *path, size_t place,
				struct texts *texts, struct kf_err *err)
{
	/* So much that what is left without carriage returns is still over
	 * the ceiling, which is then refused with the other verdicts. */
	struct kf_buf raw = { .max = 2 * (KF_SOURCE_BYTES + 1) };
	enum kf_code code = kf_file_read(path, &raw, err);

	if (code == KF_E_LIMIT)
		code = KF_OK;
	texts->text[place].max = 3 * (size_t)raw.max;
	texts->given[place] = true;
	if (!code)
		kf_reply_clean(kf_buf_str(&raw), raw.len,
			       &texts->text[place]);
	kf_buf_release(&raw);
	return code;
}

static enum kf_code read_folder(const char *dir,
				const struct kf_platform *platform,
				struct texts *texts, struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (size_t i = 0; i < platform->file_count && !code; i++) {
		char *path = kf_path_join(dir, platform->file[i].name);

		if (kf_path_exists(path))
			code = read_source(path, i, texts, err);
		free(path);
	}
	return code;
}

static enum kf_code read_sources(const char *const *path, size_t count,
				 const struct kf_platform *platform,
				 struct texts *texts, struct kf_err *err)
{
	char files[128];
	enum kf_code code;

	kf_platform_files_text(platform, files, sizeof(files));
	for (size_t i = 0; i < count; i++) {
		size_t place = kf_platform_place(platform, path[i], false);

		if (strcmp(path[i], "-") == 0 || kf_path_is_dir(path[i]) ||
		    is_reply_name(path[i]))
			return kf_fail(err, KF_E_INPUT, "%s cannot stand "
				       "beside other files; give it alone",
				       path[i]);
		if (place == platform->file_count)
			return kf_fail(err, KF_E_INPUT, "%s is none of the "
				       "files of platform %s, which are %s%s",
				       path[i], platform->name, files,
				       is_python_name(path[i]) ? "; the "
				       "problem comes first, then the program"
				       : "");
		if (texts->given[place])
			return kf_fail(err, KF_E_INPUT, "%s is a second %s",
				       path[i], platform->file[place].name);
		code = read_source(path[i], place, texts, err);
		if (code)
			return code;
	}
	return KF_OK;
}

static bool is_blank(const struct kf_buf *text)
{
	const char *at = kf_buf_str(text);

	return at[strspn(at, " \t\n")] == '\0';
}

/* From the texts to a candidate, or to a sentence about what is missing. */
static enum kf_code collect(const struct kf_platform *platform,
			    const struct texts *texts, const char *where,
			    struct kf_candidate *out, struct kf_err *err)
{
	for (size_t i = 0; i < platform->file_count; i++) {
		const struct kf_platform_file *file = &platform->file[i];

		if (texts->given[i] && is_blank(&texts->text[i]))
			kf_candidate_refuse(out, KF_EXTRACT_EMPTY,
					    "%s is empty", file->name);
		if (texts->given[i])
			kf_candidate_add(out, file->name,
					 kf_buf_str(&texts->text[i]),
					 texts->text[i].len);
		else if (file->required)
			return kf_fail(err, KF_E_INPUT, "there is no %s in %s",
				       file->name, where);
	}
	kf_candidate_screen(out, platform, NULL);
	return KF_OK;
}

static enum kf_code read_files(const char *const *path, size_t count,
			       const struct kf_platform *platform,
			       struct kf_candidate *out, struct kf_err *err)
{
	bool folder = count == 1 && kf_path_is_dir(path[0]);
	struct texts texts = {
		.text = kf_alloc(platform->file_count *
				 sizeof(texts.text[0])),
		.given = kf_alloc(platform->file_count),
	};
	enum kf_code code;

	if (folder)
		code = read_folder(path[0], platform, &texts, err);
	else
		code = read_sources(path, count, platform, &texts, err);
	if (!code)
		code = collect(platform, &texts,
			       folder ? path[0] : "the files given", out, err);
	for (size_t i = 0; i < platform->file_count; i++)
		kf_buf_release(&texts.text[i]);
	free(texts.text);
	free(texts.given);
	return code;
}

enum kf_code kf_candidate_read(const char *const *path, size_t count,
			       const struct kf_platform *platform,
			       struct kf_candidate *out, struct kf_err *err)
{
	enum kf_code code;

	*out = (struct kf_candidate) { 0 };
	if (!count)
		return kf_fail(err, KF_E_INPUT, "no file was given");
	for (size_t i = 0; i < count; i++)
		if (strcmp(path[i], "-") != 0 && !kf_path_exists(path[i]))
			return kf_fail(err, KF_E_INPUT, "there is no file %s",
				       path[i]);
	if (count == 1 && strcmp(path[0], "-") == 0)
		code = read_reply(NULL, platform, out, err);
	else if (count == 1 && is_reply_name(path[0]) &&
		 !kf_path_is_dir(path[0]))
		code = read_reply(path[0], platform, out, err);
	else
		code = read_files(path, count, platform, out, err);
	if (code)
		kf_candidate_release(out);
	return code;
}

enum kf_code kf_candidate_write(const struct kf_candidate *candidate,
				const char *dir, struct kf_err *err)
{
	enum kf_code code = kf_mkdir_p(dir, err);

	for (size_t i = 0; i < candidate->file_count && !code; i++) {
		const struct kf_source_file *file = &candidate->file[i];
		char *path = kf_path_join(dir, file->name);

		code = kf_file_write(path, file->text, file->len, err);
		free(path);
	}
	return code;
}
