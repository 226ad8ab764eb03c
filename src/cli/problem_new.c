/* kforge problem new: a small problem that works, to be changed into one's
 * own. */
#include <ctype.h>
#include <errno.h>
#include <sys/stat.h>

#include "cli/cli.h"

/* Every row scaled to a root mean square of one: short, healthy, and with each
 * part that a problem can have. */
static const char problem_json[] =
	"{\n"
	"  \"kforge_problem\": 1,\n"
	"  \"summary\": \"rows scaled to a root mean square of one, times a gain\",\n"
	"  \"sizes\": { \"ROWS\": 512, \"COLS\": 1000 },\n"
	"  \"presets\": { \"test\": { \"ROWS\": 16, \"COLS\": 100 } },\n"
	"  \"dtype\": \"float32\",\n"
	"  \"inputs\": [\n"
	"    { \"name\": \"x\", \"shape\": [\"ROWS\", \"COLS\"], \"dtype\": \"real\",\n"
	"      \"values\": { \"kind\": \"normal\", \"mean\": 0, \"std\": 1 } }\n"
	"  ],\n"
	"  \"weights\": [\n"
	"    { \"name\": \"gain\", \"shape\": [\"COLS\"], \"dtype\": \"real\",\n"
	"      \"values\": { \"kind\": \"uniform\", \"low\": 0.5, \"high\": 1.5 } }\n"
	"  ],\n"
	"  \"scalars\": [\n"
	"    { \"name\": \"eps\", \"kind\": \"f\", \"value\": 1e-6 }\n"
	"  ],\n"
	"  \"outputs\": [\n"
	"    { \"name\": \"y\", \"shape\": [\"ROWS\", \"COLS\"], \"dtype\": \"real\" }\n"
	"  ],\n"
	"  \"operations\": \"4 * ROWS * COLS\"\n"
	"}\n";

static const char reference_c[] =
	"/* What is to be computed, as simply as it can be said. */\n"
	"#include <kforge/reference.h>\n"
	"#include <tgmath.h>\n"
	"\n"
	"int kf_forward(struct kf_call *c)\n"
	"{\n"
	"\tconst kf_real *x = c->in[0].data;\n"
	"\tconst kf_real *gain = kf_weight(c, \"gain\")->data;\n"
	"\tkf_real eps = (kf_real)c->scalar[0].f;\n"
	"\tkf_real *y = c->out[0].data;\n"
	"\n"
	"\tfor (int64_t i = 0; i < ROWS; i++, x += COLS, y += COLS) {\n"
	"\t\tkf_real sum = 0, scale;\n"
	"\n"
	"\t\tfor (int64_t j = 0; j < COLS; j++)\n"
	"\t\t\tsum += x[j] * x[j];\n"
	"\t\tscale = 1 / sqrt(sum / COLS + eps);\n"
	"\t\tfor (int64_t j = 0; j < COLS; j++)\n"
	"\t\t\ty[j] = x[j] * scale * gain[j];\n"
	"\t}\n"
	"\treturn 0;\n"
	"}\n";

static const char program_c[] =
	"/* The same, faster: the sum is kept in the lanes of a vector. */\n"
	"#include <kforge/program.h>\n"
	"#include <math.h>\n"
	"\n"
	"int kf_forward(struct kf_call *c)\n"
	"{\n"
	"\tconst float *x = c->in[0].data;\n"
	"\tconst float *gain = kf_weight(c, \"gain\")->data;\n"
	"\tfloat eps = (float)c->scalar[0].f;\n"
	"\tfloat *y = c->out[0].data;\n"
	"\tint64_t rows = c->in[0].shape[0], cols = c->in[0].shape[1];\n"
	"\n"
	"\tfor (int64_t i = 0; i < rows; i++, x += cols, y += cols) {\n"
	"\t\tfloat sum = 0, scale;\n"
	"\n"
	"\t\t#pragma omp simd reduction(+ : sum)\n"
	"\t\tfor (int64_t j = 0; j < cols; j++)\n"
	"\t\t\tsum += x[j] * x[j];\n"
	"\t\tscale = 1 / sqrtf(sum / (float)cols + eps);\n"
	"\t\tfor (int64_t j = 0; j < cols; j++)\n"
	"\t\t\ty[j] = x[j] * scale * gain[j];\n"
	"\t}\n"
	"\treturn 0;\n"
	"}\n";

