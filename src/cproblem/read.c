/* problem.json into struct kf_cproblem; whatever is wrong is one sentence. */
#include "cproblem/cproblem.h"

#include <math.h>

#define INPUTS_MAX 64
#define WEIGHTS_MAX 256
#define OUTPUTS_MAX 16
#define SCALARS_MAX 64
#define SIZES_MAX 32
#define PRESETS_MAX 32
#define NAME_BYTES 64
#define SIZE_MOST (INT64_C(1) << 40)
#define TENSOR_BYTES (UINT64_C(4) << 30)

/* What is being read: file, and the member that sentences name. */
struct reader {
	const char *file;
	char where[96];		/* "inputs[0].shape[1]" */
	struct kf_cproblem *out;
	struct kf_err *err;
};

static enum kf_code wrong(const struct reader *r, const char *why)
{
	return kf_fail(r->err, KF_E_INPUT, "%s: \"%s\" %s", r->file, r->where,
		       why);
}

/* --- objects ------------------------------------------------------------- */

static bool is_among(const char *key, const char *known)
{
	size_t len = strlen(key);

	while (*known) {
		size_t word = strcspn(known, " ");

		if (word == len && memcmp(known, key, len) == 0)
			return true;
		known += word + (known[word] == ' ');
	}
	return false;
}

/* Refuses members that are not among the space-separated known ones: a typing
 * error must not silently become a default. */
static enum kf_code only_known(const struct reader *r, const json_t *object,
			       const char *known)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)object, key, value) {
		if (!is_among(key, known))
			return kf_fail(r->err, KF_E_INPUT, "%s: unknown member "
				       "\"%s%s%s\"; known ones are: %s",
				       r->file, r->where, r->where[0] ? "."
				       : "", key, known);
	}
	return KF_OK;
}

/* A whole number, or an expression of sizes. */
static enum kf_code read_whole(const struct reader *r, const json_t *value,
			       int64_t *out)
{
	struct kf_err why = { 0 };

	*out = json_integer_value(value);
	if (json_is_integer(value))
		return KF_OK;
	if (!json_is_string(value))
		return wrong(r, "must be a whole number, or an expression of "
			     "sizes such as \"2 * ROWS\"");
	if (kf_expr_eval(json_string_value(value), r->out->size,
			 r->out->size_count, out, &why))
		return kf_fail(r->err, KF_E_INPUT, "%s: \"%s\" cannot be "
			       "worked out: %s", r->file, r->where, why.text);
	return KF_OK;
}

/* A number, or an expression of sizes, which is a whole one. */
static enum kf_code read_real(const struct reader *r, const json_t *value,
			      double *out)
{
	int64_t whole = 0;
	enum kf_code code;

	*out = json_real_value(value);
	if (json_is_real(value))
		return isfinite(*out) ? KF_OK : wrong(r, "must be finite");
	code = read_whole(r, value, &whole);
	*out = (double)whole;
	return code;
}

static bool is_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	size_t len = strlen(name);

	return len && len <= NAME_BYTES && strchr(letters, name[0]) &&
		strspn(name, "abcdefghijklmnopqrstuvwxyz"
		       "ABCDEFGHIJKLMNOPQRSTUVWXYZ_.0123456789") == len;
}

static bool name_is_used(const struct kf_ctensors *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->at[i].info.name &&
		    strcmp(list->at[i].info.name, name) == 0)
			return true;
	return false;
}

/* --- sizes --------------------------------------------------------------- */

static enum kf_code check_size(struct reader *r, const char *member,
			       const char *name, const json_t *value)
{
	json_int_t number = json_integer_value(value);

	snprintf(r->where, sizeof(r->where), "%s.%.32s", member, name);
	if (!kf_size_name_good(name))
		return wrong(r, "is no name for a size: capital letters, "
			     "digits and underscores, at most 32, not KF_... "
			     "and not what C has taken");
	if (!json_is_integer(value) || number < 1 || number > SIZE_MOST)
		return wrong(r, "must be a whole number of at least 1");
	return KF_OK;
}

static enum kf_code read_sizes(struct reader *r, const json_t *json)
{
	json_t *sizes = json_object_get(json, "sizes"), *value;
	const char *name;

