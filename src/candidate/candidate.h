/*
 * candidate.h - from a model's reply to the files of a program. Pure but for
 * kf_candidate_read and kf_candidate_write.
 *
 * A reply is CommonMark. Each file is one fenced block; its info string holds
 * a language, a file name, or both ("c program.c"). Reasoning (a leading
 * think block, or a lone closing tag) is set aside. Half a file is never
 * compiled in silence: a block without its end, or a reply that was cut off,
 * is a generation failure with its own reason. docs/replies.md has the rules.
 *
 * Texts of files are valid UTF-8 without NUL and CR, whatever came in.
 */
#ifndef KF_CANDIDATE_H
#define KF_CANDIDATE_H

#include "base/base.h"

struct kf_platform;

enum kf_extract_end {
	KF_EXTRACT_GOOD,
	KF_EXTRACT_EMPTY,	/* nothing but white space, or only reasoning */
	KF_EXTRACT_NO_CODE,
	KF_EXTRACT_AMBIGUOUS,	/* several blocks could be the same file */
	KF_EXTRACT_CUT_OFF,	/* the reply or a block has no end */
	KF_EXTRACT_REFUSED,	/* the model declined */
	KF_EXTRACT_NO_ENTRY,	/* no block defines kf_forward */
	KF_EXTRACT_TOO_LARGE,
	KF_EXTRACT_FORBIDDEN,	/* screen: includes a path, inline assembly
				   directives that read files, ... */
	KF_EXTRACT_UNCHANGED,	/* the same program as before */
};
/* "no_code", "cut_off", ...: the verdict's reason. */
const char *kf_extract_name(enum kf_extract_end end);

#define KF_SOURCE_BYTES (1u << 20)	/* ceiling of one file */
#define KF_REPLY_BYTES_MAX (8u << 20)	/* ceiling of a reply */

struct kf_source_file { char *name; char *text; size_t len; };	/* owned */

struct kf_candidate {
	enum kf_extract_end end;
	struct kf_source_file *file;	/* owned; in the platform's order; also
					   kept, to be shown, for NO_ENTRY,
					   FORBIDDEN and UNCHANGED */
	size_t file_count;
	char text[512];			/* why not, in words for the model; ""
					   when GOOD, and only then */
	char note[256];			/* what was assumed ("took the last of two
					   blocks"); "" */
	char hash[KF_HASH_HEX];		/* of names and texts; "" without files */
};

/* How the reply ended, as the provider says. */
enum kf_finish { KF_FINISH_STOP, KF_FINISH_LENGTH, KF_FINISH_REFUSED,
		 KF_FINISH_UNKNOWN };

struct kf_extract_request {
	const char *reply;
	size_t reply_len;
	enum kf_finish finish;
	const struct kf_platform *platform;	/* its file[] */
	const char *previous_hash;		/* NULL, or of the last candidate */
};

void kf_candidate_extract(const struct kf_extract_request *req,
			  struct kf_candidate *out);
/* From files on disk (verify, --start): the same screen. path is one of
 *	FILE...		by base name, else by extension
 *	DIR		a folder that holds the platform's files
 *	REPLY.md	a whole reply, as kf_candidate_extract reads it
 *	-		standard input: a reply or a source, by its content
 * KF_E_INPUT for a file that the platform has no place for, a required one
 * that is missing, and mixtures of these forms. */
KF_MUST_CHECK enum kf_code kf_candidate_read(const char *const *path,
		size_t count, const struct kf_platform *platform,
		struct kf_candidate *out, struct kf_err *err);
/* The form of the platform's (struct kf_platform) that files, or a folder of
 * them, have; *form is NULL where they do not tell: then it is the default one,
 * or reading them says what is wrong. Caller frees. A Python file is a program
 * only if it defines ModelNew. */
KF_MUST_CHECK enum kf_code kf_candidate_form(const char *platform_name,
		const char *const *path, size_t count, char **form,
		struct kf_err *err);
/* The platform that one of the files is plainly for, where that is another than
 * the one named: by what its text cannot do without, else by its name. NULL:
 * none is. A guess, for a hint. Caller frees. */
char *kf_candidate_elsewhere(const char *platform_name,
			     const char *const *path, size_t count);
/* The same of a text alone: a file that bears a name of the platform's own, or
 * a reply in which no file was found. */
char *kf_candidate_text_elsewhere(const char *platform_name, const char *text);
/* Writes its files into dir (made if absent). */
KF_MUST_CHECK enum kf_code kf_candidate_write(
		const struct kf_candidate *candidate, const char *dir,
		struct kf_err *err);
/* Sets hash from the files: for a candidate put together from a store. */
void kf_candidate_rehash(struct kf_candidate *candidate);
void kf_candidate_release(struct kf_candidate *candidate);

#endif
