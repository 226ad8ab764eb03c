/*
 * doctor.h - what `kforge doctor` finds, one line each.
 *
 * A finding is good, a note (something works less well, or is worth knowing)
 * or bad (something that the main job needs is missing). What is not good says
 * what to do. Values of keys and addresses never appear.
 */
#ifndef KF_DOCTOR_H
#define KF_DOCTOR_H

#include "cli/options.h"

enum kf_finding { KF_FINDING_GOOD, KF_FINDING_NOTE, KF_FINDING_BAD };

struct kf_doctor {
	const char *root;	/* stands before /proc and /sys; "" but in tests */
	json_t *list;		/* of findings, in order; owned by the caller */
	unsigned bad_count;
};

/* what: one word, at most 11 letters. */
void kf_doctor_find(struct kf_doctor *d, enum kf_finding finding,
		    const char *what, const char *fmt, ...) KF_PRINTF(4, 5);
/* The list in words, 80 columns wide. */
void kf_doctor_print(const struct kf_doctor *d, struct kf_buf *out);

/* Reads a small file below root and cuts its last line end; false if there is
 * none. */
bool kf_doctor_read(const struct kf_doctor *d, const char *path,
		    struct kf_buf *out);

/* kforge's own files, the libraries it runs with, kforge.json. */
void kf_doctor_files(struct kf_doctor *d, const struct kf_options *options);
/* How good a sandbox can be made here, and what would make it better. */
void kf_doctor_sandbox(struct kf_doctor *d, const struct kf_options *options);
/* Its part that looks for what refuses namespaces. */
void kf_doctor_namespaces(struct kf_doctor *d);
/* Pythons, and why some were passed over. */
void kf_doctor_python(struct kf_doctor *d, const struct kf_options *options);
/* Platforms with their compilers, which build our own example, and devices. */
void kf_doctor_platforms(struct kf_doctor *d,
			 const struct kf_options *options);
/* What exporting a program needs. */
void kf_doctor_export(struct kf_doctor *d);
/* What makes times unreliable. */
void kf_doctor_clocks(struct kf_doctor *d);
/* Keys and proxies that are set, and where models are. */
void kf_doctor_models(struct kf_doctor *d);

#endif