	snprintf(r->where, sizeof(r->where), "sizes");
	if (!sizes)
		return KF_OK;
	if (!json_is_object(sizes) || json_object_size(sizes) > SIZES_MAX)
		return wrong(r, "must be an object of names and whole numbers, "
			     "32 at most");
	r->out->size = kf_alloc((json_object_size(sizes) + 1) *
				sizeof(r->out->size[0]));
	json_object_foreach(sizes, name, value) {
		enum kf_code code = check_size(r, "sizes", name, value);

		if (code)
			return code;
		r->out->size[r->out->size_count++] = (struct kf_size) {
			kf_strdup(name), json_integer_value(value),
		};
	}
	return KF_OK;
}

static bool is_size(const struct kf_cproblem *problem, const char *name)
{
	for (size_t i = 0; i < problem->size_count; i++)
		if (strcmp(problem->size[i].name, name) == 0)
			return true;
	return false;
}

static enum kf_code check_preset(struct reader *r, const char *preset,
				 const json_t *sizes)
{
	const char *name;
	json_t *value;

	snprintf(r->where, sizeof(r->where), "presets.%.32s", preset);
	if (!json_is_object(sizes))
		return wrong(r, "must be an object of sizes");
	json_object_foreach((json_t *)(uintptr_t)sizes, name, value) {
		char member[64];
		enum kf_code code;

		snprintf(member, sizeof(member), "presets.%.32s", preset);
		code = check_size(r, member, name, value);
		if (code)
			return code;
		if (!is_size(r->out, name))
			return wrong(r, "is not among \"sizes\"");
	}
	return KF_OK;
}

static enum kf_code check_presets(struct reader *r, const json_t *json)
{
	json_t *presets = json_object_get(json, "presets"), *sizes;
	enum kf_code code = KF_OK;
	const char *name;

	snprintf(r->where, sizeof(r->where), "presets");
	if (!presets)
		return KF_OK;
	if (!json_is_object(presets) ||
	    json_object_size(presets) > PRESETS_MAX)
		return wrong(r, "must be an object of presets, 32 at most");
	json_object_foreach(presets, name, sizes)
		if (!code)
			code = check_preset(r, name, sizes);
	return code;
}

/* --- tensors ------------------------------------------------------------- */

static enum kf_code read_dtype(struct reader *r, const json_t *entry,
			       struct kf_ctensor *out)
{
	const char *name = kf_json_str(entry, "dtype", "");

	out->real = strcmp(name, "real") == 0;
	out->info.dtype = out->real ? r->out->real : kf_dtype_by_name(name);
	if (!out->info.dtype || out->info.dtype == KF_F16 ||
	    out->info.dtype == KF_BF16)
		return wrong(r, "must have a \"dtype\": real, float32, "
			     "float64, int8, int16, int32, int64, uint8 or "
			     "bool");
	return KF_OK;
}

static enum kf_code read_shape(struct reader *r, const json_t *entry,
			       struct kf_tensor_info *out)
{
	const json_t *shape = json_object_get(entry, "shape");
	size_t rank = json_array_size(shape), before = strlen(r->where);

	if (!json_is_array(shape) || rank > KF_MAX_RANK)
		return wrong(r, "must have a \"shape\", a list of at most 8 "
			     "whole numbers or expressions of sizes");
	out->rank = (int)rank;
	out->numel = 1;
	for (size_t i = 0; i < rank; i++) {
		enum kf_code code;

		snprintf(r->where + before, sizeof(r->where) - before,
			 ".shape[%zu]", i);
		code = read_whole(r, json_array_get(shape, i), &out->shape[i]);
		if (code)
			return code;
		if (out->shape[i] < 1)
			return wrong(r, "must be at least 1");
		if (__builtin_mul_overflow(out->numel, out->shape[i],
					   &out->numel))
			out->numel = INT64_MAX;
	}
	r->where[before] = '\0';
	if ((uint64_t)out->numel > TENSOR_BYTES / kf_dtype_bytes(out->dtype))
		return kf_fail(r->err, KF_E_LIMIT, "%s: \"%s\" would take "
			       "more than 4 GiB; choose smaller sizes with "
			       "--set or --size", r->file, r->where);
	out->bytes = (size_t)out->numel * kf_dtype_bytes(out->dtype);
	return KF_OK;
}

/* What an integer type can hold; a float type holds anything here. */
static bool fits(enum kf_dtype dtype, double value)
{
	static const struct { double low, high; } range[] = {
		[KF_BOOL] = { 0, 1 }, [KF_U8] = { 0, 255 },
		[KF_I8] = { -128, 127 }, [KF_I16] = { -32768, 32767 },
		[KF_I32] = { -2147483648.0, 2147483647.0 },
		[KF_I64] = { -0x1p53, 0x1p53 },
	};

	return dtype >= KF_F16 || (value >= range[dtype].low &&
				   value <= range[dtype].high);
}

