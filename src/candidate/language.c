#include "candidate/language.h"

#include <strings.h>

static const char *const c_alias[] = { "c", "h", "c89", "c99", "c11", "c17",
				       "c18", "c23", "ansi-c", "gnu11", NULL };
static const char *const c_related[] = { "cpp", "c++", "cc", "cxx", "hpp",
					 "objective-c", NULL };

static const char *const opencl_alias[] = { "opencl", "cl", "clc", "opencl-c",
					    "opencl_c", NULL };
static const char *const opencl_related[] = { "c", "cpp", "c++", NULL };
static const char *const cuda_alias[] = { "cuda", "cu", "cuda-c", "cuda-cpp",
					  "cuda-c++", NULL };
static const char *const cuda_related[] = { "cpp", "c++", "cc", "cxx", "hpp",
					    NULL };

/* Both are C enough for its brackets, comments and directives. */
static void kernel_facts(const char *text, size_t len, const char *entry,
			 struct kf_facts *out)
{
	(void)entry;
	kf_c_facts(text, len, "", out);
}

static const struct kf_language languages[] = {
	{
		.name = "c",
		.title = "C",
		.alias = c_alias,
		.related = c_related,
		.facts = kf_c_facts,
		.screen = kf_c_screen,
	},
	{
		.name = "opencl",
		.title = "OpenCL C",
		.alias = opencl_alias,
		.related = opencl_related,
		.facts = kernel_facts,
		.screen = kf_c_screen,
	},
	{
		.name = "cuda",
		.title = "CUDA C++",
		.alias = cuda_alias,
		.related = cuda_related,
		.facts = kernel_facts,
		.screen = kf_c_screen,
	},
};

static const char *const neutral[] = { "", "text", "txt", "plain", "plaintext",
				       "code", "source", "none", NULL };
static const char *const markdown[] = { "markdown", "md", NULL };
static const char *const diff[] = { "diff", "patch", "udiff", NULL };

static bool listed(const char *const *list, const char *tag)
{
	for (; *list; list++)
		if (strcasecmp(*list, tag) == 0)
			return true;
	return false;
}

const struct kf_language *kf_language_by_name(const char *name)
{
	for (size_t i = 0; i < KF_COUNT(languages); i++)
		if (strcasecmp(languages[i].name, name) == 0)
			return &languages[i];
	return NULL;
}

bool kf_language_has_tag(const char *name, const char *tag)
{
	const struct kf_language *language = kf_language_by_name(name);

	return strcasecmp(name, tag) == 0 ||
	       (language && listed(language->alias, tag));
}

bool kf_language_related(const char *name, const char *tag)
{
	const struct kf_language *language = kf_language_by_name(name);

	return language && listed(language->related, tag);
}

bool kf_tag_is_neutral(const char *tag)
{
	return listed(neutral, tag);
}

bool kf_tag_is_markdown(const char *tag)
{
	return listed(markdown, tag);
}

bool kf_tag_is_diff(const char *tag)
{
	return listed(diff, tag);
}
