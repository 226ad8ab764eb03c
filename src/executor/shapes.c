#include "executor/shapes.h"

#define NAME_SIGNS "0123456789abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ_.-"
#define NAME_BYTES 32
#define SETS_MAX 256

/* --- the file ------------------------------------------------------------- */

static const char *const dtypes[] = {
	"float64", "float32", "float16", "bfloat16",
};

static bool known_dtype(const char *name)
{
	for (size_t i = 0; name && i < KF_COUNT(dtypes); i++)
		if (strcmp(name, dtypes[i]) == 0)
			return true;
	return false;
}

static bool good_name(const char *name)
{
	return name && name[0] && strlen(name) <= NAME_BYTES &&
		!name[strspn(name, NAME_SIGNS)];
}

static bool good_set(const json_t *set)
{
	const char *key;
	json_t *value;

	if (!json_is_object(set) || json_object_size(set) > SETS_MAX)
		return false;
	json_object_foreach((json_t *)(uintptr_t)set, key, value) {
		if (!json_is_number(value) && !json_is_string(value) &&
		    !json_is_boolean(value))
			return false;
	}
	return true;
}

static bool known_member(const char *key)
{
	static const char *const known[] = { "name", "set", "size", "dtype" };

	for (size_t i = 0; i < KF_COUNT(known); i++)
		if (strcmp(key, known[i]) == 0)
			return true;
	return false;
}

/* What is wrong with a shape, or NULL. */
static const char *complaint(const json_t *shape)
{
	const json_t *set = json_object_get(shape, "set");
	const json_t *size = json_object_get(shape, "size");
	const json_t *dtype = json_object_get(shape, "dtype");
	const char *key;
	json_t *value;

	if (!json_is_object(shape))
		return "an object with a \"name\" is wanted";
	if (!good_name(kf_json_str(shape, "name", NULL)))
		return "\"name\" must be 1 to 32 letters, digits, '_', '.' or "
		       "'-'";
	if (set && !good_set(set))
		return "\"set\" must be an object of names and numbers or "
		       "strings";
	if (size && !json_is_string(size))
		return "\"size\" must be the name of a preset";
	if (dtype && !known_dtype(json_string_value(dtype)))
		return "\"dtype\" must be float64, float32, float16 or "
		       "bfloat16";
	json_object_foreach((json_t *)(uintptr_t)shape, key, value) {
		if (!known_member(key))
			return "it has a member other than \"name\", \"set\", "
			       "\"size\" and \"dtype\"";
	}
	return NULL;
}

static enum kf_code check(const char *path, const json_t *list,
			  struct kf_err *err)
{
	json_t *seen = json_object(), *shape;
	enum kf_code code = KF_OK;
	size_t i;

	if (!json_is_array(list) || !json_array_size(list) ||
	    json_array_size(list) > KF_SHAPES_MAX)
		code = kf_fail(err, KF_E_INPUT, "--shapes %s: a list of 1 to "
			       "%d shapes is wanted, such as [{\"name\": "
			       "\"wide\", \"set\": {\"ROWS\": 4096}}]", path,
			       KF_SHAPES_MAX);
	json_array_foreach(list, i, shape) {
		const char *wrong = code ? NULL : complaint(shape);

		if (!code && !wrong &&
		    json_object_get(seen, kf_json_str(shape, "name", "")))
			wrong = "an earlier shape has that name";
		if (wrong)
			code = kf_fail(err, KF_E_INPUT, "--shapes %s: shape "
				       "%zu (%s): %s", path, i + 1,
				       kf_json_str(shape, "name", "no name"),
				       wrong);
		if (!code)
			json_object_set_new(seen, kf_json_str(shape, "name",
							      ""),
					    json_true());
	}
	json_decref(seen);
	return code;
}

enum kf_code kf_shapes_read(const char *path, json_t **out,
			    struct kf_err *err)
{
	enum kf_code code = kf_json_read(path, out, err);

	if (!code)
		code = check(path, *out, err);
	if (code) {
		json_decref(*out);
		*out = NULL;
	}
	return code;
}

/* --- its problems --------------------------------------------------------- */

static char *set_of(const char *name, const json_t *value)
{
	char *text, *set;

	if (json_is_string(value))
		return kf_format("%s=%s", name, json_string_value(value));
	if (json_is_boolean(value))
		return kf_format("%s=%s", name,
				 json_is_true(value) ? "True" : "False");
	text = kf_json_text(value);
	set = kf_format("%s=%s", name, text);
	free(text);
	return set;
}

static enum kf_code read_shape(const struct kf_problem_spec *base,
			       const json_t *shape, struct kf_problem *out,
			       struct kf_err *err)
{
	json_t *sets = json_object_get(shape, "set"), *value;
	size_t size = base->set_count + json_object_size(sets);
	const char **set = kf_alloc(size * sizeof(*set)), *name;
	char **own = kf_alloc(json_object_size(sets) * sizeof(*own));
	struct kf_problem_spec spec = *base;
	struct kf_err why = { 0 };
	size_t own_count = 0;
	enum kf_code code;

	for (size_t i = 0; i < base->set_count; i++)
		set[i] = base->set[i];
	json_object_foreach(sets, name, value) {
		own[own_count] = set_of(name, value);
		set[base->set_count + own_count] = own[own_count];
		own_count++;
	}
	spec.set = set;
	spec.set_count = size;
	spec.size = kf_json_str(shape, "size", base->size);
	if (json_object_get(shape, "dtype"))
		spec.dtype = kf_dtype_by_name(kf_json_str(shape, "dtype", ""));
	code = kf_problem_read(&spec, out, &why);
	if (code)
		kf_fail(err, code, "shape %s: %s",
			kf_json_str(shape, "name", ""), why.text);
	else
		out->shape = kf_strdup(kf_json_str(shape, "name", ""));
	for (size_t i = 0; i < own_count; i++)
		free(own[i]);
	free(own);
	free(set);
	return code;
}

void kf_shapes_problems_free(struct kf_problem *problem, size_t count)
{
	for (size_t i = 0; i < count; i++)
		kf_problem_release(&problem[i]);
	free(problem);
}

enum kf_code kf_shapes_problems(const struct kf_problem_spec *base,
				const json_t *shapes, struct kf_problem **out,
				size_t *count, struct kf_err *err)
{
	size_t most = shapes ? json_array_size(shapes) : 1;
	struct kf_problem *problem = kf_alloc(most * sizeof(*problem));
	enum kf_code code = KF_OK;

	for (size_t i = 0; !code && i < most; i++)
		code = shapes ? read_shape(base, json_array_get(shapes, i),
					   &problem[i], err) :
		       kf_problem_read(base, &problem[i], err);
	if (code) {
		kf_shapes_problems_free(problem, most);
		problem = NULL;
		most = 0;
	}
	*out = problem;
	*count = most;
	return code;
}