static const struct values_row {
	const char *name, *members, *a, *b;
	bool whole;		/* gives whole numbers: for integer types too */
} values_row[KF_VALUES_KINDS] = {
	[KF_VALUES_NORMAL] = { "normal", "kind mean std", "mean", "std", false },
	[KF_VALUES_UNIFORM] = { "uniform", "kind low high", "low", "high", false },
	[KF_VALUES_INTEGERS] = { "integers", "kind low high", "low", "high", true },
	[KF_VALUES_BERNOULLI] = { "bernoulli", "kind p", "p", NULL, true },
	[KF_VALUES_CONSTANT] = { "constant", "kind value", "value", NULL, true },
};

static enum kf_code check_values(const struct reader *r,
				 const struct kf_ctensor *t)
{
	const struct kf_values *v = &t->values;
	bool integer = t->info.dtype < KF_F16;

	if (integer && !values_row[v->kind].whole)
		return wrong(r, "gives no whole numbers: use integers, "
			     "bernoulli or constant for this type");
	if (v->kind == KF_VALUES_NORMAL && v->b < 0)
		return wrong(r, "must have a \"std\" of at least 0");
	if (v->kind == KF_VALUES_BERNOULLI && (v->a < 0 || v->a > 1))
		return wrong(r, "must have a \"p\" from 0 to 1");
	if ((v->kind == KF_VALUES_UNIFORM || v->kind == KF_VALUES_INTEGERS) &&
	    v->a > v->b)
		return wrong(r, "must have a \"low\" that is not above "
			     "\"high\"");
	if (v->kind == KF_VALUES_INTEGERS &&
	    (trunc(v->a) != v->a || trunc(v->b) != v->b ||
	     fabs(v->a) > 0x1p53 || fabs(v->b) > 0x1p53))
		return wrong(r, "must have a whole \"low\" and \"high\"");
	if (integer && v->kind == KF_VALUES_CONSTANT && trunc(v->a) != v->a)
		return wrong(r, "must have a whole \"value\" for this type");
	if (integer && v->kind != KF_VALUES_BERNOULLI &&
	    (!fits(t->info.dtype, v->a) || (v->kind == KF_VALUES_INTEGERS &&
					    !fits(t->info.dtype, v->b))))
		return wrong(r, "goes beyond what the type can hold");
	return KF_OK;
}

static enum kf_code read_number(struct reader *r, const json_t *object,
				const char *member, double *out)
{
	size_t before = strlen(r->where);
	enum kf_code code;

	snprintf(r->where + before, sizeof(r->where) - before, ".%s", member);
	if (json_object_get(object, member))
		code = read_real(r, json_object_get(object, member), out);
	else
		code = wrong(r, "is missing");
	if (!code)
		r->where[before] = '\0';
	return code;
}

static enum kf_code read_values(struct reader *r, const json_t *entry,
				struct kf_ctensor *out)
{
	const json_t *values = json_object_get(entry, "values");
	const char *kind = kf_json_str(values, "kind", "");
	size_t before = strlen(r->where), i = 0;
	const struct values_row *row;
	enum kf_code code;

	snprintf(r->where + before, sizeof(r->where) - before, ".values");
	while (i < KF_VALUES_KINDS && strcmp(values_row[i].name, kind) != 0)
		i++;
	if (i == KF_VALUES_KINDS)
		return wrong(r, "must have a \"kind\": normal, uniform, "
			     "integers, bernoulli or constant");
	row = &values_row[i];
	out->values.kind = (enum kf_values_kind)i;
	code = only_known(r, values, row->members);
	if (!code)
		code = read_number(r, values, row->a, &out->values.a);
	if (!code && row->b)
		code = read_number(r, values, row->b, &out->values.b);
	if (!code)
		code = check_values(r, out);
	if (!code)
		r->where[before] = '\0';
	return code;
}

static enum kf_code read_domain(struct reader *r, const json_t *entry,
				struct kf_values *out)
{
	const json_t *domain = json_object_get(entry, "domain");
	size_t before = strlen(r->where);
	enum kf_code code;

	out->min = -(double)INFINITY;
	out->max = (double)INFINITY;
	if (!domain)
		return KF_OK;
	snprintf(r->where + before, sizeof(r->where) - before, ".domain");
	if (!json_is_object(domain))
		return wrong(r, "must be an object with \"min\", \"max\" or "
			     "both");
	code = only_known(r, domain, "min max");
	if (!code && json_object_get(domain, "min"))
		code = read_number(r, domain, "min", &out->min);
	if (!code && json_object_get(domain, "max"))
		code = read_number(r, domain, "max", &out->max);
	if (!code && out->min > out->max)
		code = wrong(r, "is empty: \"min\" is above \"max\"");
	if (!code)
		r->where[before] = '\0';
	return code;
}

