/* One cell: its options, its folder, and the file that says how far it is. */
#include "cli/experiment.h"

#include <dirent.h>

/* --- names and places ----------------------------------------------------- */

char *kf_cell_name(const struct kf_experiment *e, const struct kf_cell *cell)
{
	return kf_format("%s/%s/%s/%u", e->arm[cell->arm].name,
			 e->model[cell->model].name,
			 e->names.path[cell->problem], cell->repeat);
}

char *kf_cell_dir(const struct kf_experiment *e, const struct kf_cell *cell)
{
	char *name = kf_cell_name(e, cell);
	char *dir = kf_path_join(e->dir, name);

	free(name);
	return dir;
}

/* --- options -------------------------------------------------------------- */

struct placeholder { const char *name, *text; };
#define PLACEHOLDERS 4

static json_t *expand_text(const char *text, const struct placeholder *p)
{
	struct kf_buf out = { .max = 1u << 20 };
	json_t *json;

	while (*text) {
		size_t i = 0;

		while (i < PLACEHOLDERS &&
		       strncmp(text, p[i].name, strlen(p[i].name)) != 0)
			i++;
		if (i < PLACEHOLDERS) {
			kf_buf_puts(&out, p[i].text);
			text += strlen(p[i].name);
		} else {
			kf_buf_add(&out, text++, 1);
		}
	}
	json = json_string(kf_buf_str(&out));
	kf_buf_release(&out);
	return json;
}

static json_t *expand(const json_t *value, const struct placeholder *p)
{
	json_t *list;
	const json_t *one;
	size_t i;

	if (json_is_string(value))
		return expand_text(json_string_value(value), p);
	if (!json_is_array(value))
		return json_deep_copy(value);
	list = json_array();
	json_array_foreach(value, i, one)
		json_array_append_new(list, expand(one, p));
	return list;
}

/* --advisor may name one of the experiment's models. */
static const char *model_called(const struct kf_experiment *e,
				const char *name)
{
	for (size_t i = 0; name && i < e->model_count; i++)
		if (strcmp(e->model[i].name, name) == 0)
			return e->model[i].model;
	return NULL;
}

static json_t *options_of(const struct kf_experiment *e,
			  const struct kf_cell *cell)
{
	char repeat[16];
	const struct placeholder p[PLACEHOLDERS] = {
		{ "{arm}", e->arm[cell->arm].name },
		{ "{model}", e->model[cell->model].name },
		{ "{problem}", e->names.path[cell->problem] },
		{ "{repeat}", repeat },
	};
	json_t *out = json_object(), *value;
	const char *name, *advisor;

	snprintf(repeat, sizeof(repeat), "%u", cell->repeat);
	json_object_foreach(e->arm[cell->arm].options, name, value)
		json_object_set_new(out, name, expand(value, p));
	json_object_set_new(out, "model",
			    expand_text(e->model[cell->model].model, p));
	advisor = model_called(e, kf_json_str(out, "advisor", NULL));
	if (advisor)
		json_object_set_new(out, "advisor", expand_text(advisor, p));
	return out;
}

/* --- files ---------------------------------------------------------------- */

#define TREE_DEPTH	3	/* templates have folders */
#define TREE_BYTES	(1u << 20)

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Adds a line for each file: its name and what it holds. */
static enum kf_code add_tree(const char *path, unsigned depth,
			     struct kf_buf *out, struct kf_err *err)
{
	struct dirent **entry = NULL;
	char hash[KF_HASH_HEX];
	enum kf_code code = KF_OK;
	int count;

	if (!kf_path_is_dir(path)) {
		code = kf_hash_file(path, hash, err);
		kf_buf_printf(out, "%s\n", code ? "" : hash);
		return code;
	}
	count = depth ? scandir(path, &entry, is_visible, alphasort) : 0;
	if (count < 0)
		return kf_fail_errno(err, "cannot read folder %s", path);
	for (int i = 0; i < count; i++) {
		char *inner = kf_path_join(path, entry[i]->d_name);

		kf_buf_printf(out, "%s ", entry[i]->d_name);
		if (!code)
			code = add_tree(inner, depth - 1, out, err);
		free(inner);
		free(entry[i]);
	}
	free(entry);
	return code;
}

static enum kf_code add_problem(const struct kf_run_spec *spec,
				struct kf_buf *out, struct kf_err *err)
{
	struct kf_problem problem = { 0 };
	enum kf_code code = kf_problem_read(&(struct kf_problem_spec) {
		.path = spec->problem[0], .size = spec->setup.size,
		.set = spec->setup.set, .set_count = spec->setup.set_count,
		.dtype = spec->setup.dtype,
	}, &problem, err);

	kf_buf_printf(out, "%s\n", problem.hash);
	kf_problem_release(&problem);
	return code;
}

