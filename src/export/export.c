/*
 * The stages of an export, in their order: describe, write, compile, look at
 * what came out, write what depends on it, build, try the example, and only
 * then give the folder its name.
 */
#include "export/internal.h"

#include <dirent.h>
#include <unistd.h>

#include "prompt/jinja.h"

#define FILE_BYTES	(1u << 20)	/* a template, a file as it is */
#define OUTPUT_BYTES	(64u << 10)
#define EMBEDDED_BYTES	(64u << 20)
#define TABLES_BYTES	((size_t)6 << 20)	/* of which digits can be read */
#define GENERATED_BYTES	(256u << 20)

/* What is copied as it is, and what is made from a template; to is relative
 * to the C folder, with {id} for the program's name. */
struct file { const char *from, *to; };

static const struct file copied[] = {
	{ "export/c/kforge_cpu.c", "kforge_cpu.c" },
	{ "export/c/kforge_dlpack.h", "kforge_dlpack.h" },
	{ "export/c/kforge_export.h", "kforge_export.h" },
	{ "export/c/kforge_processor.c", "kforge_processor.c" },
	{ "export/c/kforge_runtime.c", "kforge_runtime.c" },
	{ "export/c/kforge_runtime.h", "kforge_runtime.h" },
	{ "export/c/safetensors.h", "safetensors.h" },
	{ "include/kforge/program.h", "kforge/program.h" },
	{ "LICENSE", "LICENSE-kforge" },
};

static const struct file copied_parts[] = {
	{ "export/device/kforge_device.h", "kforge_device.h" },
	{ "export/device/kforge_parts.c", "kforge_parts.c" },
	{ "include/kforge/launch.h", "kforge/launch.h" },
};

static const struct file generated[] = {
	{ "api.h.j2", "{id}.h" },
	{ "api.c.j2", "{id}.c" },
	{ "example.c.j2", "example.c" },
	{ "README.md.j2", "README.md" },
};

/* Sources for a vendor's compiler. */
static const struct file copied_cuda[] = {
	{ "export/c/safetensors.h", "safetensors.h" },
	{ "include/kforge/program.h", "kforge/program.h" },
	{ "include/kforge/launch.h", "kforge/launch.h" },
	{ "include/kforge/launch_cuda.h", "kforge/launch_cuda.h" },
	{ "LICENSE", "LICENSE-kforge" },
};

static const struct file generated_cuda[] = {
	{ "api.h.j2", "{id}.h" },
	{ "api.c.j2", "{id}.c" },
	{ "example.c.j2", "example.c" },
	{ "Makefile.j2", "Makefile" },
	{ "README.md.j2", "README.md" },
};

static const struct file copied_torch[] = {
	{ "export/torch/__init__.py", "__init__.py" },
	{ "export/torch/contexts.py", "contexts.py" },
	{ "export/torch/facts.py", "facts.py" },
	{ "export/torch/op.py", "op.py" },
	{ "export/torch/module.py", "module.py" },
};

/* Around a C library, or around kernels. */
static const struct file torch_library = { "export/torch/library.py",
					   "library.py" };
static const struct file torch_device[] = {
	{ "export/torch/device.py", "device.py" },
	{ "LICENSE", "LICENSE-kforge" },
};

static const struct file torch_readme = { "README.md.j2", "README.md" };
static const struct file torch_single[] = {
	{ "kernelbench.py.j2", "kernelbench.py" },	/* finds the folder */
	{ "single.py.j2", "kernelbench.py" },		/* holds all of it */
};

/* What the one file holds as text. */
static const char *const single_text[] = {
	"__init__.py", "contexts.py", "facts.py", "op.py", "module.py",
	"device.py", "problem.py", "kforge-export.json",
};

/* One export under way. */
struct work {
	const struct kf_export_request *req;
	struct kf_export *out;
	char *home;		/* the data folder */
	char *place;		/* where it will be, by its absolute name */
	struct kf_temporary made;	/* where it is made: beside its place */
	char *c_dir;		/* the C folder in it, or itself; NULL: there is
				   no library */
	json_t *facts;
	struct kf_export_parts parts;	/* of two-part programs */
};