static const char problem_py[] =
	"\"\"\"Rows scaled to a root mean square of one, times a gain.\"\"\"\n"
	"\n"
	"import torch\n"
	"import torch.nn as nn\n"
	"\n"
	"# kforge: size test ROWS=16 COLS=100\n"
	"ROWS = 512\n"
	"COLS = 1000\n"
	"\n"
	"\n"
	"class Model(nn.Module):\n"
	"    def __init__(self, cols, eps=1e-6):\n"
	"        super().__init__()\n"
	"        self.gain = nn.Parameter(torch.rand(cols) + 0.5)\n"
	"        self.eps = eps\n"
	"\n"
	"    def forward(self, x):\n"
	"        mean = (x * x).mean(dim=1, keepdim=True)\n"
	"        return x * torch.rsqrt(mean + self.eps) * self.gain\n"
	"\n"
	"\n"
	"def get_inputs():\n"
	"    return [torch.randn(ROWS, COLS)]\n"
	"\n"
	"\n"
	"def get_init_inputs():\n"
	"    return [COLS]\n";

static const struct new_file { const char *name, *text; } c_file[] = {
	{ "problem.json", problem_json },
	{ "reference.c", reference_c },
	{ "program.c", program_c },
};

/* The last part of a path must be fit for a problem's name. */
static enum kf_code check_name(const char *path, struct kf_err *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	bool good = name[0] && name[0] != '.' && strlen(name) <= 100;

	for (const char *c = name; *c && good; c++)
		good = isalnum((unsigned char)*c) || strchr("._-", *c);
	if (!good)
		return kf_fail(err, KF_E_INPUT, "'%s' is no name for a "
			       "problem: letters, digits, dots, dashes and "
			       "underscores are wanted", name);
	return KF_OK;
}

static enum kf_code write_one(const char *path, const char *text,
			      struct kf_err *err)
{
	return kf_file_write(path, text, strlen(text), err);
}

static enum kf_code new_c(const char *folder, struct kf_err *err)
{
	char *quoted = kf_cli_quote(folder);
	enum kf_code code = KF_OK;

	if (mkdir(folder, 0777))
		code = errno == EEXIST ?
			kf_fail(err, KF_E_INPUT, "%s is there already, and "
				"nothing is written over: choose another name",
				folder) :
			kf_fail_errno(err, "cannot make folder %s", folder);
	for (size_t i = 0; i < KF_COUNT(c_file) && !code; i++) {
		char *path = kf_path_join(folder, c_file[i].name);

		code = write_one(path, c_file[i].text, err);
		free(path);
		if (code)	/* half a problem is only in the way */
			(void)kf_remove_tree(folder, NULL);
	}
	if (!code)
		printf("made %s: problem.json, reference.c, and program.c to "
		       "begin with\ntry: kforge verify %s %s/program.c\n",
		       folder, quoted, quoted);
	free(quoted);
	return code;
}

static enum kf_code new_python(const char *name, struct kf_err *err)
{
	size_t len = strlen(name);
	bool has_end = len > 3 && strcmp(name + len - 3, ".py") == 0;
	char *path = kf_format("%s%s", name, has_end ? "" : ".py");
	char *quoted = kf_cli_quote(path);
	enum kf_code code;

	if (kf_path_exists(path))
		code = kf_fail(err, KF_E_INPUT, "%s is there already, and "
			       "nothing is written over: choose another name",
			       path);
	else
		code = write_one(path, problem_py, err);
	if (!code)
		printf("made %s\ntry: kforge problem show %s\n", path,
		       quoted);
	free(quoted);
	free(path);
	return code;
}

static int new(const struct kf_options *options, const char **argument,
	       size_t argument_count)
{
	struct kf_err err = { 0 };
	enum kf_code code = check_name(argument[0], &err);

	(void)argument_count;
	if (!code && options->kind == KF_PROBLEM_PYTHON)
		code = new_python(argument[0], &err);
	else if (!code)
		code = new_c(argument[0], &err);
	return code ? kf_cli_fail(&err) : KF_EXIT_GOOD;
}

const struct kf_command kf_command_problem_new = {
	.name = "problem new",
	.arguments = "NAME",
	.summary = "write a small problem that works, with a program to begin from",
	.options = "kind help",
	.argument_min = 1,
	.argument_max = 1,
	.run = new,
};
