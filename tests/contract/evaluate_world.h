/*
 * evaluate_world.h - what the suites that judge real programs share: a problem,
 * out = relu(x w^T + b), made here, so that no Python is needed, and what a
 * program's first line says of it.
 */
#ifndef KF_EVALUATE_WORLD_H
#define KF_EVALUATE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those first */
#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <unistd.h>

#include "evaluate/evaluate.h"

#define ROWS	24
#define DEPTH	64
#define COLS	44
#define SETS	6
#define STOCK	24

/* --- the problem ----------------------------------------------------------*/

struct data {
	float x[ROWS * DEPTH], w[COLS * DEPTH], b[COLS];
	float expect[ROWS * COLS], react[ROWS * COLS], noise[ROWS * COLS];
	double exact[ROWS * COLS];
	const void *in[1], *weight[2], *out[1];
	const double *exact_list[1];
	const float *react_list[1], *noise_list[1];
};

struct fixture {
	char folder[64];
	struct kf_platform *platform;
	struct kf_device_info device;	/* the platform's first */
	struct kf_problem problem;
	struct kf_bundle bundle;
	struct kf_tensor_info in, weight[2], out;
	struct kf_case set[SETS], stock[STOCK];
	struct data *data;
};

static char name_of[][8] = { "x", "fc.w", "fc.b", "out0", "linear" };

static struct kf_tensor_info matrix(char *name, int64_t rows, int64_t cols)
{
	return (struct kf_tensor_info) {
		.name = name, .dtype = KF_F32, .rank = cols ? 2 : 1,
		.shape = { rows, cols }, .numel = rows * (cols ? cols : 1),
		.bytes = sizeof(float) * (size_t)(rows * (cols ? cols : 1)),
	};
}

/* The value in double and in float, and how both react to small changes. */
static void reference(struct data *d, int i, int j)
{
	double y = (double)d->b[j], g = y * y;
	float r = d->b[j];
	int at = i * COLS + j;

	for (int k = 0; k < DEPTH; k++) {
		double term = (double)d->x[i * DEPTH + k] *
			(double)d->w[j * DEPTH + k];

		y += term;
		g += 2 * term * term;
		r += d->x[i * DEPTH + k] * d->w[j * DEPTH + k];
	}
	d->exact[at] = y > 0 ? y : 0;
	d->expect[at] = r > 0 ? r : 0;
	d->react[at] = y > 0 ? (float)sqrt(g) : 0;
	d->noise[at] = (float)fabs((double)r - y) + 1e-8f;
}

static void change_inputs(struct data *d, const char *kind, struct kf_rng *rng)
{
	for (int i = 0; i < ROWS * DEPTH; i++) {
		double x = kf_rng_double(rng);

		if (strcmp(kind, "zero_mean") == 0)
			x = 2 * x - 1;
		else if (strcmp(kind, "wide") == 0)
			x = (2 * x - 1) * exp(6 * kf_rng_double(rng) - 3);
		else if (strcmp(kind, "tail") == 0)
			x *= i % DEPTH >= DEPTH - DEPTH / 8 ? 8 : 1;
		else if (strcmp(kind, "small") == 0)
			x *= 1e-3;
		d->x[i] = (float)x;
	}
}

static void make_case(struct fixture *f, struct kf_case *kase, struct data *d,
		      const char *kind, struct kf_rng *rng)
{
	bool own = d == f->data || strcmp(kind, "weights") == 0;

	change_inputs(d, kind, rng);
	for (int i = 0; i < COLS * DEPTH; i++)
		d->w[i] = own ? (float)(kf_rng_double(rng) - 0.5) / 8 :
			f->data->w[i];
	for (int i = 0; i < COLS; i++)
		d->b[i] = own ? (float)(kf_rng_double(rng) - 0.5) :
			f->data->b[i];
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < COLS; j++)
			reference(d, i, j);
	d->in[0] = d->x;
	d->weight[0] = d->w;
	d->weight[1] = d->b;
	d->out[0] = d->expect;
	d->exact_list[0] = d->exact;
	d->react_list[0] = d->react;
	d->noise_list[0] = d->noise;
	*kase = (struct kf_case) {
		.kind = kind, .in = d->in, .expect = d->out,
		.exact = d->exact_list,
		.weight = strcmp(kind, "weights") ? NULL : d->weight,
		.react = strcmp(kind, "stock") ? d->react_list : NULL,
		.noise = strcmp(kind, "stock") ? d->noise_list : NULL,
	};
}