static const char *const form_name[] = {
	[KF_EXPORT_NONE] = "", [KF_EXPORT_C] = "c",
	[KF_EXPORT_TORCH] = "torch", [KF_EXPORT_CUDA] = "cuda",
};

const char *kf_export_form_name(enum kf_export_form form)
{
	return form_name[form];
}

void kf_export_release(struct kf_export *out)
{
	for (size_t i = 0; i < out->allocate_count; i++)
		free(out->allocates[i]);
	free(out->allocates);
	free(out->library);
	free(out->example);
	*out = (struct kf_export) { 0 };
}

/* --- files --------------------------------------------------------------- */

static enum kf_code copy_files(const struct work *w, const char *dir,
			       const struct file *file, size_t count,
			       struct kf_err *err)
{
	struct kf_buf text = { .max = FILE_BYTES };
	enum kf_code code = KF_OK;

	for (size_t i = 0; !code && i < count; i++) {
		char *from = kf_path_join(w->home, file[i].from);

		kf_buf_clear(&text);
		code = kf_file_read(from, &text, err);
		if (!code)
			code = kf_file_write_in(dir, file[i].to,
						kf_buf_str(&text), text.len,
						err);
		free(from);
	}
	kf_buf_release(&text);
	return code;
}

static char *load_template(void *arg, const char *name)
{
	struct kf_buf text = { .max = FILE_BYTES };
	char *path = kf_path_join(arg, name);
	char *copy = NULL;

	if (!strstr(name, "..") && !kf_file_read(path, &text, NULL))
		copy = kf_strndup(kf_buf_str(&text), text.len);
	kf_buf_release(&text);
	free(path);
	return copy;
}

static char *file_name(const struct work *w, const char *to)
{
	if (strncmp(to, "{id}", 4) != 0)
		return kf_strdup(to);
	return kf_format("%s%s", kf_json_str(w->facts, "id", ""), to + 4);
}

static enum kf_code generate(const struct work *w, const char *form,
			     const char *dir, const struct file *file,
			     size_t count, struct kf_err *err)
{
	char *folder = kf_format("%s/export/%s", w->home, form);
	struct kf_jinja_loader loader = { .load = load_template,
					  .arg = folder };
	struct kf_buf text = { .max = GENERATED_BYTES };
	enum kf_code code = KF_OK;

	for (size_t i = 0; !code && i < count; i++) {
		char *to = file_name(w, file[i].to);

		kf_buf_clear(&text);
		code = kf_jinja_render(&loader, file[i].from, w->facts, &text,
				       err);
		/* Jinja drops a template's last newline. */
		if (!code && text.len && text.data[text.len - 1] != '\n')
			kf_buf_puts(&text, "\n");
		if (!code)
			code = kf_file_write_in(dir, to, kf_buf_str(&text),
						text.len, err);
		free(to);
	}
	kf_buf_release(&text);
	free(folder);
	return code;
}

/* --- stages -------------------------------------------------------------- */

/* The program as it was judged. */
static enum kf_code write_program(const struct work *w, const char *dir,
				  struct kf_err *err)
{
	const struct kf_candidate *candidate = w->req->candidate;
	enum kf_code code = KF_OK;

	for (size_t i = 0; !code && i < candidate->file_count; i++) {
		const struct kf_source_file *file = &candidate->file[i];

		code = kf_file_write_in(dir, file->name, file->text,
					file->len, err);
	}
	return code;
}

/* What a library of a two-part program has beside others. */
static enum kf_code write_parts(const struct work *w, struct kf_err *err)
{
	const char *judged_on = kf_json_str(w->facts, "judged_on_literal", "");
	const char *runtime = w->req->platform->export_runtime;
	char *from = kf_format("export/device/%s.c", runtime);
	char *to = kf_format("%s.c", runtime);
	const struct file file = { from, to };
	enum kf_code code;

	code = copy_files(w, w->c_dir, copied_parts, KF_COUNT(copied_parts),
			  err);
	if (!code)
		code = copy_files(w, w->c_dir, &file, 1, err);
	if (!code)
		code = kf_export_code(w->req, &w->parts, judged_on, w->c_dir,
				      err);
	free(from);
	free(to);
	return code;
}

