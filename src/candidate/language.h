/*
 * language.h - what extraction knows of a programming language, by the name
 * that a platform gives its files. Languages of kernels have no entry: that is
 * host.c's. A language that is not in the table has no checks: its blocks are
 * found by file name or by a tag that is its name.
 */
#ifndef KF_LANGUAGE_H
#define KF_LANGUAGE_H

#include "base/base.h"
#include "candidate/c_facts.h"

#define KF_ENTRY_NAME "kf_forward"

struct kf_language {
	const char *name;
	const char *title;			/* for sentences */
	const char *const *alias;		/* tags; NULL-terminated */
	const char *const *related;		/* tags of languages that people
						   confuse with it */
	void (*facts)(const char *text, size_t len, const char *entry,
		      struct kf_facts *out);
	/* Writes a sentence about the first thing that is forbidden and
	 * returns false, or returns true. */
	bool (*screen)(const char *name, const char *text, size_t len,
		       char *why, size_t why_size);
};

/* NULL if the table does not have it. */
const struct kf_language *kf_language_by_name(const char *name);
bool kf_language_has_tag(const char *name, const char *tag);
bool kf_language_related(const char *name, const char *tag);
/* "", "text", "code": says nothing about the language. */
bool kf_tag_is_neutral(const char *tag);
/* A block with this tag may hold a reply of its own. */
bool kf_tag_is_markdown(const char *tag);
bool kf_tag_is_diff(const char *tag);

/* The screen of C (screen.c); see struct kf_language. */
bool kf_c_screen(const char *name, const char *text, size_t len, char *why,
		 size_t why_size);
/* The same of host.c in a two-part program: besides, it may include nothing but
 * the headers of standard C and of the launch API. */
bool kf_host_screen(const char *name, const char *text, size_t len, char *why,
		    size_t why_size);

#endif
