/* The description of an experiment, read strictly. */
#include "cli/experiment.h"

#include <ctype.h>

#define NAME_MAX_BYTES	64
#define REPEATS_MAX	1000

static const struct { const char *name, *type; json_type kind; bool required; }
member[] = {
	{ "about", "a string", JSON_STRING, false },
	{ "problems", "a list of paths", JSON_ARRAY, true },
	{ "models", "an object: names of yours, and what --model takes",
	  JSON_OBJECT, true },
	{ "arms", "an object: names of yours, and options of `kforge run`",
	  JSON_OBJECT, true },
	{ "options", "an object: options of `kforge run`, for all arms",
	  JSON_OBJECT, false },
	{ "repeats", "a whole number", JSON_INTEGER, false },
	{ "against", "a string, the name of an arm", JSON_STRING, false },
};

/* --- what may be a member ------------------------------------------------- */

static enum kf_code unknown_member(const char *path, const char *typed,
				   struct kf_err *err)
{
	const char *name[KF_COUNT(member)];
	const char *closest;

	for (size_t i = 0; i < KF_COUNT(member); i++)
		name[i] = member[i].name;
	closest = kf_closest(typed, name, KF_COUNT(member));
	return kf_fail(err, KF_E_INPUT, "%s: \"%s\": an experiment has no "
		       "member of this name%s%s%s", path, typed,
		       closest ? "; did you mean \"" : "; it has problems, "
		       "models, arms, options, repeats, against and about",
		       closest ? closest : "", closest ? "\"?" : "");
}

static enum kf_code check_members(const char *path, json_t *file,
				  struct kf_err *err)
{
	const char *name;
	json_t *value;

	if (!json_is_object(file))
		return kf_fail(err, KF_E_INPUT, "%s holds no JSON object: it "
			       "begins with { and has problems, models and "
			       "arms as members", path);
	json_object_foreach(file, name, value) {
		size_t i = 0;

		while (i < KF_COUNT(member) &&
		       strcmp(member[i].name, name) != 0)
			i++;
		if (i == KF_COUNT(member))
			return unknown_member(path, name, err);
	}
	for (size_t i = 0; i < KF_COUNT(member); i++) {
		value = json_object_get(file, member[i].name);
		if (value ? json_typeof(value) != member[i].kind :
			    member[i].required)
			return kf_fail(err, KF_E_INPUT, "%s: \"%s\" %s %s",
				       path, member[i].name, value ?
				       "must be" : "is missing:",
				       member[i].type);
	}
	return KF_OK;
}

/* Names become folders. */
static enum kf_code check_name(const char *path, const char *what,
			       const char *name, struct kf_err *err)
{
	size_t len = 0;

	while (isalnum((unsigned char)name[len]) ||
	       (len && name[len] && strchr("._-", name[len])))
		len++;
	if (len && !name[len] && len <= NAME_MAX_BYTES)
		return KF_OK;
	return kf_fail(err, KF_E_INPUT, "%s: \"%s.%.80s\": a name has letters, "
		       "digits, \"-\", \"_\" and \".\", begins with one of the "
		       "first two, and has %d characters at most", path, what,
		       name, NAME_MAX_BYTES);
}

/* --- options -------------------------------------------------------------- */

/* Why an option of `kforge run` has no place here; NULL: it has. */
static const char *out_of_place(const char *name)
{
	static const char here[] = "is for the command line only";
	static const struct { const char *name, *why; } rows[] = {
		{ "model", "belongs under \"models\", so that each arm is "
			   "tried with each" },
		{ "out", here }, { "dry-run", here }, { "json", here },
		{ "quiet", here }, { "verbose", here },
	};

	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].why;
	return NULL;
}

static enum kf_code check_option(const char *name, const json_t *value,
				 struct kf_options *scrap, struct kf_err *err)
{
	const char *why = out_of_place(name);

