/* cproblem.c - problem.json is read strictly; sizes, expressions, values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those first */
#include <cmocka.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cproblem/cproblem.h"
#include "cproblem/oracle.h"
#include "cproblem/values.h"

/* --- expressions --------------------------------------------------------- */

static char rows_name[] = "ROWS", cols_name[] = "COLS";
static const struct kf_size sizes[] = { { rows_name, 6 }, { cols_name, 40 } };

static void test_expressions_are_worked_out_as_in_c(void **state)
{
	static const struct { const char *text; int64_t value; } row[] = {
		{ "7", 7 }, { "ROWS", 6 }, { "2 * ROWS + COLS", 52 },
		{ "2 * (ROWS + COLS)", 92 },
		{ "COLS / 8 / 5", 1 }, { "ROWS - COLS - 1", -35 },
		{ "9223372036854775807", INT64_MAX },
		{ "((((ROWS))))", 6 }, { " ROWS*COLS ", 240 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct kf_err err = { 0 };
		int64_t value = 99;
		enum kf_code code = kf_expr_eval(row[i].text, sizes, 2, &value,
						 &err);

		if (code || value != row[i].value)
			fail_msg("%s gave %lld: %s", row[i].text,
				 (long long)value, err.text);
	}
}

static void test_a_wrong_expression_is_a_sentence(void **state)
{
	static const struct { const char *text, *words; } row[] = {
		{ "", "a number" }, { "ROWS *", "a number" },
		{ "-ROWS", "a number" }, { "2 ROWS", "operator" },
		{ "(ROWS", "')'" }, { "DEPTH", "there are ROWS, COLS" },
		{ "COLS / 7", "remainder" }, { "ROWS / (COLS - 40)", "zero" },
		{ "9223372036854775808", "too large" },
		{ "9223372036854775807 + 1", "too large" },
		{ "9223372036854775807 * 2", "too large" },
		{ "ROWS ** 2", "a number" }, { "0x10", "operator" },
		{ "ROWS; COLS", "operator" },
	};
	struct kf_err err;
	int64_t value;
	char deep[80];

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		assert_int_equal(kf_expr_eval(row[i].text, sizes, 2, &value,
					      &err), KF_E_INPUT);
		if (!strstr(err.text, row[i].words))
			fail_msg("%s: %s", row[i].text, err.text);
	}
	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	assert_int_equal(kf_expr_eval(deep, sizes, 2, &value, &err),
			 KF_E_INPUT);
	assert_non_null(strstr(err.text, "too deep"));
}

/* --- problem.json -------------------------------------------------------- */

#define X "{\"name\":\"x\",\"shape\":[\"N\"],\"dtype\":\"real\"," \
	"\"values\":{\"kind\":\"normal\",\"mean\":0,\"std\":1}}"
#define Y "{\"name\":\"y\",\"shape\":[\"N\"],\"dtype\":\"real\"}"
#define HEAD "\"kforge_problem\":1,\"sizes\":{\"N\":8}"
#define OUT "\"outputs\":[" Y "]"
#define GOOD "{" HEAD ",\"inputs\":[" X "]," OUT "}"
/* One input with these members beside its name. */
#define INPUT(members) "{" HEAD ",\"inputs\":[{\"name\":\"x\"," members \
	"}]," OUT "}"
#define SHAPED(values) INPUT("\"shape\":[\"N\"],\"dtype\":\"real\"," \
	"\"values\":{" values "}")
#define WHOLE(values) INPUT("\"shape\":[\"N\"],\"dtype\":\"uint8\"," \
	"\"values\":{" values "}")

static enum kf_code parse(const char *text, struct kf_cproblem *out,
			  struct kf_err *err)
{
	json_t *json = json_loads(text, 0, NULL);
	enum kf_code code;

	assert_non_null(json);
	code = kf_cproblem_parse(json, "p/problem.json", out, err);
	json_decref(json);
	return code;
}

