/*
 * libraries.h - which vendors' libraries did the work of a program that has
 * host code of its own: read from one call at the end of its first process in
 * which kernels, PyTorch's operators and loaded files were written down, not
 * from the program's text. What is known of them is one table of names each.
 */
#ifndef KF_EVALUATE_LIBRARIES_H
#define KF_EVALUATE_LIBRARIES_H

#include "evaluate/process.h"

/* What a verdict has of them (new reference), from the lines of a traced call
 * (kf_host_reply.ran):
 *	"rule"	 "allow", "refuse"
 *	"used"	 a list: "name" of a library, "seen" is what showed it
 *	"unseen" why nobody can tell, or null
 * on_device: operators of PyTorch computed on a device, not the processor. */
json_t *kf_libraries_of(const char *ran, bool on_device,
			enum kf_libraries rule);

/* The traced call and what comes of it: the verdict's libraries, and a failure
 * of the judgement if they are refused. Nothing where a program has no host
 * code of its own. */
KF_MUST_CHECK enum kf_code kf_libraries_look(struct kf_judgement *judgement,
		struct kf_process *process, struct kf_err *err);

/* In words for people: "cuBLAS (kernel nvjet_x)", "none". Nothing for NULL. */
void kf_libraries_words(const json_t *libraries, struct kf_buf *out);

#endif
