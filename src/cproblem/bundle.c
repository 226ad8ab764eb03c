/* Makes the bundle of a C problem: compiles the reference, runs it on all
 * kinds of data, writes files (docs/bundles.md). */
#include <math.h>
#include <sys/stat.h>

#include "cproblem/maker.h"
#include "evaluate/compare.h"
#include "problem/bundle_cache.h"
#include "problem/bundle_load.h"

/* Raise it when the same problem would get another bundle. */
#define MAKER_VERSION 3

#define PLATFORM "cpu"			/* where references run */
#define WEIGHTS_SEED UINT64_C(20)	/* declared weights are always the same */
#define RUNS 8u
#define RUNS_SLOW 4u
#define RUNS_LIGHT 2u
#define SLOW_NS KF_NS_PER_S	/* a slower call gets fewer perturbed runs */
#define AGREE 0.01		/* of the RMS: float and double forms */

/* --- beginning ----------------------------------------------------------- */

static enum kf_code compile(struct kf_maker *m, const char *job_folder,
			    const char *code_text, enum kf_dtype real,
			    struct kf_cref *out, struct kf_err *err)
{
	char *folder = kf_path_join(job_folder, kf_dtype_name(real));
	struct kf_cref_build build = {
		.platform = m->platform,
		.command = kf_cref_command,
		.problem = &m->problem,
		.name = m->name,
		.code = code_text,
		.real = real,
		.folder = folder,
		.tier_min = m->spec->tier_min,
		.cancel = m->spec->cancel,
	};
	enum kf_code code = kf_cref_init(out, m->spec, &m->problem,
					 m->platform, real, err);

	if (!code)
		code = kf_mkdir_p(folder, err);
	if (!code)
		code = kf_cref_compile(&build, &out->artefact, err);
	if (code == KF_E_INPUT)
		kf_maker_refused(m, "compile", (double)NAN, code);
	free(folder);
	return code;
}

static enum kf_code make_folders(const struct kf_maker *m, struct kf_err *err)
{
	static const char *const part[] = { "public", "inputs", "oracle" };
	enum kf_code code = KF_OK;

	for (size_t i = 0; i < KF_COUNT(part) && !code; i++) {
		char *path = kf_path_join(m->out_folder, part[i]);

		code = kf_mkdir_p(path, err);
		free(path);
	}
	return code;
}

static enum kf_code make_weights(struct kf_maker *m, struct kf_err *err)
{
	const struct kf_ctensors *list = &m->problem.weight;

	m->weight = kf_data_new(list);
	for (size_t i = 0; i < list->count; i++) {
		struct kf_rng rng = kf_values_rng(WEIGHTS_SEED, i);

		if (!kf_values_make(&list->at[i], &rng, m->weight[i]))
			return kf_fail(err, KF_E_INPUT, "problem %s: values of "
				       "weight %s hardly ever lie in its "
				       "domain: change one of the two",
				       m->name, list->at[i].info.name);
	}
	return KF_OK;
}

/* What keeping all data would take. */
static double whole_bytes(const struct kf_maker *m)
{
	const struct kf_cproblem *p = &m->problem;
	size_t each, count = kf_maker_stock_count(m, &each);
	double scales = 0;

	for (size_t i = 0; i < p->out.count; i++)
		scales += 16 * (double)p->out.at[i].info.numel;
	return (double)count * (double)each +
		2 * (double)kf_ctensors_bytes(&p->weight) +
		(double)kf_maker_set_count * ((double)each + scales);
}

/* Whether all data are kept, and whether they can be made at all. */
static enum kf_code check_size(struct kf_maker *m, struct kf_err *err)
{
	struct kf_bundle_limits limits;
	double disk, room, memory, most;

