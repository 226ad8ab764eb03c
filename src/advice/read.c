/* A model's reply, checked member by member: what is wrong is said so that it
 * can be mended. */
#include "advice/advice.h"

#include <math.h>

#define CHANGE_LEAST 10u	/* "tile" is no recommendation */

/* What is being read, and where the sentence goes. */
struct reading {
	const struct kf_advice_request *req;
	struct kf_advice *out;
	char *why;
};

static bool wrong(const struct reading *r, const char *fmt, ...)
	KF_PRINTF(2, 3);

static bool wrong(const struct reading *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->why, KF_ADVICE_WHY_BYTES, fmt, args);
	va_end(args);
	return false;
}

/* --- the object ----------------------------------------------------------- */

static const char *find(const char *at, const char *end, const char *what)
{
	return memmem(at, (size_t)(end - at), what, strlen(what));
}

/* The inside of the last fenced block; the whole text without one. */
static void last_block(const char **text, size_t *len)
{
	const char *end = *text + *len, *open = NULL, *close = NULL;
	const char *at = *text, *fence;

	while ((fence = find(at, end, "```"))) {
		const char *next = find(fence + 3, end, "```");

		if (!next)
			break;
		open = fence + 3;
		close = next;
		at = next + 3;
	}
	if (!open)
		return;
	*text = open;
	*len = (size_t)(close - open);
}

static json_t *find_object(const char *text, size_t len)
{
	const char *first, *last;
	json_t *json = NULL;

	last_block(&text, &len);
	first = memchr(text, '{', len);
	last = memrchr(text, '}', len);
	if (first && last > first &&
	    kf_json_parse(first, (size_t)(last - first) + 1, "advice", &json,
			  NULL))
		json = NULL;
	return json;
}

/* --- its members ---------------------------------------------------------- */

static bool read_text(const struct reading *r, const json_t *json,
		      const char *key, size_t least, char **out)
{
	const json_t *value = json_object_get(json, key);
	size_t len = json_string_length(value);

	if (!least && !value) {
		*out = kf_strdup("");
		return true;
	}
	if (!json_is_string(value))
		return wrong(r, "\"%s\" must be a string", key);
	if (len < least)
		return wrong(r, "\"%s\" says too little: one or two full "
			     "sentences are wanted", key);
	if (len > KF_ADVICE_TEXT_BYTES)
		return wrong(r, "\"%s\" is longer than %u bytes", key,
			     KF_ADVICE_TEXT_BYTES);
	*out = kf_strndup(json_string_value(value), len);
	return true;
}

static bool read_bottleneck(const struct reading *r, const json_t *json)
{
	struct kf_buf names = { .max = 300 };
	const char *word = kf_json_str(json, "bottleneck", "");

	r->out->bottleneck = kf_profile_class_by_name(word);
	if (r->out->bottleneck)
		return true;
	for (int i = KF_CLASS_UNKNOWN + 1; i < KF_CLASSES; i++)
		kf_buf_printf(&names, "%s\"%s\"", i > 1 ? ", " : "",
			      kf_profile_class_name((enum kf_profile_class)i));
	wrong(r, "\"bottleneck\" must be one of %s", kf_buf_str(&names));
	kf_buf_release(&names);
	return false;
}

static bool read_gain(const struct reading *r, const json_t *json)
{
	const json_t *value = json_object_get(json, "expected_gain");
	double gain = json_is_number(value) ? json_number_value(value) : 0;

	if (!(gain >= 1 && gain <= KF_ADVICE_GAIN_MAX))
		return wrong(r, "\"expected_gain\" must be a number, how many "
			     "times as fast the program becomes: 1.3, say");
	r->out->expected_gain = gain;
	return true;
}

/* --- evidence ------------------------------------------------------------- */

/* Of a kernel if one is named, else the first that has it. */
static const struct kf_metric *measured(const struct kf_profile *profile,
					const char *kernel, const char *name)
{
	if (kernel[0])
		return kf_metrics_find(&profile->metrics, kernel, name);
	for (size_t i = 0; i < profile->metrics.count; i++)
		if (strcmp(profile->metrics.metric[i].name, name) == 0)
			return &profile->metrics.metric[i];
	return NULL;
}

