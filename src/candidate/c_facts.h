/*
 * c_facts.h - what can be said of a text of C without compiling it: whether
 * it is whole, and whether it defines the entry.
 */
#ifndef KF_C_FACTS_H
#define KF_C_FACTS_H

#include "base/base.h"

enum kf_entry {			/* the later, the closer to a definition */
	KF_ENTRY_ABSENT,
	KF_ENTRY_MENTIONED,	/* called or named, nothing more */
	KF_ENTRY_DECLARED,
	KF_ENTRY_STATIC,	/* defined, but invisible outside */
	KF_ENTRY_DEFINED,	/* at file scope; or by a macro, which only the
				   compiler can tell */
};

struct kf_facts {
	enum kf_entry entry;
	bool open_comment;	/* the text ends inside a comment */
	bool whole;		/* brackets, comments and #ifs are all closed */
	bool starts;		/* the first token can begin a file of C */
	bool ends;		/* the last token can end one */
	bool cplusplus;		/* uses what only C++ has */
};

void kf_c_facts(const char *text, size_t len, const char *entry,
		struct kf_facts *out);

#endif