	kf_bundle_limits_find(m->spec, m->out_folder, &limits);
	m->is_condensed = whole_bytes(m) > (double)limits.whole_bytes;
	if (!m->is_condensed)
		return KF_OK;
	disk = kf_maker_condensed_bytes(m);
	room = (double)limits.room_bytes;
	memory = kf_maker_condensed_memory(m);
	most = m->spec->memory_bytes ? (double)m->spec->memory_bytes :
		(double)INFINITY;
	if (disk <= room && memory <= most)
		return KF_OK;
	if (disk > room)
		kf_fail(err, KF_E_LIMIT, "problem %s: its bundle would take "
			"%.1f GB, and there is room for %.1f (half of what is "
			"free in the cache); choose smaller sizes with --set "
			"or --size, or make room", m->name, disk / 1e9,
			room / 1e9);
	else
		kf_fail(err, KF_E_LIMIT, "problem %s: to make its bundle takes "
			"%.1f GB of memory, and references may have %.1f here; "
			"choose smaller sizes with --set or --size, or a "
			"bigger machine", m->name, memory / 1e9, most / 1e9);
	return kf_maker_refused(m, "limit", fmax(disk / room, memory / most),
				KF_E_LIMIT);
}

/* --- is this a problem that can be judged? ------------------------------- */

/* Two runs on the same numbers, each with another pattern in its outputs. */
struct twice {
	void **in, **other;	/* owned; declared inputs of two seeds */
	struct kf_answer one, two;
	uint32_t pattern_one, pattern_two;
};

static bool same_element(enum kf_dtype dtype, const void *a, const void *b,
			 int64_t i)
{
	size_t bytes = kf_dtype_bytes(dtype);
	double x = kf_element(dtype, a, i), y = kf_element(dtype, b, i);

	if (dtype >= KF_F16)
		return x == y || (isnan(x) && isnan(y));
	return memcmp((const char *)a + (size_t)i * bytes,
		      (const char *)b + (size_t)i * bytes, bytes) == 0;
}

static enum kf_code refuse_different(struct kf_maker *m,
				     const struct twice *t, size_t out,
				     int64_t i, struct kf_err *err)
{
	const struct kf_tensor_info *info = &m->problem.out.at[out].info;
	bool unwritten = kf_compare_is_poison(info->dtype, t->one.expect[out],
					      i, t->pattern_one) &&
		kf_compare_is_poison(info->dtype, t->two.expect[out], i,
				     t->pattern_two);
	char index[128];

	kf_compare_index(info->rank, info->shape, i, index);
	kf_maker_refused(m, unwritten ? "unwritten" : "nondeterministic",
			 (double)NAN, KF_E_INPUT);
	if (unwritten)
		return kf_fail(err, KF_E_INPUT, "problem %s: the reference "
			       "does not write output %s at index %s: it must "
			       "write every element", m->name, info->name,
			       index);
	return kf_fail(err, KF_E_INPUT, "problem %s: the reference differs "
		       "from itself on the same numbers: output %s at index "
		       "%s is %.9g and %.9g; it must depend on its inputs "
		       "alone", m->name, info->name, index,
		       kf_element(info->dtype, t->one.expect[out], i),
		       kf_element(info->dtype, t->two.expect[out], i));
}

static enum kf_code compare_twice(struct kf_maker *m,
				  const struct twice *t, struct kf_err *err)
{
	for (size_t out = 0; out < m->problem.out.count; out++) {
		const struct kf_tensor_info *info =
			&m->problem.out.at[out].info;

		for (int64_t i = 0; i < info->numel; i++)
			if (!same_element(info->dtype, t->one.expect[out],
					  t->two.expect[out], i))
				return refuse_different(m, t, out, i, err);
	}
	return KF_OK;
}

static enum kf_code run_once(struct kf_maker *m, void *const *in,
			     struct kf_answer *answer, uint32_t *pattern,
			     struct kf_err *err)
{
	struct kf_cref_data data = { in, m->weight, KF_WEIGHTS_DECLARED };
	struct kf_cref_end end;
	enum kf_code code = kf_oracle_run(&m->oracle, &data, false, answer,
					  &end, err);

	if (!code && end.code)
		code = kf_maker_refuse(m, &end, err);
	if (!code)
		*pattern = kf_worker_pattern(m->real.worker);
	return code;
}

/* The second time in a process of its own, and after other numbers: what is
 * kept between calls, and what differs between processes, shows. */