static void make_bundle(struct fixture *f)
{
	static const char *const kind[SETS] = { "declared", "zero_mean", "wide",
						"tail", "small", "weights" };
	struct kf_rng rng = { 20 };

	f->data = kf_alloc((SETS + STOCK) * sizeof(f->data[0]));
	for (size_t i = 0; i < SETS; i++)
		make_case(f, &f->set[i], &f->data[i], kind[i], &rng);
	for (size_t i = 0; i < STOCK; i++)
		make_case(f, &f->stock[i], &f->data[SETS + i], "stock", &rng);
	f->in = matrix(name_of[0], ROWS, DEPTH);
	f->weight[0] = matrix(name_of[1], COLS, DEPTH);
	f->weight[1] = matrix(name_of[2], COLS, 0);
	f->out = matrix(name_of[3], ROWS, COLS);
	f->problem.name = name_of[4];
	f->bundle = (struct kf_bundle) {
		.in = &f->in, .weight = f->weight, .out = &f->out,
		.in_count = 1, .weight_count = 2, .out_count = 1,
		.weight_data = f->data->weight,
		.set = f->set, .set_count = SETS,
		.stock = f->stock, .stock_count = STOCK,
		.flops = 2.0 * ROWS * COLS * DEPTH, .bytes = 1e5,
		.has_exact = true,
	};
}

/* The folder and the problem; the platform is the suite's. */
static int world_init(struct fixture *f)
{
	snprintf(f->folder, sizeof(f->folder), "/tmp/kforge-evaluate-XXXXXX");
	if (!mkdtemp(f->folder))
		return -1;
	make_bundle(f);
	return 0;
}

static void world_release(struct fixture *f)
{
	kf_device_info_release(&f->device);
	kf_platform_free(f->platform);
	kf_remove_tree(f->folder, NULL);
	free(f->data);
}

/* --- judging --------------------------------------------------------------*/

/* The program whose files are in the folder source. */
static void judge_folder(struct fixture *f, const char *source, unsigned calls,
			 struct kf_verdict *out)
{
	char *work = kf_format("%s/work", source);
	struct kf_evaluate_request req = {
		.platform = f->platform, .device_id = f->device.id,
		.device_arch = f->device.arch,
		.device_in_process = f->device.in_process,
		.problem = &f->problem, .bundle = &f->bundle,
		.baseline_stored_ns = KF_NS_PER_MS,
		.source_dir = source, .work_dir = work,
		.call_count_fixed = calls, .threads = 2,
		.tier_min = KF_TIER_WEAK,
		.call_timeout_ns = 2 * KF_NS_PER_S,
	};
	struct kf_err err = { 0 };

	if (kf_mkdir_p(work, &err) || kf_evaluate(&req, out, &err))
		fail_msg("%s: %s", source, err.text);
	free(work);
}

/* The first line: "/" "* STATE REASON|REASON WORD". */
static void expect(const char *name, const char *text,
		   const struct kf_verdict *v)
{
	char state[32] = "", reason[64] = "", word[64] = "", *reasons, *got;
	int given = sscanf(text, "/* %31s %63s %63s", state, reason, word);

	if (given < 2)
		fail_msg("%s: says not what to expect", name);
	reasons = kf_format("|%s|", strcmp(reason, "-") ? reason : "");
	got = kf_format("|%s|", v->reason);
	if (given < 3 || word[0] == '*')
		word[0] = '\0';
	if (strcmp(kf_state_name(v->state), state) != 0 ||
	    !strstr(reasons, got) ||
	    !strstr(kf_buf_str(&v->text), word))
		fail_msg("%s: %s (%s) instead of %s (%s), %s\n%s", name,
			 kf_state_name(v->state), v->reason, state, reason,
			 word, kf_buf_str(&v->text));
	free(got);
	free(reasons);
}

#endif
