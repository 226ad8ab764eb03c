/*
 * choose.h - which block is which file. docs/replies.md has the rules.
 */
#ifndef KF_CHOOSE_H
#define KF_CHOOSE_H

#include "candidate/candidate.h"
#include "candidate/language.h"
#include "candidate/reply.h"

struct kf_platform;

/* Fills out->file, note and, unless GOOD, end and text. out->end is GOOD
 * when every required file was found whole; screens come later. Blocks that
 * turn out to be whole without their closing fence are marked closed. */
void kf_choose(struct kf_blocks *blocks, const struct kf_platform *platform,
	       enum kf_finish finish, struct kf_candidate *out);

/* Of a text that is to be file i. A language without checks counts as a whole
 * file whose entry nobody can see. */
void kf_file_facts(const struct kf_platform *platform, size_t i,
		   const char *text, size_t len, struct kf_facts *out);

/* Sets end and text; the first caller wins. */
void kf_candidate_refuse(struct kf_candidate *candidate,
			 enum kf_extract_end end, const char *fmt, ...)
	KF_PRINTF(3, 4);
void kf_candidate_note(struct kf_candidate *candidate, const char *fmt, ...)
	KF_PRINTF(2, 3);
void kf_candidate_add(struct kf_candidate *candidate, const char *name,
		      const char *text, size_t len);
/* The platform's file that this path is, by its name, or (unless by_name) by
 * what its name ends in; file_count if none, or if that fits several. */
size_t kf_platform_place(const struct kf_platform *platform, const char *path,
			 bool by_name);
/* "program.c" or "kernels.cu and host.c": the platform's files in words. */
void kf_platform_files_text(const struct kf_platform *platform,
			    char *out, size_t size);
/* The last word on a candidate whose files are known: sizes, entry, screen,
 * hash, unchanged. previous_hash may be NULL. */
void kf_candidate_screen(struct kf_candidate *candidate,
			 const struct kf_platform *platform,
			 const char *previous_hash);

#endif