static enum kf_code write_sources(const struct work *w, struct kf_err *err)
{
	static const struct file makefile[] = { { "Makefile.j2", "Makefile" } };
	char *contract = kf_path_join(w->c_dir, "kforge");
	enum kf_code code = kf_mkdir_p(contract, err);

	if (!code)
		code = copy_files(w, w->c_dir, copied, KF_COUNT(copied), err);
	if (!code)
		code = write_program(w, w->c_dir, err);
	if (!code && w->req->platform->driver->two_part)
		code = write_parts(w, err);
	if (!code)
		code = generate(w, "c", w->c_dir, makefile, KF_COUNT(makefile),
				err);
	free(contract);
	return code;
}

static enum kf_code make(const struct work *w, const char *target,
			 struct kf_err *err)
{
	const char *const argv[] = { "{make}", "-s", target, "{compiler}",
				     NULL };
	struct kf_export_command command = {
		.req = w->req, .dir = w->c_dir, .argv = argv, .writable = true,
		.limits = &w->req->platform->build_limits,
	};

	return kf_export_make(&command, "what would be exported does not "
			      "compile here", err);
}

/* What the object tells goes into the header's comment, for it is about what
 * callers may rely on. */
static enum kf_code look_at_object(const struct work *w, struct kf_err *err)
{
	char *path = kf_path_join(w->c_dir, "program.o");
	struct kf_export *out = w->out;
	struct kf_object_facts facts;
	json_t *names = json_array();
	enum kf_code code = kf_object_read(path, &facts, err);

	out->static_bytes = facts.static_bytes;
	out->allocates = kf_alloc((facts.allocate_count + 1) *
				  sizeof(out->allocates[0]));
	for (size_t i = 0; i < facts.allocate_count; i++) {
		out->allocates[i] = kf_strdup(facts.allocates[i]);
		out->allocate_count = i + 1;
		json_array_append_new(names, json_string(facts.allocates[i]));
	}
	json_object_set_new(w->facts, "allocates", names);
	json_object_set_new(w->facts, "openmp", json_boolean(facts.openmp));
	json_object_set_new(w->facts, "prepares",
			    json_boolean(facts.prepares));
	json_object_set_new(w->facts, "static_bytes", json_integer(
		(json_int_t)facts.static_bytes));
	free(path);
	return code;
}

static enum kf_code write_tensors(const struct work *w, const char *dir,
				  bool *example, struct kf_err *err)
{
	enum kf_code code = kf_export_weights(w->req, dir, err);

	if (!code)
		code = kf_export_example(w->req, dir, example, err);
	json_object_set_new(w->facts, "example_data", json_boolean(*example));
	return code;
}

/* The example against the reference's own values: the library as a caller
 * would use it. The folder cannot be written by what runs in it now. */
static enum kf_code try_example(const struct work *w, struct kf_err *err)
{
	static const char *const argv[] = { "./example", NULL };
	struct kf_export_command command = {
		.req = w->req, .dir = w->c_dir, .argv = argv,
		.on_device = w->req->platform->driver->two_part,
		.limits = &w->req->platform->run_limits,
	};
	struct kf_buf words = { .max = OUTPUT_BYTES };
	enum kf_code code;
	bool good;

	code = kf_export_run(&command, &words, &good, err);
	if (!code && !good && w->req->verified)
		code = kf_fail(err, KF_E_UNAVAIL, "the exported library does "
			       "not do what the program did when it was "
			       "judged: %.400s", kf_buf_str(&words));
	if (!code) {
		free(w->out->example);
		w->out->example = kf_strdup(kf_buf_str(&words));
	}
	kf_buf_release(&words);
	return code;
}

static enum kf_code write_manifest(const struct work *w, const char *dir,
				   struct kf_err *err)
{
	char *path = kf_path_join(dir, "kforge-export.json");
	enum kf_code code = kf_json_write(path, w->facts, err);

	free(path);
	return code;
}

