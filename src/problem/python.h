/*
 * python.h - a Python with torch, and what of the disk it needs.
 * Inner header of src/problem; kf_python_find is in problem.h.
 */
#ifndef KF_PROBLEM_PYTHON_H
#define KF_PROBLEM_PYTHON_H

#include "base/json.h"

struct kf_python {
	char *program;		/* owned; absolute */
	char torch[32];		/* version */
	char *search;		/* owned; its sys.path, for PYTHONPATH */
	char **folder;		/* owned; to be seen in the sandbox */
	size_t folder_count;
};

/* asked: NULL, or a path or name on PATH. Nothing is imported: this takes
 * tens of milliseconds for each Python looked at. cache_folder: NULL, or where
 * the answer is kept; it holds until one of those Pythons, or a folder where
 * it looks for modules, changes. */
KF_MUST_CHECK enum kf_code kf_python_probe(const char *asked,
		const char *cache_folder, struct kf_python *out,
		struct kf_err *err);
void kf_python_release(struct kf_python *python);

#endif