	if (why)
		return kf_fail(err, KF_E_INPUT, "--%s %s", name, why);
	if (kf_options_takes(NULL, name) &&
	    !kf_options_takes(&kf_command_run, name))
		return kf_fail(err, KF_E_INPUT, "`kforge run` has no option "
			       "--%s", name);
	return kf_options_set_default(&kf_command_run, name, value, scrap,
				      err);
}

/* section: "options", "arms.rules" */
static enum kf_code check_options(const char *path, const char *section,
				  json_t *options, struct kf_err *err)
{
	struct kf_options scrap;
	struct kf_err why = { 0 };
	enum kf_code code = KF_OK;
	const char *name;
	json_t *value;

	kf_options_init(&scrap);
	json_object_foreach(options, name, value) {
		code = check_option(name, value, &scrap, &why);
		if (code) {
			kf_fail(err, code, "%s: \"%s.%s\": %s", path, section,
				name, why.text);
			break;
		}
	}
	kf_options_release(&scrap);
	return code;
}

/* --- its parts ------------------------------------------------------------ */

static enum kf_code read_arms(const char *path, struct kf_experiment *e,
			      struct kf_err *err)
{
	json_t *arms = json_object_get(e->file, "arms");
	json_t *common = json_object_get(e->file, "options");
	enum kf_code code = check_options(path, "options", common, err);
	const char *name;
	json_t *options;

	e->arm = kf_alloc((json_object_size(arms) + 1) * sizeof(*e->arm));
	json_object_foreach(arms, name, options) {
		char *section = kf_format("arms.%s", name);
		json_t *all = common ? json_deep_copy(common) : json_object();

		if (!code)
			code = check_name(path, "arms", name, err);
		if (!code && !json_is_object(options))
			code = kf_fail(err, KF_E_INPUT, "%s: \"%s\" must be "
				       "an object with options of `kforge "
				       "run`; {} is one without", path,
				       section);
		if (!code)
			code = check_options(path, section, options, err);
		json_object_update(all, options);
		e->arm[e->arm_count++] = (struct kf_experiment_arm) { name,
								      all };
		free(section);
	}
	if (!code && !e->arm_count)
		code = kf_fail(err, KF_E_INPUT, "%s: \"arms\" is empty: name "
			       "one, such as {\"rules\": {\"advisor\": "
			       "\"rules\"}}", path);
	return code;
}

static enum kf_code read_models(const char *path, struct kf_experiment *e,
				struct kf_err *err)
{
	json_t *models = json_object_get(e->file, "models"), *model;
	enum kf_code code = KF_OK;
	const char *name;

	e->model = kf_alloc((json_object_size(models) + 1) *
			    sizeof(*e->model));
	json_object_foreach(models, name, model) {
		code = check_name(path, "models", name, err);
		if (!code && (strcmp(name, "rules") == 0 ||
			      strcmp(name, "none") == 0))
			code = kf_fail(err, KF_E_INPUT, "%s: no model can be "
				       "called \"%s\", for that is a value of "
				       "--advisor", path, name);
		if (!code && !json_string_length(model))
			code = kf_fail(err, KF_E_INPUT, "%s: \"models.%s\" "
				       "must be a string as --model takes it, "
				       "such as \"openai:NAME\"", path, name);
		if (code)
			return code;
		e->model[e->model_count++] = (struct kf_experiment_model) {
			name, json_string_value(model) };
	}
	return e->model_count ? KF_OK :
	       kf_fail(err, KF_E_INPUT, "%s: \"models\" is empty: name one, "
		       "such as {\"small\": \"openai:NAME\"}", path);
}

static enum kf_code name_problems(struct kf_experiment *e, struct kf_err *err)
{
	for (size_t i = 0; i < e->problems.count; i++) {
		char *name = kf_problem_name(e->problems.path[i]);

		kf_paths_add_take(&e->names, name);
		for (size_t k = 0; k < i; k++)
			if (strcmp(e->names.path[k], name) == 0)
				return kf_fail(err, KF_E_INPUT, "%s and %s "
					"would both be called %s: rename one, "
					"or make two experiments",
					e->problems.path[k],
					e->problems.path[i], name);
	}
	return KF_OK;
}