/* What the lists of tensors allow. */
static const struct list {
	const char *member, *known;
	size_t least, most;
	bool data;		/* has values, a domain */
} lists[] = {
	{ "inputs", "name shape dtype values domain", 1, INPUTS_MAX, true },
	{ "weights", "name shape dtype values domain structural", 0, WEIGHTS_MAX, true },
	{ "outputs", "name shape dtype", 1, OUTPUTS_MAX, false },
};

static enum kf_code read_tensor(struct reader *r, const struct list *list,
				const json_t *entry, struct kf_ctensor *out)
{
	const char *name = kf_json_str(entry, "name", "");
	const json_t *structural = json_object_get(entry, "structural");
	enum kf_code code;

	if (!json_is_object(entry))
		return wrong(r, "must be an object");
	code = only_known(r, entry, list->known);
	if (code)
		return code;
	if (!is_name(name))
		return wrong(r, "must have a \"name\" of letters, digits, dots "
			     "and underscores, at most 64");
	if (name_is_used(&r->out->in, name) ||
	    name_is_used(&r->out->weight, name) ||
	    name_is_used(&r->out->out, name))
		return wrong(r, "has a \"name\" that another tensor has");
	if (structural && !json_is_boolean(structural))
		return wrong(r, "must have true or false as \"structural\"");
	out->info.name = kf_strdup(name);
	code = read_dtype(r, entry, out);
	if (!code)
		code = read_shape(r, entry, &out->info);
	if (!code && list->data)
		code = read_values(r, entry, out);
	if (!code && list->data)
		code = read_domain(r, entry, &out->values);
	/* Whole numbers are indices and masks, part of the program. */
	out->info.structural = out->info.dtype < KF_F16 ||
		json_is_true(structural);
	return code;
}

static enum kf_code read_list(struct reader *r, const json_t *json,
			      const struct list *list, struct kf_ctensors *out)
{
	const json_t *entries = json_object_get(json, list->member);
	size_t count = json_array_size(entries);
	enum kf_code code = KF_OK;

	snprintf(r->where, sizeof(r->where), "%s", list->member);
	if ((entries && !json_is_array(entries)) || count < list->least ||
	    count > list->most) {
		char why[80];

		snprintf(why, sizeof(why), "must be a list of %zu to %zu "
			 "tensors", list->least, list->most);
		return wrong(r, why);
	}
	out->at = kf_alloc((count + 1) * sizeof(out->at[0]));
	for (size_t i = 0; i < count && !code; i++) {
		snprintf(r->where, sizeof(r->where), "%s[%zu]", list->member,
			 i);
		code = read_tensor(r, list, json_array_get(entries, i),
				   &out->at[out->count++]);
	}
	return code;
}

/* --- scalars and the rest ------------------------------------------------ */

static enum kf_code read_scalar(struct reader *r, const json_t *entry,
				struct kf_scalar_info *out, char **name)
{
	const char *kind = kf_json_str(entry, "kind", "");
	const json_t *value = json_object_get(entry, "value");
	enum kf_code code = only_known(r, entry, "name kind value");

	if (code)
		return code;
	*name = kf_strdup(kf_json_str(entry, "name", ""));
	if (!is_name(*name))
		return wrong(r, "must have a \"name\" of letters, digits, dots "
			     "and underscores, at most 64");
	if (!kind[0] || kind[1] || !strchr("ifb", kind[0]))
		return wrong(r, "must have a \"kind\": \"i\" (whole), \"f\" "
			     "(real) or \"b\" (true or false)");
	out->kind = kind[0];
	if (out->kind == 'b') {
		if (!json_is_boolean(value))
			return wrong(r, "must have a \"value\" of true or "
				     "false");
		out->i = json_is_true(value);
		out->f = (double)out->i;
	} else if (out->kind == 'i') {
		code = read_whole(r, value, &out->i);
		out->f = (double)out->i;
	} else {
		code = read_real(r, value, &out->f);
		if (fabs(out->f) < 0x1p62)
			out->i = (int64_t)out->f;
	}
	return code;
}