static bool is_left_by_make(const char *name)
{
	size_t len = strlen(name);

	return strcmp(name, "built-with") == 0 ||
	       (len > 2 && strcmp(name + len - 2, ".o") == 0);
}

static enum kf_code remove_objects(const struct work *w, struct kf_err *err)
{
	DIR *dir = opendir(w->c_dir);
	const struct dirent *entry;
	enum kf_code code = KF_OK;

	if (!dir)
		return kf_fail_errno(err, "cannot open %s", w->c_dir);
	while (!code && (entry = readdir(dir))) {
		if (is_left_by_make(entry->d_name) &&
		    unlinkat(dirfd(dir), entry->d_name, 0))
			code = kf_fail_errno(err, "cannot remove %s/%s",
					     w->c_dir, entry->d_name);
	}
	closedir(dir);
	return code;
}

static enum kf_code make_parts(struct work *w, struct kf_err *err)
{
	enum kf_code code = kf_export_parts_make(w->req, w->place, &w->parts,
						 err);

	json_object_set_new(w->facts, "kernels",
			    kf_export_kernels(&w->parts));
	json_object_set_new(w->facts, "prepares",
			    json_boolean(w->parts.plans.has_prepare));
	return code;
}

static enum kf_code make_c(const struct work *w, struct kf_err *err)
{
	bool example = false;
	enum kf_code code = write_sources(w, err);

	if (!code)
		code = make(w, "program.o", err);
	if (!code)
		code = look_at_object(w, err);
	if (!code)
		code = write_tensors(w, w->c_dir, &example, err);
	if (!code)
		code = generate(w, "c", w->c_dir, generated,
				KF_COUNT(generated), err);
	if (!code)
		code = make(w, "all", err);
	if (!code && example && !w->req->untried)
		code = try_example(w, err);
	if (!code)
		code = remove_objects(w, err);
	return code ? code : write_manifest(w, w->c_dir, err);
}

/* What is compiled where it is used: nothing is tried here. */
static enum kf_code make_cuda(const struct work *w, struct kf_err *err)
{
	const char *dir = w->made.path;
	char *contract = kf_path_join(dir, "kforge");
	enum kf_code code = kf_mkdir_p(contract, err);
	bool example = false;

	if (!code)
		code = copy_files(w, dir, copied_cuda, KF_COUNT(copied_cuda),
				  err);
	if (!code)
		code = write_program(w, dir, err);
	if (!code)
		code = write_tensors(w, dir, &example, err);
	if (!code)
		code = generate(w, "cuda", dir, generated_cuda,
				KF_COUNT(generated_cuda), err);
	free(contract);
	return code ? code : write_manifest(w, dir, err);
}

/* Adds {"name", "text"} of a file of the export to list, as it is or in
 * hexadecimal digits. */
static enum kf_code embed(const struct work *w, const char *file,
			  const char *name, bool digits, json_t *list,
			  struct kf_err *err)
{
	struct kf_buf bytes = { .max = EMBEDDED_BYTES };
	struct kf_buf text = { .max = 2 * EMBEDDED_BYTES };
	char *path = kf_path_join(w->made.path, file);
	enum kf_code code = kf_file_read(path, &bytes, err);

	for (size_t i = 0; !code && digits && i < bytes.len; i++)
		kf_buf_printf(&text, "%02x", (unsigned char)bytes.data[i]);
	if (!code)
		json_array_append_new(list, json_pack("{s:s, s:o}", "name",
			name, "text", digits ?
			kf_json_string(kf_buf_str(&text), text.len) :
			kf_json_string(kf_buf_str(&bytes), bytes.len)));
	kf_buf_release(&text);
	kf_buf_release(&bytes);
	free(path);
	return code;
}

/* The values of tables and masks are part of the program; those of weights are
 * not. */
static bool has_tables(const struct kf_bundle *bundle)
{
	bool found = false;

	for (size_t i = 0; i < bundle->weight_count; i++)
		found |= bundle->weight[i].structural;
	return found;
}

static size_t table_bytes(const struct kf_bundle *bundle)
{
	size_t bytes = 0;

	for (size_t i = 0; i < bundle->weight_count; i++)
		if (bundle->weight[i].structural)
			bytes += bundle->weight[i].bytes;
	return bytes;
}