static enum kf_code read_problems(const char *path, struct kf_experiment *e,
				  struct kf_err *err)
{
	const json_t *list = json_object_get(e->file, "problems"), *one;
	enum kf_code code = KF_OK;
	size_t i;

	json_array_foreach(list, i, one) {
		if (!code && !json_string_length(one))
			code = kf_fail(err, KF_E_INPUT, "%s: \"problems\" "
				       "must be a list of paths", path);
		if (!code)
			code = kf_paths_add_problems(&e->problems,
						     json_string_value(one),
						     err);
	}
	if (!code && !e->problems.count)
		code = kf_fail(err, KF_E_INPUT, "%s: \"problems\" is empty",
			       path);
	return code ? code : name_problems(e, err);
}

static enum kf_code read_against(const char *path, struct kf_experiment *e,
				 struct kf_err *err)
{
	e->against = kf_json_str(e->file, "against", NULL);
	for (size_t i = 0; i < e->arm_count; i++)
		if (!e->against || strcmp(e->arm[i].name, e->against) == 0)
			return KF_OK;
	return kf_fail(err, KF_E_INPUT, "%s: \"against\": there is no arm "
		       "\"%s\" under \"arms\"", path, e->against);
}

static enum kf_code read_repeats(const char *path, struct kf_experiment *e,
				 struct kf_err *err)
{
	int64_t repeats = kf_json_int(e->file, "repeats", 1);

	if (repeats < 1 || repeats > REPEATS_MAX)
		return kf_fail(err, KF_E_INPUT, "%s: \"repeats\" can be 1 to "
			       "%d, not %lld", path, REPEATS_MAX,
			       (long long)repeats);
	e->repeats = (unsigned)repeats;
	if (kf_experiment_cells(e) > KF_CELLS_MAX)
		return kf_fail(err, KF_E_LIMIT, "%s: %zu runs are too many: "
			       "%u can be in one experiment", path,
			       kf_experiment_cells(e), KF_CELLS_MAX);
	return KF_OK;
}

enum kf_code kf_experiment_read(const char *path, struct kf_experiment *out,
				struct kf_err *err)
{
	enum kf_code code;

	*out = (struct kf_experiment) { 0 };
	code = kf_json_read(path, &out->file, err);
	if (!code)
		code = check_members(path, out->file, err);
	if (!code)
		code = read_arms(path, out, err);
	if (!code)
		code = read_models(path, out, err);
	if (!code)
		code = read_problems(path, out, err);
	if (!code)
		code = read_against(path, out, err);
	return code ? code : read_repeats(path, out, err);
}

void kf_experiment_release(struct kf_experiment *e)
{
	for (size_t i = 0; i < e->arm_count; i++)
		json_decref(e->arm[i].options);
	free(e->arm);
	free(e->model);
	kf_paths_release(&e->names);
	kf_paths_release(&e->problems);
	json_decref(e->file);
	*e = (struct kf_experiment) { 0 };
}

size_t kf_experiment_cells(const struct kf_experiment *e)
{
	return e->arm_count * e->model_count * e->problems.count * e->repeats;
}

struct kf_cell kf_experiment_cell(const struct kf_experiment *e, size_t i)
{
	struct kf_cell cell;

	cell.arm = i % e->arm_count;
	i /= e->arm_count;
	cell.model = i % e->model_count;
	i /= e->model_count;
	cell.problem = i % e->problems.count;
	cell.repeat = (unsigned)(i / e->problems.count) + 1;
	return cell;
}

size_t kf_experiment_index(const struct kf_experiment *e,
			   const struct kf_cell *cell)
{
	size_t i = (cell->repeat - 1) * e->problems.count + cell->problem;

	return (i * e->model_count + cell->model) * e->arm_count + cell->arm;
}
