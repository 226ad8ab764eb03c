/*
 * program.h - a shared object that defines kf_forward, loaded into this
 * process: what the host driver calls, and the recorder of two-part programs.
 */
#ifndef KF_PLATFORM_PROGRAM_H
#define KF_PLATFORM_PROGRAM_H

#include <kforge/base.h>
#include <kforge/program.h>

typedef int kf_program_fn(struct kf_call *c);

struct kf_program {
	void *object;			/* from dlopen; NULL: not loaded */
	kf_program_fn *prepare, *forward;	/* NULL: it has none */
};

/* refused gets a sentence if it is unusable, else "". path has a slash: a name
 * without would be searched for. */
void kf_program_load(const char *path, struct kf_program *out,
		     char refused[256]);
void kf_program_unload(struct kf_program *program);

#endif