static enum kf_code check_itself(struct kf_maker *m, struct twice *t,
				 struct kf_err *err)
{
	enum kf_code code = kf_maker_inputs(m, kf_maker_seed(), t->in, err);

	if (!code)
		code = kf_maker_inputs(m, kf_maker_seed(), t->other, err);
	if (!code)
		code = run_once(m, t->in, &t->one, &t->pattern_one, err);
	kf_cref_stop(&m->real);
	if (!code)
		code = run_once(m, t->other, &t->two, &t->pattern_two, err);
	if (!code)
		code = run_once(m, t->in, &t->two, &t->pattern_two, err);
	if (!code)
		code = compare_twice(m, t, err);
	return code ? code : kf_maker_refuse_not_finite(m, &t->one, err);
}

/* How far float and double are apart, of the RMS. */
static double disagreement(const struct kf_tensor_info *info,
			   const void *expect, const double *exact)
{
	double error = 0, size = 0;

	for (int64_t i = 0; i < info->numel; i++) {
		double r = kf_element(info->dtype, expect, i);

		error += (r - exact[i]) * (r - exact[i]);
		size += r * r;
	}
	/* What cancels out entirely leaves rounding errors only. */
	error = sqrt(error / (double)info->numel) - 1e-6;
	size = sqrt(size / (double)info->numel);
	return error <= 0 ? 0 : error / size;
}

static enum kf_code refuse_double(struct kf_maker *m,
				  const struct kf_tensor_info *info,
				  struct kf_err *err)
{
	kf_fail(err, KF_E_INPUT, "problem %s: the reference computes "
		"something else when kf_real is double: output %s is off by "
		"more than 1 %%; is a float where kf_real should be?",
		m->name, info->name);
	return kf_maker_refused(m, "double", (double)NAN, KF_E_INPUT);
}

/* A reference that computes with float where it should with kf_real gives
 * something else, or rubbish, in double. */
static enum kf_code check_double(struct kf_maker *m, void *const *in,
				 struct kf_err *err)
{
	struct kf_cref_data data = { in, m->weight, KF_WEIGHTS_DECLARED };
	const struct kf_ctensors *out = &m->problem.out;
	struct kf_cref_end end;
	struct kf_answer answer;
	enum kf_code code;

	kf_answer_init(&m->problem, KF_ANSWER_EXACT, &answer);
	code = kf_oracle_run(&m->oracle, &data, true, &answer, &end, err);
	if (!code && end.code)
		code = kf_maker_refuse(m, &end, err);
	for (size_t i = 0; i < out->count && !code; i++) {
		const struct kf_tensor_info *info = &out->at[i].info;

		if (answer.exact[i] &&
		    !(disagreement(info, answer.expect[i], answer.exact[i]) <=
		      AGREE))
			code = refuse_double(m, info, err);
	}
	if (m->spec->light)
		m->oracle.runs = RUNS_LIGHT;
	else if (m->oracle.wide ? m->wide.time_ns > SLOW_NS :
		 m->real.time_ns > SLOW_NS)
		m->oracle.runs = RUNS_SLOW;
	kf_answer_release(&m->problem, &answer);
	return code;
}

static enum kf_code check(struct kf_maker *m, struct kf_err *err)
{
	const struct kf_cproblem *p = &m->problem;
	struct twice twice = { .in = kf_data_new(&p->in),
			       .other = kf_data_new(&p->in) };
	enum kf_code code;

	kf_answer_init(p, KF_ANSWER_EXPECT, &twice.one);
	kf_answer_init(p, KF_ANSWER_EXPECT, &twice.two);
	code = check_itself(m, &twice, err);
	kf_answer_release(p, &twice.two);	/* large ones need the room */
	if (!code)
		code = check_double(m, twice.in, err);
	kf_answer_release(p, &twice.one);
	kf_data_free(twice.other, p->in.count);
	kf_data_free(twice.in, p->in.count);
	return code;
}

/* --- all of it ----------------------------------------------------------- */

