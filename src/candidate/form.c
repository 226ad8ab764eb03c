/* Which form a program has, by its files, and which platform it may be for. */
#include "candidate/candidate.h"

#include <strings.h>

#include "candidate/c_lex.h"
#include "candidate/choose.h"
#include "platform/platform.h"

#define MODULE_CLASS "class ModelNew"

static bool is_plain(const char *path)
{
	return strcmp(path, "-") != 0 && !kf_path_is_dir(path);
}

/* Any Python file could be a problem; a program says so. */
static bool could_be_program(const char *path)
{
	struct kf_buf text = { .max = KF_SOURCE_BYTES };
	const char *dot = strrchr(path, '.');
	bool could = true;

	if (dot && strcasecmp(dot, ".py") == 0)
		could = kf_file_read(path, &text, NULL) == KF_OK &&
			strstr(kf_buf_str(&text), MODULE_CLASS);
	kf_buf_release(&text);
	return could;
}

static bool has_all(const struct kf_platform *platform, const char *dir)
{
	bool all = true;

	for (size_t i = 0; i < platform->file_count; i++) {
		char *path = kf_path_join(dir, platform->file[i].name);

		if (platform->file[i].required && !kf_path_exists(path))
			all = false;
		free(path);
	}
	return all;
}

static size_t required_count(const struct kf_platform *platform)
{
	size_t count = 0;

	for (size_t i = 0; i < platform->file_count; i++)
		count += platform->file[i].required;
	return count;
}

/* Has the platform a place for each of the files? Other names than its own say
 * little: then all that it must have is to be there. */
static bool fits(const struct kf_platform *platform, const char *const *path,
		 size_t count, bool by_name)
{
	if (count == 1 && kf_path_is_dir(path[0]))
		return has_all(platform, path[0]);
	if (!by_name && count < required_count(platform))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!is_plain(path[i]) || !could_be_program(path[i]) ||
		    kf_platform_place(platform, path[i], by_name) ==
		    platform->file_count)
			return false;
	return true;
}

/* Fills in the first form of the platform that the files fit, by their names or
 * else by what their names end in. */
static bool find(const struct kf_platform *first, const char *const *path,
		 size_t count, bool by_name, char **form)
{
	for (size_t i = 0; i < first->form_count; i++) {
		struct kf_platform *platform = NULL;
		bool good = kf_platform_load_form(first->name,
						  first->form_name[i],
						  &platform, NULL) == KF_OK &&
			fits(platform, path, count, by_name);

		kf_platform_free(platform);
		if (!good)
			continue;
		*form = kf_strdup(first->form_name[i]);
		return true;
	}
	return false;
}

enum kf_code kf_candidate_form(const char *platform_name,
			       const char *const *path, size_t count,
			       char **form, struct kf_err *err)
{
	struct kf_platform *first = NULL;
	enum kf_code code = kf_platform_load(platform_name, &first, err);

	*form = NULL;
	if (!code && first->form_count > 1 &&
	    !find(first, path, count, true, form))
		(void)find(first, path, count, false, form);
	kf_platform_free(first);
	return code;
}

/* --- and which platform --------------------------------------------------- */

static bool has_place(const struct kf_platform *platform, const char *path)
{
	if (kf_path_is_dir(path))
		return has_all(platform, path);
	return is_plain(path) && kf_path_exists(path) &&
	       kf_platform_place(platform, path, false) <
	       platform->file_count;
}

/* What a program cannot do without: a kind of device, as PyTorch calls it, or a
 * language of kernels. Both NULL: it does not say. */
struct need { const char *device, *language; };

/* Of a Python file's text. */
static const char *device_of(const char *text)
{
	static const struct { const char *word, *device; } rows[] = {
		{ "cuda.is_available", NULL },	/* it asks: it can do without */
		{ "import triton", "cuda" }, { "from triton", "cuda" },
		{ "cuda_sources", "cuda" }, { ".cuda()", "cuda" },
		{ "device=\"cuda", "cuda" }, { "device='cuda", "cuda" },
		{ "device(\"cuda", "cuda" }, { "device('cuda", "cuda" },
		{ ".to(\"cuda", "cuda" }, { ".to('cuda", "cuda" },
	};

	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (strstr(text, rows[i].word))
			return rows[i].device;
	return NULL;
}