static enum kf_code hash_files(const struct kf_run_spec *spec,
			       char hash[KF_HASH_HEX], struct kf_err *err)
{
	struct kf_buf list = { .max = TREE_BYTES };
	enum kf_code code;

	/* With several shapes each has sizes of its own. */
	if (spec->setup.shapes) {
		char *shapes = kf_json_text(spec->setup.shapes);

		kf_buf_puts(&list, shapes);
		free(shapes);
		code = add_tree(spec->problem[0], TREE_DEPTH, &list, err);
	} else {
		code = add_problem(spec, &list, err);
	}
	if (!code && spec->prompts_dir)
		code = add_tree(spec->prompts_dir, TREE_DEPTH, &list, err);
	for (size_t i = 0; !code && i < spec->start_count; i++)
		code = add_tree(spec->start[i], TREE_DEPTH, &list, err);
	kf_hash_hex(kf_buf_str(&list), list.len, hash);
	kf_buf_release(&list);
	return code;
}

/* What belongs to this machine is the command's to say, where the description
 * does not. */
static void add_commands(const struct kf_options *command,
			 const json_t *members, struct kf_options *out)
{
	if (!out->python)
		out->python = command->python;
	if (!out->cache)
		out->cache = command->cache;
	if (!out->executor)
		out->executor = command->executor;
	if (!json_object_get(members, "sandbox"))
		out->sandbox = command->sandbox;
	out->quiet = command->quiet;
	out->verbose = command->verbose;
}

enum kf_code kf_cell_open(const struct kf_experiment *e,
			  const struct kf_cell *cell, const struct kf_log *log,
			  struct kf_cell_run *out, struct kf_err *err)
{
	const char *problem = e->problems.path[cell->problem];
	enum kf_code code = KF_OK;
	const char *name;
	json_t *value;

	*out = (struct kf_cell_run) { .dir = kf_cell_dir(e, cell),
				      .options = options_of(e, cell) };
	kf_options_init(&out->parsed);
	json_object_foreach(out->options, name, value)
		if (!code)
			code = kf_options_set_default(&kf_command_run, name,
						      value, &out->parsed,
						      err);
	add_commands(e->options, out->options, &out->parsed);
	if (!code)
		code = kf_cli_run_open(&out->parsed, &problem, 1, log,
				       &out->run, err);
	if (!code)
		code = hash_files(&out->run.spec, out->files, err);
	out->run.spec.run_dir = out->dir;
	return code;
}

void kf_cell_close(struct kf_cell_run *run)
{
	kf_cli_run_release(&run->run);
	kf_options_release(&run->parsed);
	json_decref(run->options);
	free(run->dir);
	*run = (struct kf_cell_run) { 0 };
}

/* --- its file ------------------------------------------------------------- */

static char *note_path(const struct kf_cell_run *run)
{
	return kf_format("%s.json", run->dir);
}

void kf_cell_note_release(struct kf_cell_note *note)
{
	free(note->error);
	*note = (struct kf_cell_note) { 0 };
}

enum kf_code kf_cell_note_read(const struct kf_experiment *e,
			       const struct kf_cell *cell,
			       const struct kf_cell_run *run,
			       struct kf_cell_note *out, struct kf_err *err)
{
	char *path = note_path(run), *name;
	const char *changed = NULL;
	enum kf_code code = KF_OK;
	json_t *note = NULL;

	*out = (struct kf_cell_note) { .there = kf_path_exists(path) };
	if (out->there)
		code = kf_json_read(path, &note, err);
	if (note && !json_equal(json_object_get(note, "options"),
				run->options))
		changed = "other options or another model";
	else if (note && strcmp(kf_json_str(note, "files", ""),
				run->files) != 0)
		changed = "another problem, other templates or another "
			  "program to start from";
	if (changed) {
		name = kf_cell_name(e, cell);
		code = kf_fail(err, KF_E_INPUT, "%s was begun in %s with %s "
			       "(%s): give what has changed another name, or "
			       "name another folder with --out", name, e->dir,
			       changed, path);
		free(name);
	}
	out->done = kf_json_bool(note, "done", false);
	out->seconds = kf_json_real(note, "seconds", 0);
	out->error = kf_strdup(kf_json_str(note, "error", NULL));
	json_decref(note);
	free(path);
	return code;
}

enum kf_code kf_cell_note_write(const struct kf_cell_run *run,
				const struct kf_cell_note *note,
				struct kf_err *err)
{
	json_t *json = json_pack("{s:O, s:s, s:b, s:f, s:s?}", "options",
				 run->options, "files", run->files, "done",
				 (int)note->done, "seconds", note->seconds,
				 "error", note->error);
	char *path = note_path(run);
	enum kf_code code = kf_json_write(path, json, err);

	json_decref(json);
	free(path);
	return code;
}
