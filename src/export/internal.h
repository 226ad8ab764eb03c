/* internal.h - what the files of export/ tell each other. */
#ifndef KF_EXPORT_INTERNAL_H
#define KF_EXPORT_INTERNAL_H

#include "export/export.h"
#include "platform/pack.h"
#include "platform/plan.h"

/* --- describe.c ---------------------------------------------------------- */
/* What templates see, and kforge-export.json (new reference). Pure. */
KF_MUST_CHECK enum kf_code kf_export_describe(
		const struct kf_export_request *req, json_t **out,
		struct kf_err *err);

/* --- names.c ------------------------------------------------------------- */
/* "1_Square matmul_" -> "op_1_square_matmul", "math" -> "op_math": fit for a
 * header, a library, functions and an operator. Caller frees. */
char *kf_export_program_ident(const char *name) KF_NEVER_NULL;
/* "fc.weight" -> "fc_weight", "int" -> "int_": fit for an argument or a member.
 * taken holds the names in use and gets this one. Caller frees. */
char *kf_export_tensor_ident(const char *name, json_t *taken) KF_NEVER_NULL;

/* --- tensors.c ----------------------------------------------------------- */
/* Writes weights.safetensors into dir. */
KF_MUST_CHECK enum kf_code kf_export_weights(
		const struct kf_export_request *req, const char *dir,
		struct kf_err *err);
/* Writes tables.safetensors into dir: those of them that are part of the
 * program, such as masks; nothing if none is. */
KF_MUST_CHECK enum kf_code kf_export_tables(
		const struct kf_export_request *req, const char *dir,
		struct kf_err *err);
/* Writes example.safetensors (inputs.NAME, expected.NAME) into dir; *written is
 * false if that would take more than KF_EXPORT_EXAMPLE_BYTES. */
#define KF_EXPORT_EXAMPLE_BYTES ((size_t)256 << 20)
KF_MUST_CHECK enum kf_code kf_export_example(
		const struct kf_export_request *req, const char *dir,
		bool *written, struct kf_err *err);

/* --- place.c ------------------------------------------------------------- */
/* A folder beside dir, to take its name when it is whole; *absolute (caller
 * frees) is that name. The folder is empty, and open to readers. */
KF_MUST_CHECK enum kf_code kf_export_place_make(
		const char *dir, char **absolute, struct kf_temporary *made,
		struct kf_err *err);

/* --- parts.c: of programs in two parts ------------------------------------ */
struct kf_export_parts {
	struct kf_pack pack;		/* what the builder left */
	struct kf_plans plans;		/* what host.c launches */
};
/* Builds and records it, in a folder beside that path. To be released in any
 * case. */
KF_MUST_CHECK enum kf_code kf_export_parts_make(
		const struct kf_export_request *req, const char *beside,
		struct kf_export_parts *out, struct kf_err *err);
void kf_export_parts_release(struct kf_export_parts *parts);
/* Writes kforge_code.c into dir: the kernels, for a library. judged_on is the
 * device's name as a string of C. */
KF_MUST_CHECK enum kf_code kf_export_code(const struct kf_export_request *req,
		const struct kf_export_parts *parts, const char *judged_on,
		const char *dir, struct kf_err *err);
/* The kernels that it launches; all that it does. New references. */
json_t *kf_export_kernels(const struct kf_export_parts *parts);
json_t *kf_export_plans(const struct kf_export_parts *parts);

/* --- object.c ------------------------------------------------------------ */
struct kf_object_facts {
	uint64_t static_bytes;	/* writable variables that threads share */
	bool openmp;
	bool prepares;		/* defines kf_prepare */
	const char *allocates[16];	/* borrowed constants */
	size_t allocate_count;
};
/* Reads a relocatable ELF object of 64 bits. Nothing in it is believed. */
KF_MUST_CHECK enum kf_code kf_object_read(const char *path,
		struct kf_object_facts *out, struct kf_err *err);

/* --- build.c ------------------------------------------------------------- */
/* Caller frees *out. */
KF_MUST_CHECK enum kf_code kf_export_find_make(char **out, struct kf_err *err);
/* One command in the builder's sandbox with dir as its folder. output (its max
 * is the ceiling) gets what it printed; *good: it exited with 0. */
struct kf_export_command {
	const struct kf_export_request *req;
	const char *dir;
	const char *const *argv;	/* "{make}" and "{compiler}" are found */
	bool writable;
	bool on_device;		/* shown what the device's driver needs */
	const char *tool;	/* NULL, or a program that is to be seen */
	const char *const *env;	/* NULL, or more variables, which win */
	const char *flags;	/* NULL, or what "{compiler}" is told besides */
	const struct kf_limits *limits;
};
KF_MUST_CHECK enum kf_code kf_export_run(
		const struct kf_export_command *command, struct kf_buf *output,
		bool *good, struct kf_err *err);
/* The same of a command that must end well: else failed is the reason, before
 * what it said. */
KF_MUST_CHECK enum kf_code kf_export_make(
		const struct kf_export_command *command, const char *failed,
		struct kf_err *err);

#endif