static bool read_counter(const struct reading *r, const json_t *entry,
			 struct kf_advice_evidence *e)
{
	const struct kf_roofline *roofline = r->req->roofline;
	const char *name = kf_json_str(entry, "counter", NULL);
	const char *kernel = kf_json_str(entry, "kernel", "");
	const struct { const char *name; double value; } own[] = {
		{ "memory_share", roofline->memory_share },
		{ "compute_share", roofline->compute_share },
	};
	const struct kf_metric *m;

	if (!name)
		return true;
	for (size_t i = 0; i < KF_COUNT(own); i++)
		if (!isnan(own[i].value) && strcmp(own[i].name, name) == 0) {
			e->counter = kf_strdup(name);
			e->kernel = kf_strdup("");
			e->value = own[i].value;
			return true;
		}
	m = measured(r->req->profile, kernel, name);
	if (!m)
		return wrong(r, "there is no counter \"%.80s\"%s%.80s in the "
			     "profile: cite one by its name there", name,
			     kernel[0] ? " of kernel " : "", kernel);
	e->counter = kf_strdup(m->name);
	e->kernel = kf_strdup(m->kernel);
	e->value = m->value;
	return true;
}

static size_t lines_of(const struct kf_source_file *file)
{
	size_t count = file->len && file->text[file->len - 1] != '\n';

	for (size_t i = 0; i < file->len; i++)
		count += file->text[i] == '\n';
	return count;
}

static bool is_line(const struct kf_prompt_attempt *program, const char *line)
{
	const char *colon = strrchr(line, ':');
	uint64_t number;

	if (!colon || !kf_parse_u64(colon + 1, &number) || !number)
		return false;
	for (size_t i = 0; program && i < program->file_count; i++) {
		const struct kf_source_file *file = &program->file[i];

		if (strlen(file->name) == (size_t)(colon - line) &&
		    strncmp(file->name, line, (size_t)(colon - line)) == 0)
			return number <= lines_of(file);
	}
	return false;
}

static bool read_one(const struct reading *r, const json_t *entry,
		     struct kf_advice_evidence *e)
{
	const char *line = kf_json_str(entry, "line", NULL);

	e->value = (double)NAN;
	if (!json_is_object(entry))
		return wrong(r, "each entry of \"evidence\" must be an "
			     "object with \"counter\", \"line\", or both");
	if (!read_counter(r, entry, e))
		return false;
	if (line && !is_line(r->req->prompt->best, line))
		return wrong(r, "there is no line \"%.80s\" in the program: "
			     "write FILE:NUMBER", line);
	e->line = kf_strdup(line);
	if (e->counter || e->line)
		return true;
	return wrong(r, "an entry of \"evidence\" has neither \"counter\" nor "
		     "\"line\"");
}

static bool read_evidence(const struct reading *r, const json_t *json)
{
	const json_t *list = json_object_get(json, "evidence");
	struct kf_advice *out = r->out;
	size_t count = json_array_size(list);

	if (!count || count > KF_ADVICE_EVIDENCE_MAX)
		return wrong(r, "\"evidence\" must be a list of 1 to %u "
			     "objects", KF_ADVICE_EVIDENCE_MAX);
	for (size_t i = 0; i < count; i++) {
		out->evidence_count = i + 1;
		if (!read_one(r, json_array_get(list, i), &out->evidence[i]))
			return false;
	}
	return true;
}

bool kf_advice_read(const struct kf_advice_request *req, const char *reply,
		    size_t len, struct kf_advice *out,
		    char why[KF_ADVICE_WHY_BYTES])
{
	struct reading r = { req, out, why };
	json_t *json = find_object(reply, len);
	bool good;

	*out = (struct kf_advice) { .expected_gain = (double)NAN };
	why[0] = '\0';
	good = json ? read_bottleneck(&r, json) && read_evidence(&r, json) &&
		read_text(&r, json, "change", CHANGE_LEAST, &out->change) &&
		read_gain(&r, json) &&
		read_text(&r, json, "keep", 0, &out->keep) &&
		read_text(&r, json, "algorithm", 0, &out->algorithm) :
		wrong(&r, "no JSON object was found in the answer");
	if (good)
		out->source = KF_ADVICE_MODEL;
	json_decref(json);
	return good;
}