static void test_what_is_wrong_is_named_with_its_member(void **state)
{
	static const struct { const char *text, *member, *words; } row[] = {
		{ "[]", "", "an object" },
		{ "{}", "kforge_problem", "must be 1" },
		{ "{\"kforge_problem\":2}", "kforge_problem", "must be 1" },
		{ "{\"kforge_problem\":1,\"input\":[]}", "input", "unknown" },
		{ "{\"kforge_problem\":1,\"\":[]}", "", "unknown" },
		{ "{" HEAD "," OUT "}", "inputs", "1 to 64" },
		{ "{" HEAD ",\"inputs\":[" X "]}", "outputs", "1 to 16" },
		{ "{" HEAD ",\"inputs\":7," OUT "}", "inputs", "list" },
		{ "{" HEAD ",\"inputs\":[7]," OUT "}", "inputs[0]", "object" },
		{ "{" HEAD ",\"inputs\":[" X "," X "]," OUT "}", "inputs[1]",
		  "another tensor" },
		{ "{" HEAD ",\"dtype\":\"float16\",\"inputs\":[" X "]," OUT
		  "}", "dtype", "float32" },
		{ "{" HEAD ",\"dtype\":7,\"inputs\":[" X "]," OUT "}",
		  "dtype", "float32" },
		{ "{\"kforge_problem\":1,\"sizes\":{\"n\":1}}", "sizes.n",
		  "no name for a size" },
		{ "{\"kforge_problem\":1,\"sizes\":{\"I\":1}}", "sizes.I",
		  "no name for a size" },
		{ "{\"kforge_problem\":1,\"sizes\":{\"KF_N\":1}}",
		  "sizes.KF_N", "no name for a size" },
		{ "{\"kforge_problem\":1,\"sizes\":{\"N\":0}}", "sizes.N",
		  "at least 1" },
		{ "{\"kforge_problem\":1,\"sizes\":{\"N\":\"2\"}}", "sizes.N",
		  "whole number" },
		{ "{" HEAD ",\"presets\":{\"a\":7}}", "presets.a", "object" },
		{ "{" HEAD ",\"presets\":{\"a\":{\"M\":1}}}", "presets.a.M",
		  "not among" },
		{ INPUT("\"dtype\":\"real\""), "inputs[0]", "\"shape\"" },
		{ INPUT("\"shape\":[1]"), "inputs[0]", "\"dtype\"" },
		{ INPUT("\"shape\":[1],\"dtype\":\"bfloat16\""), "inputs[0]",
		  "\"dtype\"" },
		{ INPUT("\"shape\":[1,\"M\"],\"dtype\":\"real\""),
		  "inputs[0].shape[1]", "no size M" },
		{ INPUT("\"shape\":[0],\"dtype\":\"real\""),
		  "inputs[0].shape[0]", "at least 1" },
		{ INPUT("\"shape\":[1.5],\"dtype\":\"real\""),
		  "inputs[0].shape[0]", "whole number" },
		{ INPUT("\"shape\":[1,1,1,1,1,1,1,1,1],\"dtype\":\"real\""),
		  "inputs[0]", "at most 8" },
		{ INPUT("\"shape\":[1],\"dtype\":\"real\",\"strides\":[1]"),
		  "inputs[0].strides", "known ones" },
		{ INPUT("\"shape\":[1],\"dtype\":\"real\""),
		  "inputs[0].values", "\"kind\"" },
		{ SHAPED("\"kind\":\"gamma\""), "inputs[0].values",
		  "\"kind\"" },
		{ SHAPED("\"kind\":\"normal\",\"mean\":0"),
		  "inputs[0].values.std", "missing" },
		{ SHAPED("\"kind\":\"normal\",\"mean\":0,\"std\":-1"),
		  "inputs[0].values", "at least 0" },
		{ SHAPED("\"kind\":\"normal\",\"mean\":0,\"std\":1,\"p\":1"),
		  "inputs[0].values.p", "known ones" },
		{ SHAPED("\"kind\":\"uniform\",\"low\":1,\"high\":0"),
		  "inputs[0].values", "not above" },
		{ SHAPED("\"kind\":\"integers\",\"low\":0,\"high\":1.5"),
		  "inputs[0].values", "whole" },
		{ SHAPED("\"kind\":\"bernoulli\",\"p\":1.5"),
		  "inputs[0].values", "0 to 1" },
		{ WHOLE("\"kind\":\"normal\",\"mean\":0,\"std\":1"),
		  "inputs[0].values", "no whole numbers" },
		{ WHOLE("\"kind\":\"integers\",\"low\":0,\"high\":256"),
		  "inputs[0].values", "beyond" },
		{ WHOLE("\"kind\":\"constant\",\"value\":-1"),
		  "inputs[0].values", "beyond" },
		{ INPUT("\"shape\":[1],\"dtype\":\"real\",\"values\":"
			"{\"kind\":\"constant\",\"value\":1},\"domain\":"
			"{\"min\":2,\"max\":1}"), "inputs[0].domain",
		  "empty" },
		{ "{" HEAD ",\"inputs\":[" X "]," OUT ",\"scalars\":"
		  "[{\"name\":\"n\",\"kind\":\"x\",\"value\":1}]}",
		  "scalars[0]", "\"kind\"" },
		{ "{" HEAD ",\"inputs\":[" X "]," OUT ",\"scalars\":"
		  "[{\"name\":\"n\",\"kind\":\"b\",\"value\":1}]}",
		  "scalars[0]", "true or false" },
		{ "{" HEAD ",\"inputs\":[" X "]," OUT ",\"operations\":"
		  "\"N -\"}", "operations", "worked out" },
		{ "{" HEAD ",\"inputs\":[" X "]," OUT ",\"operations\":-1}",
		  "operations", "at least 0" },
		{ "{" HEAD ",\"inputs\":[" X "]," OUT ",\"summary\":1}",
		  "summary", "string" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct kf_err err = { 0 };
		struct kf_cproblem p;

		assert_int_equal(parse(row[i].text, &p, &err), KF_E_INPUT);
		if (strncmp(err.text, "p/problem.json: ", 16) != 0 ||
		    !strstr(err.text, row[i].member) ||
		    !strstr(err.text, row[i].words))
			fail_msg("%s: %s", row[i].text, err.text);
		kf_cproblem_release(&p);
	}
}

static void test_a_tensor_has_a_ceiling(void **state)
{
	struct kf_err err = { 0 };
	struct kf_cproblem p;

	(void)state;
	assert_int_equal(parse(INPUT("\"shape\":[65536,65536],"
				     "\"dtype\":\"real\""), &p, &err),
			 KF_E_LIMIT);
	assert_non_null(strstr(err.text, "--set or --size"));
	assert_int_equal(parse(INPUT("\"shape\":[1099511627776,"
				     "1099511627776],\"dtype\":\"real\""),
			       &p, &err), KF_E_LIMIT);
}

static void test_real_follows_the_problem(void **state)
{
	struct kf_cproblem p;

	(void)state;
	assert_int_equal(parse(GOOD, &p, NULL), KF_OK);
	assert_int_equal(p.real, KF_F32);
	assert_int_equal(p.in.at[0].info.dtype, KF_F32);
	assert_int_equal(p.in.at[0].info.bytes, 32);
	assert_true(isnan(p.operations));
	kf_cproblem_release(&p);
	assert_int_equal(parse("{\"kforge_problem\":1,\"dtype\":\"float64\","
			       "\"sizes\":{\"N\":8},\"inputs\":[" X "]," OUT
			       ",\"operations\":\"3*N\"}", &p, NULL), KF_OK);
	assert_int_equal(p.out.at[0].info.dtype, KF_F64);
	assert_true(p.out.at[0].real);
	assert_true(p.operations == 24.0);
	kf_cproblem_release(&p);
}

/* --- a folder ------------------------------------------------------------ */

#define FOLDER "tests/data/cproblem/softmax"

static enum kf_code read_with(const char *path, const char *size,
			      const char *set, enum kf_dtype dtype,
			      struct kf_problem *out, struct kf_err *err)
{
	struct kf_problem_spec spec = {
		.path = path, .size = size, .set = &set, .set_count = set != NULL,
		.dtype = dtype,
	};

	return kf_problem_read(&spec, out, err);
}

static void test_sizes_and_dtype_are_part_of_the_name(void **state)
{
	struct kf_problem plain, preset, same, wide, other;

	(void)state;
	assert_int_equal(read_with(FOLDER, NULL, NULL, KF_DTYPE_NONE, &plain,
				   NULL), KF_OK);
	assert_int_equal(read_with(FOLDER "/problem.json", "test", NULL,
				   KF_DTYPE_NONE, &preset, NULL), KF_OK);
	assert_int_equal(read_with(FOLDER, "test", "COLS=3 * 10", KF_F32,
				   &same, NULL), KF_OK);
	assert_int_equal(read_with(FOLDER, "test", NULL, KF_F64, &wide, NULL),
			 KF_OK);
	assert_int_equal(read_with(FOLDER "/", "test", "COLS=31",
				   KF_DTYPE_NONE, &other, NULL), KF_OK);
	assert_int_equal(plain.kind, KF_PROBLEM_C);
	assert_string_equal(plain.name, "softmax");
	assert_string_equal(preset.name, "softmax");
	assert_string_equal(other.name, "softmax");
	assert_string_equal(preset.hash, same.hash);
	assert_string_not_equal(preset.hash, plain.hash);
	assert_string_not_equal(preset.hash, wide.hash);
	assert_string_not_equal(preset.hash, other.hash);
	assert_null(strstr(preset.source, "presets"));
	kf_problem_release(&plain);
	kf_problem_release(&preset);
	kf_problem_release(&same);
	kf_problem_release(&wide);
	kf_problem_release(&other);
}

static void test_the_text_can_be_divided_again(void **state)
{
	struct kf_problem_file file[KF_PROBLEM_FILES_MAX];
	struct kf_buf code = { .max = 1u << 16 };
	struct kf_problem problem;
	struct kf_cproblem parsed;
	const char *text;

	(void)state;
	assert_int_equal(read_with(FOLDER, "test", NULL, KF_DTYPE_NONE,
				   &problem, NULL), KF_OK);
	assert_int_equal(kf_problem_files(&problem, file), 2);
	assert_string_equal(file[0].name, "problem.json");
	assert_int_equal(kf_file_read(FOLDER "/reference.c", &code, NULL),
			 KF_OK);
	assert_int_equal(file[1].len, code.len);
	assert_memory_equal(file[1].text, code.data, code.len);
	assert_int_equal(kf_cproblem_from_source(&problem, &parsed, &text,
						 NULL), KF_OK);
	assert_int_equal(parsed.in.at[0].info.shape[0], 4);
	kf_cproblem_release(&parsed);
	kf_buf_release(&code);
	kf_problem_release(&problem);
}

static void test_choices_that_cannot_be_are_sentences(void **state)
{
	static const struct {
		const char *path, *size, *set;
		enum kf_dtype dtype;
		const char *words;
	} row[] = {
		{ FOLDER, "huge", NULL, 0, "no preset huge; it has test" },
		{ FOLDER, NULL, "DEPTH=2", 0, "no size DEPTH; it has ROWS" },
		{ FOLDER, NULL, "ROWS", 0, "NAME=VALUE" },
		{ FOLDER, NULL, "ROWS=", 0, "a number" },
		{ FOLDER, NULL, "ROWS=0", 0, "at least 1" },
		{ FOLDER, NULL, "ROWS=COLS", 0, "no size COLS" },
		{ FOLDER, NULL, NULL, KF_F16, "float32 or float64" },
		{ "tests/data/cproblem", NULL, NULL, 0, "is a folder" },
		{ "/nonexistent/problem.json", NULL, NULL, 0, "cannot read" },
		{ "tests/data/cproblem/program/reference.c", NULL, NULL, 0,
		  "cannot read problem tests/data/cproblem/program/problem" },
		{ "tests/data/cproblem/refused", NULL, NULL, 0,
		  "needs problem.json and reference.c" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct kf_problem problem;
		struct kf_err err = { 0 };

		assert_int_equal(read_with(row[i].path, row[i].size,
					   row[i].set, row[i].dtype, &problem,
					   &err), KF_E_INPUT);
		if (!strstr(err.text, row[i].words))
			fail_msg("row %zu: %s", i, err.text);
	}
}

/* --- values -------------------------------------------------------------- */

#define COUNT 20000

static struct kf_ctensor tensor(enum kf_values_kind kind, double a, double b)
{
	return (struct kf_ctensor) {
		.info = { .dtype = KF_F32, .rank = 2, .shape = { 100, 200 },
			  .numel = COUNT, .bytes = COUNT * sizeof(float) },
		.values = { kind, a, b, -(double)INFINITY, (double)INFINITY },
	};
}

static void moments(const float *x, double *mean, double *deviation)
{
	double sum = 0, squares = 0;

	for (int i = 0; i < COUNT; i++)
		sum += (double)x[i];
	*mean = sum / COUNT;
	for (int i = 0; i < COUNT; i++)
		squares += ((double)x[i] - *mean) * ((double)x[i] - *mean);
	*deviation = sqrt(squares / COUNT);
}

static void test_values_are_as_declared(void **state)
{
	static const struct {
		enum kf_values_kind kind;
		double a, b, mean, deviation, low, high;
	} row[] = {
		{ KF_VALUES_NORMAL, 3, 2, 3, 2, -7, 13 },
		{ KF_VALUES_UNIFORM, -1, 3, 1, 1.1547, -1, 3 },
		{ KF_VALUES_INTEGERS, 0, 4, 2, 1.4142, 0, 4 },
		{ KF_VALUES_BERNOULLI, 0.25, 0, 0.25, 0.4330, 0, 1 },
		{ KF_VALUES_CONSTANT, 1.5, 0, 1.5, 0, 1.5, 1.5 },
	};
	static float x[COUNT], again[COUNT];

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct kf_ctensor t = tensor(row[i].kind, row[i].a, row[i].b);
		struct kf_rng one = kf_values_rng(7, i);
		struct kf_rng two = kf_values_rng(7, i);
		double mean, deviation;

		assert_true(kf_values_make(&t, &one, x));
		assert_true(kf_values_make(&t, &two, again));
		assert_memory_equal(x, again, sizeof(x));
		moments(x, &mean, &deviation);
		/* Five deviations of the estimates. */
		assert_true(fabs(mean - row[i].mean) <=
			    5 * row[i].deviation / sqrt(COUNT));
		assert_true(fabs(deviation - row[i].deviation) <=
			    5 * row[i].deviation / sqrt(COUNT));
		for (int k = 0; k < COUNT; k++)
			assert_true((double)x[k] >= row[i].low &&
				    (double)x[k] <= row[i].high);
	}
}

static void test_values_stay_in_their_domain(void **state)
{
	struct kf_ctensor t = tensor(KF_VALUES_NORMAL, 0, 1);
	struct kf_rng rng = kf_values_rng(1, 1);
	static float x[COUNT], near[COUNT];

	(void)state;
	t.values.min = 0;
	t.values.max = 2;
	assert_true(kf_values_make(&t, &rng, x));
	assert_int_equal(kf_values_outside(&t, x), -1);
	kf_values_perturb(&t, 0.5, &rng, x, near);
	assert_int_equal(kf_values_outside(&t, near), -1);
	kf_values_vary(&t, &rng, near);
	assert_int_equal(kf_values_outside(&t, near), -1);
	x[17] = 2.5f;
	assert_int_equal(kf_values_outside(&t, x), 17);
	t.values.min = 1000;
	t.values.max = 2000;
	assert_false(kf_values_make(&t, &rng, x));
}

static void test_kinds_of_sets_change_what_they_say(void **state)
{
	struct kf_ctensor t = tensor(KF_VALUES_UNIFORM, 1, 2);
	struct kf_rng rng = kf_values_rng(3, 3);
	static float x[COUNT], y[COUNT];
	double mean, deviation;

	(void)state;
	assert_true(kf_values_make(&t, &rng, x));
	memcpy(y, x, sizeof(y));
	kf_values_change("declared", &t, &rng, y);
	assert_memory_equal(x, y, sizeof(x));
	kf_values_change("zero_mean", &t, &rng, y);
	moments(y, &mean, &deviation);
	assert_true(fabs(mean) < 1e-6);
	memcpy(y, x, sizeof(y));
	kf_values_change("tail", &t, &rng, y);
	for (int i = 0; i < COUNT; i++) {	/* the last 25 of 200 */
		float wanted = i % 200 >= 175 ? x[i] * 8 : x[i];

		assert_memory_equal(&y[i], &wanted, sizeof(wanted));
	}
	memcpy(y, x, sizeof(y));
	kf_values_change("small", &t, &rng, y);
	for (int i = 0; i < COUNT; i++)
		assert_true(y[i] < 0.00201f && y[i] > 0.00099f);
	memcpy(y, x, sizeof(y));
	kf_values_change("wide", &t, &rng, y);
	for (int i = 0; i < COUNT; i++)
		assert_true(y[i] >= x[i] / 16 && y[i] <= x[i] * 16);
	memcpy(y, x, sizeof(y));
	kf_values_change("large", &t, &rng, y);
	for (int i = 0; i < COUNT; i++) {
		float wanted = x[i] * 1024;

		assert_memory_equal(&y[i], &wanted, sizeof(wanted));
	}
	memcpy(y, x, sizeof(y));
	kf_values_change("tiny", &t, &rng, y);
	for (int i = 0; i < COUNT; i++) {
		float wanted = x[i] * 0x1p-102f;

		assert_memory_equal(&y[i], &wanted, sizeof(wanted));
	}
	assert_true(kf_values_changes("wide"));
	assert_false(kf_values_changes("weights"));
}

/* One number everywhere that nothing moves, in every output. */
static void test_a_flat_answer_is_seen(void **state)
{
	struct kf_ctensor out[2] = { tensor(KF_VALUES_UNIFORM, 0, 1),
				     tensor(KF_VALUES_INTEGERS, 0, 1) };
	struct kf_cproblem problem = { .out = { .at = out, .count = 2 } };
	float values[COUNT] = { 0 }, react[COUNT] = { 0 };
	int32_t whole[COUNT] = { 0 };
	void *expect[2] = { values, whole };
	float *reacts[2] = { react, NULL };
	struct kf_answer answer = { .expect = expect, .react = reacts };

	(void)state;
	out[1].info.dtype = KF_I32;
	assert_true(kf_answer_is_flat(&problem, &answer));
	react[COUNT - 1] = 1e-6f;
	assert_false(kf_answer_is_flat(&problem, &answer));
	react[COUNT - 1] = 0;
	whole[COUNT - 1] = 1;
	assert_false(kf_answer_is_flat(&problem, &answer));
}

/* By its own error, against its largest value. */
static void test_a_lost_answer_is_seen(void **state)
{
	struct kf_ctensor out = tensor(KF_VALUES_UNIFORM, 0, 1);
	struct kf_cproblem problem = { .out = { .at = &out, .count = 1 } };
	double exact[COUNT] = { [7] = -1e-30 }, *exacts = exact;
	float noise[COUNT] = { 0 }, *noises = noise;
	struct kf_answer answer = { .exact = &exacts, .noise = &noises };

	(void)state;
	noise[3] = 1e-37f;
	assert_false(kf_answer_is_lost(&problem, &answer));
	noise[COUNT - 1] = 1e-30f;
	assert_true(kf_answer_is_lost(&problem, &answer));
	noises = NULL;		/* of whole numbers */
	assert_false(kf_answer_is_lost(&problem, &answer));
}

static void test_whole_numbers_are_left_alone(void **state)
{
	struct kf_ctensor t = tensor(KF_VALUES_INTEGERS, 0, 9);
	struct kf_rng rng = kf_values_rng(4, 4);
	static int32_t x[COUNT], y[COUNT];

	(void)state;
	t.info.dtype = KF_I32;
	assert_true(kf_values_make(&t, &rng, x));
	memcpy(y, x, sizeof(y));
	kf_values_change("small", &t, &rng, y);
	kf_values_vary(&t, &rng, y);
	assert_memory_equal(x, y, sizeof(x));
	kf_values_perturb(&t, 0.5, &rng, x, y);
	assert_memory_equal(x, y, sizeof(x));
}

static void test_random_weights_keep_a_shared_sign(void **state)
{
	struct kf_ctensor t = tensor(KF_VALUES_UNIFORM, 0.5, 3);
	struct kf_rng rng = kf_values_rng(5, 5);
	static float x[COUNT], y[COUNT];

	(void)state;
	assert_true(kf_values_make(&t, &rng, x));
	kf_values_random(&t, x, &rng, y);
	for (int i = 0; i < COUNT; i++)
		assert_true(y[i] >= 0);
	memset(x, 0, sizeof(x));
	kf_values_random(&t, x, &rng, y);
	assert_true(fabs((double)y[0]) > 0 && y[0] > -4 && y[0] < 4);
	for (int i = 0; i < COUNT; i++)
		x[i] = -2;
	kf_values_random(&t, x, &rng, y);
	for (int i = 0; i < COUNT; i++)
		assert_true(y[i] <= -1 && y[i] >= -3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expressions_are_worked_out_as_in_c),
		cmocka_unit_test(test_a_wrong_expression_is_a_sentence),
		cmocka_unit_test(test_what_is_wrong_is_named_with_its_member),
		cmocka_unit_test(test_a_tensor_has_a_ceiling),
		cmocka_unit_test(test_real_follows_the_problem),
		cmocka_unit_test(test_sizes_and_dtype_are_part_of_the_name),
		cmocka_unit_test(test_the_text_can_be_divided_again),
		cmocka_unit_test(test_choices_that_cannot_be_are_sentences),
		cmocka_unit_test(test_values_are_as_declared),
		cmocka_unit_test(test_values_stay_in_their_domain),
		cmocka_unit_test(test_kinds_of_sets_change_what_they_say),
		cmocka_unit_test(test_a_flat_answer_is_seen),
		cmocka_unit_test(test_a_lost_answer_is_seen),
		cmocka_unit_test(test_whole_numbers_are_left_alone),
		cmocka_unit_test(test_random_weights_keep_a_shared_sign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