static enum kf_code read_scalars(struct reader *r, const json_t *json)
{
	const json_t *list = json_object_get(json, "scalars");
	size_t count = json_array_size(list);
	struct kf_cproblem *out = r->out;
	enum kf_code code = KF_OK;

	snprintf(r->where, sizeof(r->where), "scalars");
	if ((list && !json_is_array(list)) || count > SCALARS_MAX)
		return wrong(r, "must be a list of at most 64 scalars");
	out->scalar = kf_alloc((count + 1) * sizeof(out->scalar[0]));
	out->scalar_name = kf_alloc((count + 1) * sizeof(char *));
	for (size_t i = 0; i < count && !code; i++) {
		snprintf(r->where, sizeof(r->where), "scalars[%zu]", i);
		out->scalar_count++;
		code = read_scalar(r, json_array_get(list, i), &out->scalar[i],
				   &out->scalar_name[i]);
	}
	return code;
}

static enum kf_code read_head(struct reader *r, const json_t *json)
{
	const json_t *summary = json_object_get(json, "summary");
	const char *dtype = kf_json_str(json, "dtype", "float32");

	snprintf(r->where, sizeof(r->where), "kforge_problem");
	if (kf_json_int(json, "kforge_problem", 0) != KF_CPROBLEM_VERSION)
		return wrong(r, "must be 1, the version of this format");
	snprintf(r->where, sizeof(r->where), "summary");
	if (summary && !json_is_string(summary))
		return wrong(r, "must be a string");
	snprintf(r->where, sizeof(r->where), "dtype");
	r->out->real = kf_dtype_by_name(dtype);
	if ((r->out->real != KF_F32 && r->out->real != KF_F64) ||
	    (json_object_get(json, "dtype") &&
	     !json_is_string(json_object_get(json, "dtype"))))
		return wrong(r, "must be \"float32\" or \"float64\"");
	return KF_OK;
}

static enum kf_code read_operations(struct reader *r, const json_t *json)
{
	const json_t *value = json_object_get(json, "operations");
	int64_t number = 0;
	enum kf_code code;

	r->out->operations = (double)NAN;
	snprintf(r->where, sizeof(r->where), "operations");
	if (!value)
		return KF_OK;
	code = read_whole(r, value, &number);
	if (!code && number < 0)
		code = wrong(r, "must be at least 0");
	if (!code)
		r->out->operations = (double)number;
	return code;
}

static enum kf_code read_all(struct reader *r, const json_t *json)
{
	struct kf_cproblem *out = r->out;
	struct kf_ctensors *const into[] = { &out->in, &out->weight,
					     &out->out };
	enum kf_code code;

	if (!json_is_object(json))
		return kf_fail(r->err, KF_E_INPUT, "%s: must be an object",
			       r->file);
	code = only_known(r, json, "kforge_problem summary sizes presets dtype "
			  "inputs weights scalars outputs operations");
	if (!code)
		code = read_head(r, json);
	if (!code)
		code = read_sizes(r, json);
	if (!code)
		code = check_presets(r, json);
	for (size_t i = 0; i < KF_COUNT(lists) && !code; i++)
		code = read_list(r, json, &lists[i], into[i]);
	if (!code)
		code = read_scalars(r, json);
	return code ? code : read_operations(r, json);
}

enum kf_code kf_cproblem_parse(const json_t *json, const char *file,
			       struct kf_cproblem *out, struct kf_err *err)
{
	struct reader r = { .file = file, .out = out, .err = err };
	enum kf_code code;

	*out = (struct kf_cproblem) { .operations = (double)NAN };
	code = read_all(&r, json);
	if (code)
		kf_cproblem_release(out);
	return code;
}

static void release_list(struct kf_ctensors *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->at[i].info.name);
	free(list->at);
}

bool kf_any_floating(const struct kf_ctensors *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (kf_is_floating(&list->at[i]))
			return true;
	return false;
}

size_t kf_ctensors_bytes(const struct kf_ctensors *list)
{
	size_t bytes = 0;

	for (size_t i = 0; i < list->count; i++)
		bytes += list->at[i].info.bytes;
	return bytes;
}

void kf_cproblem_release(struct kf_cproblem *problem)
{
	for (size_t i = 0; i < problem->size_count; i++)
		free(problem->size[i].name);
	for (size_t i = 0; i < problem->scalar_count; i++)
		free(problem->scalar_name[i]);
	free(problem->size);
	free(problem->scalar);
	free(problem->scalar_name);
	release_list(&problem->in);
	release_list(&problem->weight);
	release_list(&problem->out);
	*problem = (struct kf_cproblem) { 0 };
}
