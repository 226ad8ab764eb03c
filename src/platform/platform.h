/*
 * platform.h - a platform: a folder that says how programs are written, built
 * and run on one kind of accelerator.
 *
 *	platforms/NAME/platform.json	names, files of a candidate, compile
 *					command, driver, dtypes, limits
 *	platforms/NAME/example/		one problem and its candidate
 *	platforms/NAME/notes.md		what one must know to write for it
 *
 * Programs may have several forms there (a C program, a PyTorch module). What
 * platform.json says is the default one; each member of its "forms" says how
 * another differs, and notes and example of that one lie below forms/FORM/. A
 * struct kf_platform is a platform with one form.
 */
#ifndef KF_PLATFORM_H
#define KF_PLATFORM_H

#include <kforge/driver.h>

#include "base/json.h"
#include "sandbox/sandbox.h"

struct kf_platform_file {
	char *name;		/* owned; "program.c" */
	char *language;		/* owned; what fences call it: "c" */
	bool required;
};

struct kf_platform {
	char *name;		/* owned; "cpu" */
	char *form;		/* owned; "c", "two-part", "torch" */
	char **form_name;	/* owned; all that it has, the default one first */
	size_t form_count;
	char *title;		/* owned; for people and prompts */
	char *folder;		/* owned; absolute */
	const struct kf_driver *driver;
	struct kf_platform_file *file;
	size_t file_count;
	char **compiler;	/* owned; alternatives, best first: {"gcc","clang"} */
	size_t compiler_count;
	char **command;		/* owned; with {compiler} {source} {output}
				   {include}, of a driver with python also
				   {python} {python_home}; NULL-terminated;
				   empty where the driver compiles by itself */
	/* What programs can be exported as (kforge export): "c", "torch", ...;
	 * NULL-terminated; none: they cannot. And the words of command that
	 * bind one to this machine's processor. */
	char **export_form;	/* owned */
	size_t export_form_count;
	char **machine_flag;	/* owned; none unless there are forms */
	size_t machine_flag_count;
	/* Of two-part programs: what an exported library runs them with, a file
	 * of export/device/ without its ending; does it carry their code as the
	 * builder made it, or as text; do callers have addresses of device
	 * memory? */
	char *export_runtime;	/* owned; NULL: programs of one part */
	bool export_binary, export_addresses;
	/* Those that profiles are taken by, best first; what the earlier one
	 * counts stands. Names of src/profile/, or "command:WORDS". */
	char **profiler;	/* owned; may be none */
	size_t profiler_count;
	char *notes;		/* owned; text of notes.md, "" if none */
	char *example_problem;	/* owned; text */
	char **example_text;	/* owned; one text per file[]; NULL if absent */
	uint64_t dtypes;	/* bit 1 << enum kf_dtype */
	struct kf_limits build_limits, run_limits;
};

/* Finds and loads platforms/NAME in: $KFORGE_PLATFORMS, then the data folder
 * of this installation. name may be "NAME" or "NAME:INDEX" (a device). A
 * malformed platform.json is KF_E_INPUT with file and member. */
KF_MUST_CHECK enum kf_code kf_platform_load(const char *name,
		struct kf_platform **out, struct kf_err *err);
/* The same with one of its forms; NULL: the default one. */
KF_MUST_CHECK enum kf_code kf_platform_load_form(const char *name,
		const char *form, struct kf_platform **out,
		struct kf_err *err);
void kf_platform_free(struct kf_platform *platform);
/* Names of all platform folders, sorted; caller frees each and the array. */
enum kf_code kf_platform_list(char ***names, size_t *count, struct kf_err *err);

/* Folder with platforms/, prompts/, python/, problems/, include/ and the
 * runner: $KFORGE_HOME, else found from this executable (build tree, installed
 * tree, relocated folder). Caller frees. NULL and *err if not found. */
char *kf_home(struct kf_err *err);
/* kforge-runner's path: beside this executable. Caller frees. */
char *kf_runner_path(struct kf_err *err);

#endif
