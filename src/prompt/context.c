#include "prompt/context.h"

#include <math.h>

#define CONTRACT "kforge/program.h"
#define LAUNCH "kforge/launch.h"
#define CONTRACT_BYTES (64u << 10)

static void set(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		abort();	/* only out of memory; all keys are ours */
}

static void set_text(json_t *object, const char *key, const char *text)
{
	set(object, key, text ? kf_json_string(text, strlen(text)) :
				json_null());
}

static void set_number(json_t *object, const char *key, double value)
{
	set(object, key, kf_json_number(value));
}

static void set_count(json_t *object, const char *key, uint64_t value)
{
	set(object, key, json_integer((json_int_t)value));
}

/* --- texts ----------------------------------------------------------- */

static size_t longest_run(const char *text, size_t len, char c)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < len; i++) {
		run = text[i] == c ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

json_t *kf_prompt_text(const char *text, size_t len, size_t max)
{
	size_t shown = len <= max ? len : kf_utf8_cut(text, max);
	size_t ticks = longest_run(text, shown, '`') + 1;
	struct kf_buf fence = { .max = len + 8 };
	json_t *object = json_object();

	/* One line end at the end: the fence begins a line of its own. */
	while (shown && (text[shown - 1] == '\n' || text[shown - 1] == '\r'))
		shown--;
	for (size_t i = 0; i < (ticks < 3 ? 3 : ticks); i++)
		kf_buf_puts(&fence, "`");
	set(object, "text", kf_json_string(text, shown));
	set(object, "fence", kf_json_string(kf_buf_str(&fence), fence.len));
	set_count(object, "cut", len <= max ? 0 : len - shown);
	kf_buf_release(&fence);
	return object;
}

static json_t *whole_text(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	return kf_prompt_text(text ? text : "", len, len);
}

/* --- platform and device --------------------------------------------- */

static json_t *files_of(const struct kf_platform *platform)
{
	json_t *list = json_array();

	for (size_t i = 0; i < platform->file_count; i++) {
		const struct kf_platform_file *file = &platform->file[i];
		json_t *entry = json_object();

		set_text(entry, "name", file->name);
		set_text(entry, "language", file->language);
		set(entry, "required", json_boolean(file->required));
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *dtypes_of(const struct kf_platform *platform)
{
	json_t *list = json_array();

	for (int i = KF_BOOL; i <= KF_F64; i++)
		if (platform->dtypes & UINT64_C(1) << i)
			json_array_append_new(list, json_string(
				kf_dtype_name((enum kf_dtype)i)));
	return list;
}

static json_t *example_of(const struct kf_platform *platform)
{
	json_t *object, *list = json_array();

	if (!platform->example_problem || !platform->example_text) {
		json_decref(list);
		return json_null();
	}
	for (size_t i = 0; i < platform->file_count; i++) {
		json_t *entry;

		if (!platform->example_text[i])
			continue;
		entry = whole_text(platform->example_text[i]);
		set_text(entry, "name", platform->file[i].name);
		set_text(entry, "language", platform->file[i].language);
		json_array_append_new(list, entry);
	}
	object = json_object();
	set(object, "problem", whole_text(platform->example_problem));
	set(object, "files", list);
	return object;
}

static bool is_two_part(const struct kf_platform *platform)
{
	return platform->driver && platform->driver->two_part;
}

static json_t *platform_of(const struct kf_platform *platform)
{
	json_t *object = json_object();

	set_text(object, "name", platform->name);
	set_text(object, "title", platform->title);
	set_text(object, "form", platform->form ? platform->form :
		 is_two_part(platform) ? "two-part" : "c");
	set_text(object, "forward", platform->driver ?
		 kf_driver_entry(platform->driver, false) : "kf_forward");
	set_text(object, "torch_device", platform->driver ?
		 platform->driver->torch_device : NULL);
	set(object, "two_part", json_boolean(is_two_part(platform)));
	set(object, "files", files_of(platform));
	set(object, "dtypes", dtypes_of(platform));
	set_text(object, "notes", platform->notes ? platform->notes : "");
	set(object, "example", example_of(platform));
	return object;
}

/* Lines "name: value" as pairs; a line without a colon has no name. */
static json_t *card_of(const struct kf_device_info *device)
{
	const char *at = kf_buf_str(&device->card);
	json_t *list = json_array();

	while (*at) {
		size_t len = strcspn(at, "\n");
		const char *colon = memchr(at, ':', len);
		size_t name = colon ? (size_t)(colon - at) : 0;
		size_t skip = colon ? name + 1 : 0;
		json_t *entry = json_object();

		while (skip < len && at[skip] == ' ')
			skip++;
		set(entry, "name", kf_json_string(at, name));
		set(entry, "value", kf_json_string(at + skip, len - skip));
		if (len)
			json_array_append_new(list, entry);
		else
			json_decref(entry);
		at += len + (at[len] == '\n');
	}
	return list;
}

static json_t *device_of(const struct kf_device_info *device)
{
	json_t *object = json_object();

	set_text(object, "id", device->id);
	set_text(object, "name", device->name);
	set_text(object, "arch", device->arch);
	set(object, "in_process", json_boolean(device->in_process));
	set_count(object, "units", device->units);
	set_count(object, "memory_bytes", device->memory_bytes);
	set(object, "card", card_of(device));
	return object;
}

/* --- problem --------------------------------------------------------- */

static json_t *tensors_of(const struct kf_tensor_info *info, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count && i < KF_PROMPT_TENSORS; i++) {
		json_t *entry = json_object(), *shape = json_array();

		for (int k = 0; k < info[i].rank; k++)
			json_array_append_new(shape,
					      json_integer(info[i].shape[k]));
		set_text(entry, "name", info[i].name ? info[i].name : "");
		set_text(entry, "dtype", info[i].dtype ?
			 kf_dtype_name(info[i].dtype) : "none");
		set(entry, "shape", shape);
		set_count(entry, "count", (uint64_t)info[i].numel);
		set(entry, "structural", json_boolean(info[i].structural));
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *scalars_of(const struct kf_bundle *bundle)
{
	json_t *list = json_array();

	for (size_t i = 0; i < bundle->scalar_count; i++) {
		const struct kf_scalar_info *scalar = &bundle->scalar[i];
		json_t *entry = json_object();

		set_text(entry, "kind", scalar->kind == 'i' ? "int" :
			 scalar->kind == 'b' ? "bool" : "float");
		set(entry, "value", scalar->kind == 'f' ?
		    kf_json_number(scalar->f) : scalar->kind == 'b' ?
		    json_boolean(scalar->i) : json_integer(scalar->i));
		json_array_append_new(list, entry);
	}
	return list;
}

/* What prompts call the problem, and whom the program must beat. */
static const struct { const char *noun, *rival; } words[KF_PROBLEM_KINDS] = {
	[KF_PROBLEM_PYTHON] = { "PyTorch module", "PyTorch" },
	[KF_PROBLEM_C] = { "C reference", "the reference" },
};

static json_t *problem_files_of(const struct kf_problem_file *file,
				size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *entry = kf_prompt_text(file[i].text, file[i].len,
					       file[i].len);

		set_text(entry, "name", file[i].name);
		set_text(entry, "language", file[i].language);
		json_array_append_new(list, entry);
	}
	return list;
}

/* What only a description in JSON says: named sizes, and what kf_real is. */
static void set_described(json_t *object, const struct kf_problem_file *file,
			  size_t count)
{
	json_t *json = NULL, *sizes = NULL;
	const char *dtype = "";

	for (size_t i = 0; i < count && !json; i++)
		if (strcmp(file[i].language, "json") == 0 &&
		    kf_json_parse(file[i].text, file[i].len, file[i].name,
				  &json, NULL))
			json = NULL;
	sizes = json_object_get(json, "sizes");
	dtype = kf_json_str(json, "dtype", "float32");
	set(object, "sizes", sizes ? json_incref(sizes) : json_object());
	set_text(object, "real", strcmp(dtype, "float64") == 0 ? "double" :
		 "float");
	json_decref(json);
}

static json_t *problem_of(const struct kf_problem *problem,
			  const struct kf_bundle *bundle)
{
	struct kf_problem_file file[KF_PROBLEM_FILES_MAX];
	size_t file_count = kf_problem_files(problem, file);
	enum kf_dtype dtype = kf_problem_cast(problem);
	json_t *object = json_object();

	set_text(object, "name", problem->name);
	set_text(object, "kind", kf_problem_kind_name(problem->kind));
	set_text(object, "noun", words[problem->kind].noun);
	set_text(object, "rival", words[problem->kind].rival);
	set(object, "source", whole_text(problem->source));
	set(object, "files", problem_files_of(file, file_count));
	set_described(object, file, file_count);
	set_text(object, "dtype", dtype ? kf_dtype_name(dtype) : NULL);
	set(object, "inputs", tensors_of(bundle->in, bundle->in_count));
	set(object, "weights", tensors_of(bundle->weight,
					  bundle->weight_count));
	set(object, "outputs", tensors_of(bundle->out, bundle->out_count));
	set_count(object, "input_count", bundle->in_count);
	set_count(object, "weight_count", bundle->weight_count);
	set_count(object, "output_count", bundle->out_count);
	set(object, "scalars", scalars_of(bundle));
	set_number(object, "flops", bundle->flops);
	set_number(object, "bytes", bundle->bytes);
	return object;
}

static json_t *shapes_of(const struct kf_prompt_request *req)
{
	json_t *list = json_array();

	for (size_t i = 0; i < req->shape_count; i++) {
		const struct kf_bundle *bundle = req->shape[i].bundle;
		json_t *entry = json_object();

		set_text(entry, "name", req->shape[i].name);
		set(entry, "inputs", tensors_of(bundle->in, bundle->in_count));
		set(entry, "weights", tensors_of(bundle->weight,
						 bundle->weight_count));
		set(entry, "outputs", tensors_of(bundle->out,
						 bundle->out_count));
		set(entry, "scalars", scalars_of(bundle));
		json_array_append_new(list, entry);
	}
	return list;
}

/* kf_state_name's; those that fail first. */
static const char *const states[] = {
	"generation_failure", "compilation_failure", "runtime_error",
	"mismatch", "correct",
};
#define FAILING 4u

/* --- attempts -------------------------------------------------------- */

static const char *language_of(const struct kf_platform *platform,
			       const char *name)
{
	for (size_t i = 0; i < platform->file_count; i++)
		if (!strcmp(platform->file[i].name, name))
			return platform->file[i].language;
	return "";
}

static json_t *source_of(const struct kf_platform *platform,
			 const struct kf_prompt_attempt *attempt)
{
	size_t room = KF_PROMPT_FILES_BYTES;
	json_t *list = json_array();

	for (size_t i = 0; i < attempt->file_count; i++) {
		const struct kf_source_file *file = &attempt->file[i];
		json_t *entry = kf_prompt_text(file->text, file->len, room);

		room -= file->len < room ? file->len : room;
		set_text(entry, "name", file->name);
		set_text(entry, "language", language_of(platform, file->name));
		json_array_append_new(list, entry);
	}
	return list;
}

/* A summary is one line, whatever the model has put into it. */
static json_t *summary_of(const char *summary)
{
	size_t len = summary ? strlen(summary) : 0, shown = len;
	char *line, *cut;
	json_t *value;

	if (!len)
		return json_null();
	if (len > KF_PROMPT_SUMMARY_BYTES)
		shown = kf_utf8_cut(summary, KF_PROMPT_SUMMARY_BYTES);
	line = kf_strndup(summary, shown);
	for (char *c = line; *c; c++)
		if (*c == '\n' || *c == '\r' || *c == '\t')
			*c = ' ';
	cut = kf_format("%s%s", line, shown < len ? " ..." : "");
	value = kf_json_string(cut, strlen(cut));
	free(cut);
	free(line);
	return value;
}

static json_t *factor_of(double factor)
{
	return factor > 0 ? kf_json_number(factor) : json_null();
}

static json_t *line_of(const struct kf_prompt_attempt *attempt)
{
	json_t *object = json_object();

	set_count(object, "number", attempt->number);
	set_text(object, "state", attempt->state ? attempt->state : "");
	set_text(object, "reason", attempt->reason ? attempt->reason : "");
	set_number(object, "time_ms", attempt->time_ns / 1e6);
	set_number(object, "baseline_ms", attempt->baseline_ns / 1e6);
	set_number(object, "speedup", attempt->speedup);
	set(object, "summary", summary_of(attempt->summary));
	set(object, "expected_gain", factor_of(attempt->expected_gain));
	set(object, "gain", factor_of(attempt->gain));
	return object;
}

static json_t *attempt_of(const struct kf_platform *platform,
			  const struct kf_prompt_attempt *attempt)
{
	const char *feedback;
	json_t *object;

	if (!attempt)
		return json_null();
	feedback = attempt->feedback ? attempt->feedback : "";
	object = line_of(attempt);
	set(object, "feedback", kf_prompt_text(feedback, strlen(feedback),
					       KF_PROMPT_FEEDBACK_BYTES));
	set(object, "files", source_of(platform, attempt));
	return object;
}

/* How many are too old to be listed. */
static size_t older_count(const struct kf_prompt_request *req)
{
	return req->history_count > KF_PROMPT_HISTORY_LINES ?
	       req->history_count - KF_PROMPT_HISTORY_LINES : 0;
}

/* The best one stays, however old it is, in the place of the first. */
static bool best_is_older(const struct kf_prompt_request *req, size_t first)
{
	return first && req->best &&
	       req->best->number < req->history[first].number;
}

/* The newest attempts. */
static json_t *history_of(const struct kf_prompt_request *req)
{
	size_t first = older_count(req);
	json_t *list = json_array();

	for (size_t i = first; i < req->history_count; i++)
		json_array_append_new(list, line_of(
			i == first && best_is_older(req, first) ? req->best :
			&req->history[i]));
	return list;
}

/* What became of those that are not listed, an entry for each state. */
static json_t *older_of(const struct kf_prompt_request *req)
{
	size_t first = older_count(req);
	bool swapped = best_is_older(req, first);
	json_t *list = json_array();

	for (size_t s = 0; s < KF_COUNT(states); s++) {
		double best = (double)NAN;
		uint64_t found = 0;
		json_t *entry;

		for (size_t i = 0; i < first + swapped; i++) {
			const struct kf_prompt_attempt *a = &req->history[i];

			if (!a->state || strcmp(a->state, states[s]) != 0 ||
			    (swapped && a->number == req->best->number))
				continue;
			found++;
			if (!(best >= a->speedup) && !isnan(a->speedup))
				best = a->speedup;
		}
		if (!found)
			continue;
		entry = json_object();
		set_text(entry, "state", states[s]);
		set_count(entry, "count", found);
		set_number(entry, "best_speedup", best);
		json_array_append_new(list, entry);
	}
	return list;
}

/* --- all of it ------------------------------------------------------- */

static bool is_failing(const struct kf_prompt_attempt *attempt)
{
	for (size_t i = 0; attempt && i < FAILING; i++)
		if (attempt->state && !strcmp(attempt->state, states[i]))
			return true;
	return false;
}

const char *kf_prompt_mode(const struct kf_prompt_request *req)
{
	if (req->best && (req->optimize || !is_failing(req->previous)))
		return "optimize";
	return is_failing(req->previous) ? "repair" : "generate";
}

/* A header as it ships. */
static json_t *header_of(const char *name, struct kf_err *err,
			 enum kf_code *code)
{
	struct kf_buf text = { .max = CONTRACT_BYTES };
	char *home = kf_home(err), *path = NULL;
	json_t *object;

	*code = home ? KF_OK : KF_E_UNAVAIL;
	if (home) {
		path = kf_format("%s/include/%s", home, name);
		*code = kf_file_read(path, &text, err);
	}
	object = kf_prompt_text(kf_buf_str(&text), text.len, text.len);
	set_text(object, "name", name);
	kf_buf_release(&text);
	free(path);
	free(home);
	return object;
}

enum kf_code kf_prompt_context_make(const struct kf_prompt_request *req,
				    json_t **out, struct kf_err *err)
{
	json_t *object = json_object();
	enum kf_code code;

	set_text(object, "mode", kf_prompt_mode(req));
	set_count(object, "attempt", req->attempt);
	set_count(object, "attempt_max", req->attempt_max);
	set_number(object, "target_speedup", req->target_speedup);
	set(object, "plateau", json_boolean(req->plateau));
	set(object, "libraries", json_boolean(!req->no_libraries));
	set(object, "contract", header_of(CONTRACT, err, &code));
	set(object, "launch", code || !is_two_part(req->platform) ?
	    json_null() : header_of(LAUNCH, err, &code));
	set(object, "platform", platform_of(req->platform));
	set(object, "device", device_of(req->device));
	set(object, "problem", problem_of(req->problem, req->bundle));
	set(object, "shapes", shapes_of(req));
	set(object, "previous", attempt_of(req->platform, req->previous));
	set(object, "best", attempt_of(req->platform, req->best));
	set(object, "history", history_of(req));
	set(object, "history_older", older_of(req));
	set_count(object, "history_count", req->history_count);
	set(object, "page", req->page ? kf_prompt_text(req->page,
		strlen(req->page), KF_PROMPT_FEEDBACK_BYTES) : json_null());
	set(object, "advice", req->advice ? json_deep_copy(req->advice) :
	    json_null());
	*out = object;
	return code;
}

json_t *kf_prompt_context(const struct kf_prompt_request *req)
{
	struct kf_err err = { 0 };
	enum kf_code code;
	json_t *object;

	/* Without the header its text is empty: the rest can still be shown. */
	code = kf_prompt_context_make(req, &object, &err);
	(void)code;
	return object;
}
