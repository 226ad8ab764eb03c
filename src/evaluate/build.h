/*
 * build.h - compile a candidate in the builder's sandbox.
 *
 * The builder sees the candidate's files, the contract's headers and the
 * toolchain (and what the driver adds to it), read-only, and one output
 * folder; no device, no data, nothing else of the disk. The artefact is hashed
 * and named by its content; of a two-part platform it is a pack
 * (platform/pack.h).
 */
#ifndef KF_EVALUATE_BUILD_H
#define KF_EVALUATE_BUILD_H

#include "evaluate/python_side.h"
#include "platform/platform.h"

struct kf_build_job {
	const struct kf_platform *platform;
	/* What it is built for: for two-part drivers. Others may get NULL. */
	const char *device_id, *arch;
	const char *source_dir;		/* holds the candidate's files by name */
	const char *work_dir;		/* ours; the artefact appears in it */
	/* For programs in Python, which are loaded and called there with data
	 * that torch makes up; others may get NULL. */
	const struct kf_python_side *python;
	/* Of the problem that it is for: what a declared entry (entry.h) is
	 * checked against. NULL: it is not. */
	const struct kf_bundle *bundle;
	enum kf_sandbox_tier tier_min;
	const volatile int *cancel;
	/* NULL, or called once while the compiler works, for what need not wait
	 * for it; not called if the compiler could not be started. */
	void (*meanwhile)(void *arg);
	void *meanwhile_arg;
};

struct kf_artefact {
	char *path;			/* owned; NULL unless end is DONE */
	char hash[KF_HASH_HEX];
	enum kf_sandbox_tier tier;
	char *compiler;			/* owned; first line of --version, also of
					   one that refused; NULL: unknown */
};
void kf_artefact_release(struct kf_artefact *artefact);
/* Where the artefact of that hash lies in the work_dir of its job. Caller
 * frees. */
char *kf_artefact_path(const char *work_dir, const char *hash) KF_NEVER_NULL;

/* For others who compile in a sandbox: the platform's compiler on PATH (caller
 * frees), and what a sandbox must hold to run it added to binds. NULL and *err
 * if there is none. */
char *kf_build_toolchain(const struct kf_platform *platform,
			 struct kf_binds *binds, struct kf_err *err);
/* What it would compile with: the first line of the compiler's --version, NULL
 * if that says nothing. Caller frees. KF_E_UNAVAIL without a compiler. */
KF_MUST_CHECK enum kf_code kf_build_compiler(
		const struct kf_platform *platform, char **version,
		struct kf_err *err);

KF_MUST_CHECK enum kf_code kf_build_run(const struct kf_build_job *job,
		struct kf_build *build, struct kf_artefact *artefact,
		struct kf_err *err);

#endif
