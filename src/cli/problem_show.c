/* kforge problem show: a problem made concrete. */
#include <math.h>

#include "cli/cli.h"

static json_t *sizes_of(const struct kf_problem *problem)
{
	struct kf_problem_file file[KF_PROBLEM_FILES_MAX];
	size_t count = kf_problem_files(problem, file);
	json_t *json = NULL, *sizes = NULL;

	for (size_t i = 0; i < count && !json; i++)
		if (strcmp(file[i].language, "json") == 0 &&
		    kf_json_parse(file[i].text, file[i].len, file[i].name,
				  &json, NULL))
			json = NULL;
	sizes = json_incref(json_object_get(json, "sizes"));
	json_decref(json);
	return sizes ? sizes : json_object();
}

static void print_json(const struct kf_target *t, json_t *presets)
{
	json_t *json = json_object();

	json_object_set_new(json, "problem", json_string(t->problem.name));
	json_object_set_new(json, "kind", json_string(
		kf_problem_kind_name(t->problem.kind)));
	json_object_set_new(json, "path", kf_json_string(t->problem.path,
		strlen(t->problem.path)));
	json_object_set_new(json, "hash", json_string(t->problem.hash));
	json_object_set_new(json, "sizes", sizes_of(&t->problem));
	json_object_set(json, "presets", presets);
	json_object_set_new(json, "healthy", json_boolean(t->health.healthy));
	json_object_set_new(json, "bundle_ns",
			    json_integer((json_int_t)t->bundle.took_ns));
	json_object_set_new(json, "bundle_made",
			    json_boolean(t->bundle.made_now));
	json_object_set(json, "bundle", t->bundle.info);
	kf_cli_print_json_take(json);
}

/* "ROWS = 4, COLS = 30"; values are numbers or text. */
static void print_sizes(json_t *sizes)
{
	const char *name, *before = "";
	json_t *value;

	json_object_foreach(sizes, name, value) {
		if (json_is_string(value))
			printf("%s%s = %s", before, name,
			       json_string_value(value));
		else
			printf("%s%s = %lld", before, name,
			       (long long)json_integer_value(value));
		before = ", ";
	}
}

static void print_presets(json_t *presets)
{
	const char *name;
	json_t *sizes;

	json_object_foreach(presets, name, sizes) {
		printf("preset %s: ", name);
		print_sizes(sizes);
		printf("\n");
	}
}

static void print_domain(const json_t *entry)
{
	const json_t *domain = json_object_get(entry, "domain");
	double low = kf_json_real(domain, "min", (double)NAN);
	double high = kf_json_real(domain, "max", (double)NAN);
	double mean = kf_json_real(domain, "mean", (double)NAN);

	if (!isnan(low) && !isnan(high))
		printf(", %.4g to %.4g", low, high);
	if (!isnan(mean))
		printf(", mean %.4g", mean);
}

/* list: the entries of bundle.json, which know more. */
static void print_tensors(const char *what, const struct kf_tensor_info *info,
			  size_t count, const json_t *list)
{
	for (size_t i = 0; i < count; i++) {
		printf("%s %s: %s(", what, info[i].name, info[i].dtype ?
		       kf_dtype_name(info[i].dtype) : "none");
		for (int k = 0; k < info[i].rank; k++)
			printf("%s%lld", k ? ", " : "",
			       (long long)info[i].shape[k]);
		printf(")");
		print_domain(json_array_get(list, i));
		if (info[i].structural)
			printf(", structural");
		if (info[i].dtype && !info[i].matters &&
		    strcmp(what, "output") != 0)
			printf(", does not matter");
		printf("\n");
	}
}

static void print_scalars(const struct kf_bundle *b)
{
	for (size_t i = 0; i < b->scalar_count; i++) {
		const json_t *entry = json_array_get(
			json_object_get(b->info, "scalars"), i);
		const char *name = kf_json_str(entry, "name", "");

		if (b->scalar[i].kind == 'f')
			printf("scalar %s: %.9g\n", name, b->scalar[i].f);
		else if (b->scalar[i].kind == 'b')
			printf("scalar %s: %s\n", name, b->scalar[i].i ?
			       "true" : "false");
		else
			printf("scalar %s: %lld\n", name,
			       (long long)b->scalar[i].i);
	}
}

static void print_data(const struct kf_bundle *b)
{
	json_t *dropped = json_object_get(b->info, "dropped"), *entry;
	json_t *notes = json_object_get(b->info, "notes");
	size_t i;

	printf("sets:");
	for (i = 0; i < b->set_count; i++)
		printf("%s %s", i ? "," : "", b->set[i].kind);
	printf("; %zu fresh inputs for timed calls\n", b->stock_count);
	json_array_foreach(dropped, i, entry)
		printf("left out: %s, %s\n", kf_json_str(entry, "kind", ""),
		       kf_json_str(entry, "reason", ""));
	json_array_foreach(notes, i, entry)
		printf("note: %s\n", json_string_value(entry));
}

static void print_words(const struct kf_target *t, json_t *presets)
{
	const struct kf_bundle *b = &t->bundle;
	json_t *sizes = sizes_of(&t->problem);

	printf("%s: a %s\n", t->problem.name, t->problem.kind == KF_PROBLEM_C ?
	       "C problem" : "PyTorch module");
	if (json_object_size(sizes)) {
		printf("sizes: ");
		print_sizes(sizes);
		printf("\n");
	}
	print_presets(presets);
	print_tensors("input", b->in, b->in_count,
		      json_object_get(b->info, "inputs"));
	print_tensors("weight", b->weight, b->weight_count, NULL);
	print_scalars(b);
	print_tensors("output", b->out, b->out_count, NULL);
	if (!isnan(b->flops))
		printf("operations: %.6g\n", b->flops);
	printf("bytes: %.6g\n", b->bytes);
	print_data(b);
	if (!t->health.healthy)
		printf("not healthy: %s\n", t->health.text);
	json_decref(sizes);
}

static enum kf_code show_one(const struct kf_options *options,
			     const struct kf_target *target, const char *path,
			     struct kf_err *err)
{
	struct kf_problem_spec spec = { .path = path };
	json_t *presets = NULL;
	enum kf_code code = kf_problem_presets(&spec, &presets, err);

	if (!code && options->json)
		print_json(target, presets);
	else if (!code)
		print_words(target, presets);
	json_decref(presets);
	return code;
}

static int show(const struct kf_options *options, const char **argument,
		size_t argument_count)
{
	struct kf_target target = { 0 };
	struct kf_setup setup = { 0 };
	struct kf_err err = { 0 };
	struct kf_setup_spec spec;
	struct kf_log log;
	enum kf_code code;

	(void)argument_count;
	kf_cli_log(options, &log);
	kf_cli_catch_signals();
	spec = kf_cli_setup_spec(options, &log);
	spec.baseline = KF_BASELINE_NONE;
	code = kf_cli_open(options, &spec, argument[0], NULL, &setup, &target,
			   &err);
	if (!code)
		code = show_one(options, &target, argument[0], &err);
	kf_target_release(&target);
	kf_setup_release(&setup);
	return code ? kf_cli_fail(&err) : KF_EXIT_GOOD;
}

const struct kf_command kf_command_problem_show = {
	.name = "problem show",
	.arguments = "PROBLEM",
	.summary = "its sizes, shapes, types, counts, and the data it is judged on",
	.options = "set size dtype threads sandbox python cache json quiet "
		   "verbose help",
	.argument_min = 1,
	.argument_max = 1,
	.run = show,
};
