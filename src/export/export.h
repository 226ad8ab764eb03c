/*
 * export.h - a verified program becomes a folder that lives without kforge:
 * a C library with one typed function, a PyTorch module, or sources for nvcc.
 *
 *	describe.c	bundle and program -> the JSON that templates see
 *	names.c		names that fit C, C++ and Python
 *	tensors.c	weights and an example call -> safetensors
 *	object.c	what the compiled program says about itself
 *	parts.c		of two parts: the kernels' code, what host.c launches
 *	sanitize.c	the example under the platform's sanitizers
 *	build.c		make, and the example, in the builder's sandbox
 *	place.c		the folder: beside its place, then there at once
 *	export.c	the stages in their order
 *
 * Templates and the runtime that is carried along lie in export/ of the data
 * folder. Nothing of the program runs in this process.
 */
#ifndef KF_EXPORT_H
#define KF_EXPORT_H

#include "candidate/candidate.h"
#include "evaluate/device.h"
#include "platform/platform.h"
#include "problem/problem.h"

enum kf_export_form {
	KF_EXPORT_NONE, KF_EXPORT_C, KF_EXPORT_TORCH, KF_EXPORT_CUDA
};
const char *kf_export_form_name(enum kf_export_form form);	/* "torch" */

struct kf_export_request {
	enum kf_export_form form;
	const struct kf_platform *platform;
	const struct kf_device_info *device;	/* on which it was judged */
	const struct kf_problem *problem;
	const struct kf_bundle *bundle;
	const struct kf_candidate *candidate;
	const char *dir;	/* to be made: kf_export_check_dir */
	const char *verdict;	/* a sentence: who judged it, when; goes into
				   the generated files */
	bool verified;		/* false: the files say so */
	bool untried;		/* its example is not run */
	bool portable;		/* without the flags that bind it to this
				   machine's processor */
	enum kf_sandbox_tier tier_min;
	/* How the device is shared while its example runs there; NULL: it is
	 * not. */
	const struct kf_device_wait *wait;
	const volatile int *cancel;
};

struct kf_export {
	char *library;		/* owned; path of what to use: the shared
				   library, or the folder where there is none */
	char *example;		/* owned; what the example printed, "" if the
				   inputs were too large to carry along */
	char **allocates;	/* owned; functions that the program calls for
				   memory of its own */
	size_t allocate_count;
	uint64_t static_bytes;	/* of variables that calls share */
};
void kf_export_release(struct kf_export *out);

/* Whether dir can become an export: nothing is there, or an empty folder that
 * the export may take the place of, and a folder can be made beside it. To be
 * asked before any work. Nothing stays of the trial. */
KF_MUST_CHECK enum kf_code kf_export_check_dir(const char *dir,
					       struct kf_err *err);
/* Whether that can be exported at all, and here: of a request's form, platform
 * and problem (NULL: not known yet). To be asked before anything is judged. */
KF_MUST_CHECK enum kf_code kf_export_check(
		const struct kf_export_request *req, struct kf_err *err);
/* Makes the whole folder or nothing. A form that the platform does not have is
 * KF_E_INPUT; a folder that holds something already is KF_E_INPUT;
 * a program that does not compile here, or whose example disagrees with the
 * reference, is KF_E_UNAVAIL with the compiler's or the example's words. */
KF_MUST_CHECK enum kf_code kf_export(const struct kf_export_request *req,
				     struct kf_export *out,
				     struct kf_err *err);

/* --- sanitize.c: programs of two parts under the platform's sanitizers ---- */

/* KF_E_INPUT where the platform has none, KF_E_UNAVAIL where it is not here. */
KF_MUST_CHECK enum kf_code kf_sanitize_check(const struct kf_platform *platform,
					     struct kf_err *err);
/* Makes req, a C library with its example, in its folder (which is removed
 * again) and runs that under each sanitizer until one finds something: *tool is
 * its name then, else NULL. Two calls on the problem's own inputs. */
KF_MUST_CHECK enum kf_code kf_sanitize(const struct kf_export_request *req,
		const char **tool, struct kf_found *finding,
		struct kf_err *err);

#endif