/* What a token of C, or what is like it, cannot do without. */
static const char *token_language(struct kf_lex *lex, struct kf_tok tok)
{
	static const struct {
		bool header;
		const char *begins, *language;
	} rows[] = {
		{ false, "__global__", "cuda" }, { false, "__kernel", "opencl" },
		{ true, "<cuda_runtime", "cuda" }, { true, "<CL/", "opencl" },
	};
	bool header = tok.kind == KF_TOK_HASH;

	if (header) {
		tok = kf_lex_next(lex);
		if (!kf_tok_is(&tok, "include"))
			return NULL;
		tok = kf_lex_rest(lex);
	}
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (rows[i].header == header &&
		    (header ? strncmp(tok.at, rows[i].begins,
				      strlen(rows[i].begins)) == 0 :
		     kf_tok_is(&tok, rows[i].begins)))
			return rows[i].language;
	return NULL;
}

/* What a comment quotes does not count. */
static const char *language_of(const char *text)
{
	const char *found = NULL;
	struct kf_lex lex;
	struct kf_tok tok;

	kf_lex_init(&lex, text, strlen(text));
	do {
		tok = kf_lex_next(&lex);
		found = token_language(&lex, tok);
	} while (!found && tok.kind != KF_TOK_END);
	kf_lex_release(&lex);
	return found;
}

static struct need need_of(const char *text)
{
	bool module = strstr(text, MODULE_CLASS) != NULL;

	return (struct need) {
		.device = module ? device_of(text) : NULL,
		.language = module ? NULL : language_of(text),
	};
}

static bool gives(const struct kf_platform *platform, const struct need *need)
{
	const char *device = platform->driver->torch_device;
	bool given = need->device && device &&
		strcmp(device, need->device) == 0;

	for (size_t i = 0; need->language && i < platform->file_count; i++)
		if (strcmp(platform->file[i].language, need->language) == 0)
			given = true;
	return given;
}

/* By what it needs, or else by its name, which may be NULL: is it for one of
 * the platform's forms? */
static bool is_for(const char *platform_name, const struct need *need,
		   const char *path)
{
	bool tells = need->device || need->language, is = false;
	struct kf_platform *first = NULL;

	if (kf_platform_load(platform_name, &first, NULL))
		return false;
	for (size_t i = 0; !is && i < first->form_count; i++) {
		struct kf_platform *form = NULL;

		is = kf_platform_load_form(platform_name, first->form_name[i],
					   &form, NULL) == KF_OK &&
			(tells ? gives(form, need) :
			 path && has_place(form, path));
		kf_platform_free(form);
	}
	kf_platform_free(first);
	return is;
}

static char *elsewhere(const char *platform_name, const struct need *need,
		       const char *path)
{
	size_t count = 0;
	char **name = NULL, *found = NULL;

	if (is_for(platform_name, need, path) ||
	    kf_platform_list(&name, &count, NULL))
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (!found && is_for(name[i], need, path))
			found = kf_strdup(name[i]);
		free(name[i]);
	}
	free(name);
	return found;
}

char *kf_candidate_text_elsewhere(const char *platform_name, const char *text)
{
	const struct need need = need_of(text);

	return elsewhere(platform_name, &need, NULL);
}

char *kf_candidate_elsewhere(const char *platform_name,
			     const char *const *path, size_t count)
{
	char *found = NULL;

	for (size_t i = 0; i < count && !found; i++) {
		struct kf_buf text = { .max = KF_SOURCE_BYTES };
		struct need need = { NULL, NULL };

		if (is_plain(path[i]) && could_be_program(path[i]) &&
		    kf_file_read(path[i], &text, NULL) == KF_OK)
			need = need_of(kf_buf_str(&text));
		found = elsewhere(platform_name, &need, path[i]);
		kf_buf_release(&text);
	}
	return found;
}