struct job {
	const struct kf_problem_spec *spec;
	const struct kf_problem *problem;
	struct kf_refusal refusal;
};

static void init(struct kf_maker *m, const struct job *job,
		 const char *out_folder)
{
	*m = (struct kf_maker) {
		.spec = job->spec,
		.name = job->problem->name,
		.out_folder = out_folder,
		.sets = json_array(), .stock = json_array(),
		.kinds = json_array(), .dropped = json_array(),
		.notes = json_array(), .domain = json_array(),
	};
}

static void release(struct kf_maker *m)
{
	json_t *const lists[] = { m->sets, m->stock, m->kinds, m->dropped,
				  m->notes, m->domain, m->condensed };

	for (size_t i = 0; i < KF_COUNT(lists); i++)
		json_decref(lists[i]);
	kf_data_free(m->weight, m->problem.weight.count);
	kf_answer_release(&m->problem, &m->first);
	kf_cref_release(&m->real);
	kf_cref_release(&m->wide);
	free(m->in_matters);
	free(m->weight_matters);
	kf_platform_free(m->platform);
	kf_cproblem_release(&m->problem);
}

/* What is not tried matters. */
static bool *all_true(size_t count)
{
	bool *list = kf_alloc((count + 1) * sizeof(list[0]));

	for (size_t i = 0; i < count; i++)
		list[i] = true;
	return list;
}

static enum kf_code begin(struct kf_maker *m, const char *job_folder,
			  const char *code_text, struct kf_err *err)
{
	const struct kf_cproblem *p = &m->problem;
	bool wide = p->real != KF_F64;
	enum kf_code code;

	m->in_matters = all_true(p->in.count);
	m->weight_matters = all_true(p->weight.count);
	m->oracle = (struct kf_oracle) {
		.problem = p, .name = m->name, .real = &m->real,
		.wide = wide ? &m->wide : NULL, .runs = RUNS,
		.weights_id = KF_WEIGHTS_DECLARED,
	};
	code = check_size(m, err);
	if (!code)
		code = kf_platform_load(PLATFORM, &m->platform, err);
	if (!code)
		code = compile(m, job_folder, code_text, p->real, &m->real,
			       err);
	if (!code && wide)
		code = compile(m, job_folder, code_text, KF_F64, &m->wide,
			       err);
	return code ? code : make_weights(m, err);
}

static enum kf_code make_whole(struct kf_maker *m, struct kf_err *err)
{
	enum kf_code code = kf_maker_sets(m, err);

	return code ? code : kf_maker_stock(m, err);
}

static enum kf_code make(void *arg, const char *job_folder,
			 const char *out_folder, struct kf_err *err)
{
	struct job *job = arg;
	uint64_t start_ns = kf_now_ns();
	const char *code_text;
	struct kf_maker m;
	enum kf_code code;

	init(&m, job, out_folder);
	code = kf_cproblem_from_source(job->problem, &m.problem, &code_text,
				       err);
	if (!code)
		code = begin(&m, job_folder, code_text, err);
	if (!code)
		code = check(&m, err);
	if (!code)
		code = make_folders(&m, err);
	if (!code)
		code = kf_maker_write_weights(&m, err);
	if (!code)
		code = m.is_condensed ? kf_maker_condensed(&m, err) :
			make_whole(&m, err);
	if (!code)
		code = kf_maker_write_info(&m, kf_now_ns() - start_ns, err);
	job->refusal = m.refusal;
	release(&m);
	return code;
}

enum kf_code kf_cproblem_bundle(const struct kf_problem_spec *spec,
				const struct kf_problem *problem,
				struct kf_bundle *out, struct kf_err *err)
{
	struct job job = { .spec = spec, .problem = problem };
	char *content = kf_format("bundle %d\n%s\nc %d\n", KF_BUNDLE_FORMAT,
				  problem->hash, MAKER_VERSION);
	struct kf_bundle_maker maker = { content, make, &job };
	enum kf_code code = kf_bundle_cached(spec, problem, &maker, out, err);

	out->refusal = job.refusal;
	free(content);
	return code;
}
