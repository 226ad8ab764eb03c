/* A C function in the place of kf_forward, declared in the first comment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those first */
#include <cmocka.h>

#include "evaluate/entry.h"

static char x_name[] = "x", index_name[] = "index", weight_name[] = "fc.bias";

static const struct kf_bundle *bundle(void)
{
	static struct kf_tensor_info in[] = {
		{ .name = x_name, .dtype = KF_F32, .rank = 2 },
		{ .name = index_name, .dtype = KF_I64, .rank = 1 },
	};
	static struct kf_tensor_info weight[] = {
		{ .name = weight_name, .dtype = KF_F16, .rank = 1 },
	};
	static struct kf_tensor_info out[] = {
		{ .name = x_name, .dtype = KF_F32, .rank = 2 },
	};
	static struct kf_bundle b = {
		.in = in, .in_count = 2, .weight = weight, .weight_count = 1,
		.out = out, .out_count = 1, .scalar_count = 1,
	};

	return &b;
}

/* The made text, for the caller to free; what is wrong goes to refused. */
static char *make(const char *source, char refused[256], unsigned *line)
{
	struct kf_buf out = { .max = KF_ENTRY_BYTES };
	char *text;

	kf_entry_make(source, bundle(), &out, refused, line);
	text = kf_strdup(kf_buf_str(&out));
	kf_buf_release(&out);
	return text;
}

static void test_a_call_is_made_of_a_declaration(void **state)
{
	static const struct {
		const char *source, *declared, *called;
	} rows[] = {
		{ "// kforge: entry void solve(const float *x = in0, float *y "
		  "= out0, int64_t n = in0.shape[1])\n",
		  "void solve(const float *, float *, int64_t);",
		  "\tsolve((const float *)(c->in[0].data), (float *)(c->out[0]"
		  ".data), (int64_t)(c->in[0].shape[1]));" },
		{ "/* Adds.\n *\n * kforge: entry int add(const float* "
		  "__restrict__ x = in0,\n *      float *const y = out0, "
		  "size_t n = out0.numel)\n * More words.\n */",
		  "int add(const float *, float *, size_t);",
		  "if (int failed = add((const float *)(c->in[0].data), (float "
		  "*)(c->out[0].data), (size_t)(kf_numel(&c->out[0]))))" },
		{ "\n  // a line\n  // kforge: entry void f(half *b = "
		  "weight(fc.bias),\n  //    const __half *w = weight0, double "
		  "s = scalar0, int i = scalar0, float e = -1e-5, "
		  "unsigned long long k = 7, cudaStream_t q = queue, "
		  "const void *z = in1)",
		  "void f(half *, const __half *, double, int, float, unsigned "
		  "long long, cudaStream_t, const void *);",
		  "f((half *)(kf_weight(c, \"fc.bias\")[0].data), (const "
		  "__half *)(c->weight[0].data), (double)(c->scalar[0].f), "
		  "(int)(c->scalar[0].i), (float)(-1e-5), (unsigned long "
		  "long)(7), "
		  "(cudaStream_t)(c->queue), (const void *)(c->in[1]"
		  ".data));" },
		{ "// kforge: entry void nothing()", "void nothing();",
		  "\tnothing();" },
		{ "#include <x.h>\n// kforge: entry void f()\n",
		  "void f();", "\tf();" },
		{ "/* A licence. */\n// words\n\n  # define X(a) \\\n\tint a; "
		  "\\\n\tint b;\r\n#pragma once\n\n/* kforge: entry\n *\tvoid "
		  "f() */ int x;", "void f();", "\tf();" },
		{ "// kforge: another word\n\n// kforge: entry void f()\n",
		  "void f();", "\tf();" },
		{ "// kforge: another word\n// kforge: entry void f()\n",
		  "void f();", "\tf();" },
		{ "// kforge: another word\n", NULL, NULL },
		{ "int kf_forward(void);\n// kforge: entry void f()\n", NULL,
		  NULL },
		{ "#define X \\", NULL, NULL },
		{ "/* open", NULL, NULL },
		{ "", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char refused[256];
		unsigned line;
		char *text = make(rows[i].source, refused, &line);

		assert_string_equal(refused, "");
		assert_int_equal(text[0] != '\0', rows[i].declared != NULL);
		if (rows[i].declared) {
			assert_non_null(strstr(text, rows[i].declared));
			assert_non_null(strstr(text, rows[i].called));
		}
		free(text);
	}
}

#define F(parameters) "\n// kforge: entry void f(" parameters

static void test_what_is_wrong_with_one_is_told(void **state)
{
	static const struct { const char *source, *words; } rows[] = {
		{ F("float *x = in2)"), "no in2: the problem has 2" },
		{ F("float *x = out0.shape[0])"), "must be a number" },
		{ F("int x = in0.shape[2])"), "in0 has no dimension 2: it has "
		  "2" },
		{ F("float *x = in1)"), "in1 is of the type int64" },
		{ F("const float *x = out0)"), "outputs are written" },
		{ F("float x = in0)"), "must be a pointer" },
		{ F("float *x = weight(no))"), "no weight no" },
		{ F("float *x = weight(a\"b))"), "without quotes" },
		{ F("int *x = scalar0)"), "must be a number" },
		{ F("int x = scalar1)"), "no scalar1: the problem has 1" },
		{ F("int x = queue)"), "cudaStream_t" },
		{ F("float *x = 3)"), "x is no number" },
		{ F("float *x)"), "its value" },
		{ F("float x = rubbish)"), "'rubbish' is no value" },
		{ F("std x = in0)"), "x is of the type std" },
		{ F("float **x = in0)"), "float **" },
		{ F("float *x = in0"), "the comment's end" },
		{ F("float *x = in0; int n = 1)"), "',' wanted" },
		{ F("= in0)"), "a type and a name wanted before '='" },
		{ F("float *x = in0.size)"), "must be a number" },
		{ F("int n = in0.size)"), "'shape' wanted behind '.'" },
		{ F("int n = in0.shape[x])"), "number of a dimension" },
		{ "\n// kforge: entry float f()", "returns void, int or" },
		{ "\n// kforge: entry", "a type and a name" },
		{ "\n// kforge: entry void f", "'(' wanted" },
		{ "int x;\n// kforge: entry void f()", "before the first code" },
		{ "\n/* words */ /* kforge: entry void f */", "'(' wanted" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char refused[256];
		unsigned line;
		char *text = make(rows[i].source, refused, &line);

		assert_string_equal(text, "");
		if (!strstr(refused, rows[i].words))
			fail_msg("%s: %s", rows[i].source, refused);
		assert_int_equal(line, 2);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_call_is_made_of_a_declaration),
		cmocka_unit_test(test_what_is_wrong_with_one_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
