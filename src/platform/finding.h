/*
 * finding.h - what drivers share to read the words of sanitizers (struct
 * kf_sanitizer): lines, and what stands between two marks.
 */
#ifndef KF_PLATFORM_FINDING_H
#define KF_PLATFORM_FINDING_H

#include <kforge/driver.h>

/* Copies what follows mark (and spaces) in text, up to the first character of
 * end or the end of the line; false, and out is "", if there is no mark. */
bool kf_finding_after(const char *text, const char *mark, const char *end,
		      char *out, size_t size);
/* The number that follows mark, 0 if there is none. */
unsigned kf_finding_number(const char *text, const char *mark);
/* The first line that begins with prefix and then one of the words, NULL if
 * there is none; behind the prefix. words ends with NULL. */
const char *kf_finding_line(const char *log, const char *prefix,
			    const char *const *words);

#endif