/* One file holds all of it. With more than that in tables it would be too large
 * to read: it finds the folder then. */
static bool is_single(const struct work *w)
{
	return w->req->platform->driver->two_part &&
		table_bytes(w->req->bundle) <= TABLES_BYTES;
}

/* Where only the tables are needed, they stand for the weights' file. */
static enum kf_code embed_tables(const struct work *w, json_t *bytes,
				 struct kf_err *err)
{
	static const char name[] = "tables.safetensors";
	enum kf_code code;
	char *path;

	if (!has_tables(w->req->bundle))
		return KF_OK;
	code = kf_export_tables(w->req, w->made.path, err);
	if (!code)
		code = embed(w, name, "weights.safetensors", true, bytes, err);
	path = kf_path_join(w->made.path, name);
	if (!code && unlink(path))
		code = kf_fail_errno(err, "cannot remove %s", path);
	free(path);
	return code;
}

static enum kf_code embed_all(const struct work *w, struct kf_err *err)
{
	static const char code_name[] = "kernels.cubin";
	const struct kf_candidate *candidate = w->req->candidate;
	json_t *texts = json_array(), *bytes = json_array();
	enum kf_code code = KF_OK;

	for (size_t i = 0; !code && i < KF_COUNT(single_text); i++)
		code = embed(w, single_text[i], single_text[i], false, texts,
			     err);
	for (size_t i = 0; !code && i < candidate->file_count; i++)
		code = embed(w, candidate->file[i].name,
			     candidate->file[i].name, false, texts, err);
	if (!code)
		code = embed(w, code_name, code_name, true, bytes, err);
	if (!code)
		code = embed_tables(w, bytes, err);
	json_object_set_new(w->facts, "package", texts);
	json_object_set_new(w->facts, "package_bytes", bytes);
	return code;
}

/* The kernels and what is launched, in the place of a library. */
static enum kf_code make_torch_parts(const struct work *w, struct kf_err *err)
{
	const struct kf_pack_part *device = kf_pack_find(&w->parts.pack,
							 "device");
	const char *dir = w->made.path;
	enum kf_code code;

	json_object_set_new(w->facts, "plans", kf_export_plans(&w->parts));
	code = copy_files(w, dir, torch_device, KF_COUNT(torch_device), err);
	if (!code)
		code = write_program(w, dir, err);
	if (!code)
		code = kf_file_write_in(dir, "kernels.cubin", device->data,
					device->len, err);
	if (!code)
		code = kf_export_weights(w->req, dir, err);
	if (!code)
		code = write_manifest(w, dir, err);
	return code || !is_single(w) ? code : embed_all(w, err);
}

static enum kf_code make_torch(const struct work *w, struct kf_err *err)
{
	const struct kf_problem *problem = w->req->problem;
	const char *dir = w->made.path;
	bool parts = w->req->platform->driver->two_part;
	enum kf_code code;

	json_object_set_new(w->facts, "place", json_string(w->place));
	json_object_set_new(w->facts, "single", json_boolean(is_single(w)));
	code = copy_files(w, dir, copied_torch, KF_COUNT(copied_torch), err);
	if (!code)
		code = kf_file_write_in(dir, "problem.py", problem->source,
					strlen(problem->source), err);
	if (!code)
		code = generate(w, "torch", dir, &torch_readme, 1, err);
	if (!code)
		code = parts ? make_torch_parts(w, err)
			     : copy_files(w, dir, &torch_library, 1, err);
	return code ? code : generate(w, "torch", dir,
				      &torch_single[is_single(w)], 1, err);
}

/* --- the whole ----------------------------------------------------------- */

static bool has_form(const struct kf_platform *platform,
		     enum kf_export_form form)
{
	for (size_t i = 0; i < platform->export_form_count; i++)
		if (strcmp(platform->export_form[i], form_name[form]) == 0)
			return true;
	return false;
}

/* A platform's other forms are single files that need nothing around them. */
static enum kf_code no_export(const struct kf_platform *platform,
			      struct kf_err *err)
{
	bool is_module = strcmp(platform->file[0].language, "python") == 0;

	if (strcmp(platform->form, platform->form_name[0]) == 0)
		return kf_fail(err, KF_E_INPUT, "programs for platform %s "
			       "cannot be exported", platform->name);
	return kf_fail(err, KF_E_INPUT, "programs in form %s are %s as they "
		       "are: the file is the %s; a run has its best ones in "
		       "best/ (docs/export.md)", platform->form,
		       is_module ? "exported" : "taken",
		       is_module ? "module" : "program");
}

static enum kf_code no_form(const struct kf_export_request *req,
			    struct kf_err *err)
{
	const struct kf_platform *platform = req->platform;
	struct kf_buf forms = { .max = 128 };

	if (!platform->export_form_count)
		return no_export(platform, err);
	for (size_t i = 0; i < platform->export_form_count; i++)
		kf_buf_printf(&forms, "%s--as %s", i ? " or " : "",
			      platform->export_form[i]);
	kf_fail(err, KF_E_INPUT, "programs for platform %s cannot be exported "
		"--as %s: say %s", platform->name, form_name[req->form],
		kf_buf_str(&forms));
	kf_buf_release(&forms);
	return KF_E_INPUT;
}

enum kf_code kf_export_check(const struct kf_export_request *req,
			     struct kf_err *err)
{
	const struct kf_platform *platform = req->platform;
	enum kf_code code;
	char *make;

	if (!has_form(platform, req->form))
		return no_form(req, err);
	if (req->form == KF_EXPORT_TORCH && req->problem &&
	    req->problem->kind != KF_PROBLEM_PYTHON)
		return kf_fail(err, KF_E_INPUT, "%s is a problem in C and has "
			       "no PyTorch module to stand for: export it "
			       "with --as c", req->problem->name);
	code = kf_export_find_make(&make, err);
	free(make);
	return code;
}

static enum kf_code name_it(struct work *w, struct kf_err *err)
{
	const char *library = kf_json_str(w->facts, "library", "");
	const char *const below[] = {
		[KF_EXPORT_C] = "/", [KF_EXPORT_TORCH] = "/c/",
	};

	if (rename(w->made.path, w->place))
		return kf_fail_errno(err, "cannot rename %s to %s",
				     w->made.path, w->place);
	kf_temporary_release(&w->made);
	if (w->c_dir)
		w->out->library = kf_format("%s%s%s", w->req->dir,
					    below[w->req->form], library);
	else
		w->out->library = kf_strdup(w->req->dir);
	return KF_OK;
}

enum kf_code kf_export(const struct kf_export_request *req,
		       struct kf_export *out, struct kf_err *err)
{
	struct work w = { .req = req, .out = out, .made.fd = -1 };
	enum kf_code code;

	*out = (struct kf_export) { .example = kf_strdup("") };
	code = kf_export_check(req, err);
	if (!code)
		code = kf_export_check_dir(req->dir, err);
	if (code)
		return code;
	w.home = kf_home(err);
	if (!w.home)
		return KF_E_UNAVAIL;
	code = kf_export_describe(req, &w.facts, err);
	if (!code)
		code = kf_export_place_make(req->dir, &w.place, &w.made, err);
	if (code)
		goto out;
	if (req->form == KF_EXPORT_TORCH && !req->platform->driver->two_part)
		w.c_dir = kf_path_join(w.made.path, "c");
	else if (req->form == KF_EXPORT_C)
		w.c_dir = kf_strdup(w.made.path);
	if (req->platform->driver->two_part)
		code = make_parts(&w, err);
	if (!code && w.c_dir)
		code = make_c(&w, err);
	if (!code && req->form == KF_EXPORT_CUDA)
		code = make_cuda(&w, err);
	if (!code && req->form == KF_EXPORT_TORCH)
		code = make_torch(&w, err);
	if (!code)
		code = name_it(&w, err);
out:
	(void)kf_temporary_remove(&w.made, NULL);
	kf_export_parts_release(&w.parts);
	json_decref(w.facts);
	free(w.c_dir);
	free(w.place);
	free(w.home);
	return code;
}
