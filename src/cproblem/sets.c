/* The data on which candidates are judged: sets and stock. */
#include <math.h>

#include "cproblem/maker.h"
#include "evaluate/compare.h"

#define STOCK_BYTES (128u << 20)	/* of all stock entries together */
#define STOCK_MAX 64u
#define STOCK_MIN 12u
#define STOCK_BYTES_MAX (1536u << 20)	/* beyond it even fewer than that */
#define STOCK_LEAST 4u
#define STOCK_LIGHT 1u
#define MATTERS_RUNS 256u
#define MATTERS_NS (20 * KF_NS_PER_S)

static const char *const set_kind[] = {
	"declared", "changed", "zero_mean", "wide", "tail", "small",
	"large", "tiny", "weights",
};
/* Of so many elements of the first set one is changed; where no output follows
 * that, one of fewer. */
static const int64_t changed_one_in[] = { 4096, 512, 64 };
const size_t kf_maker_set_count = KF_COUNT(set_kind);

/* Numbers of generators, so that no two purposes share one. */
enum purpose { OF_INPUTS = 0, OF_CHANGE = 1000, OF_WEIGHTS = 2000,
	       OF_VARY = 3000, OF_SPREAD = 4000, OF_OTHERS = 5000,
	       OF_FEW = 6000 };

uint64_t kf_maker_seed(void)
{
	uint64_t seed;

	kf_random_bytes(&seed, sizeof(seed));
	return seed >> 2;
}

enum kf_code kf_maker_refused(struct kf_maker *m, const char *kind,
			      double ratio, enum kf_code code)
{
	snprintf(m->refusal.kind, sizeof(m->refusal.kind), "%s", kind);
	m->refusal.ratio = ratio;
	return code;
}

enum kf_code kf_maker_inputs(struct kf_maker *m, uint64_t seed, void **in,
			     struct kf_err *err)
{
	for (size_t i = 0; i < m->problem.in.count; i++) {
		const struct kf_ctensor *t = &m->problem.in.at[i];
		struct kf_rng rng = kf_values_rng(seed, OF_INPUTS + i);

		if (!kf_values_make(t, &rng, in[i]))
			return kf_maker_refused(m, "domain", (double)NAN,
				kf_fail(err, KF_E_INPUT, "problem %s: values "
					"of input %s hardly ever lie in its "
					"domain: change one of the two",
					m->name, t->info.name));
	}
	return KF_OK;
}

enum kf_code kf_maker_refuse(struct kf_maker *m,
			     const struct kf_cref_end *end,
			     struct kf_err *err)
{
	kf_maker_refused(m, end->code == KF_E_LIMIT ? "memory" :
			 end->code == KF_E_TIMEOUT ? "time" : "exception",
			 (double)NAN, end->code);
	return kf_fail(err, end->code, "problem %s: the reference cannot be "
		       "used: %s%s", m->name, end->text,
		       end->code == KF_E_INPUT ? "" :
		       "; choose smaller sizes with --set or --size");
}

enum kf_code kf_maker_refuse_not_finite(struct kf_maker *m,
					const struct kf_answer *answer,
					struct kf_err *err)
{
	char words[256];

	kf_answer_not_finite(&m->problem, answer, words);
	if (!words[0])
		return KF_OK;
	kf_fail(err, KF_E_INPUT, "problem %s: the reference is not finite on "
		"its own inputs: %s", m->name, words);
	return kf_maker_refused(m, "non_finite", (double)NAN, KF_E_INPUT);
}

/* --- one set ------------------------------------------------------------- */

/* A set in the making. why: the reason to leave it out, "" so far. */
struct set {
	const char *kind;
	uint64_t seed;
	void **in, **weight;	/* owned; weight: NULL if declared */
	struct kf_cref_data data;
	struct kf_answer answer;
	char why[KF_WHY];
};

/* What others are divided by is often the last one: that alone is tiny. */
static bool is_changed(const struct kf_ctensors *list, size_t i,
		       const char *kind)
{
	const struct kf_ctensors rest = {
		.at = list->at + i + 1, .count = list->count - i - 1,
	};

	return strcmp(kind, "tiny") != 0 || !kf_any_floating(&rest);
}

static bool all_structural(const struct kf_ctensors *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (!list->at[i].info.structural)
			return false;
	return true;
}

void **kf_maker_random_weights(const struct kf_maker *m, uint64_t seed)
{
	const struct kf_ctensors *list = &m->problem.weight;
	void **weight = kf_data_new(list);

	for (size_t i = 0; i < list->count; i++) {
		struct kf_rng rng = kf_values_rng(seed, OF_WEIGHTS + i);

		if (list->at[i].info.structural)
			memcpy(weight[i], m->weight[i],
			       list->at[i].info.bytes);
		else
			kf_values_random(&list->at[i], m->weight[i], &rng,
					 weight[i]);
	}
	return weight;
}

void kf_maker_outside(const struct kf_ctensors *list, void *const *data,
		      const char *what, char why[KF_WHY])
{
	for (size_t i = 0; i < list->count && !why[0]; i++) {
		const struct kf_ctensor *t = &list->at[i];
		int64_t at = kf_values_outside(t, data[i]);
		char index[128];

		if (at < 0)
			continue;
		kf_compare_index(t->info.rank, t->info.shape, at, index);
		snprintf(why, KF_WHY, "%s %s leaves its domain: %.6g at index "
			 "%s", what, t->info.name,
			 kf_element(t->info.dtype, data[i], at), index);
	}
}

void kf_maker_possible(const struct kf_maker *m, const char *kind,
		       char why[KF_WHY])
{
	if (kf_values_changes(kind) && !kf_any_floating(&m->problem.in))
		snprintf(why, KF_WHY, "there is no floating-point input");
	if (strcmp(kind, "weights") == 0 && all_structural(&m->problem.weight))
		snprintf(why, KF_WHY, "there is no weight that may change");
}

/* Some elements of declared data, secretly chosen, as they are in other. */
static void change_few(const struct kf_ctensor *t, struct kf_rng *rng,
		       const char *other, int64_t one_in, char *data)
{
	size_t size = kf_dtype_bytes(t->info.dtype);
	int64_t count = t->info.numel / one_in;

	for (int64_t i = 0; t->info.numel && i < (count ? count : 1); i++) {
		int64_t k = (int64_t)kf_rng_below(rng,
						  (uint64_t)t->info.numel);
		const char *from = other + (size_t)k * size;

		/* The same number for every seed is made a little larger. */
		if (memcmp(data + (size_t)k * size, from, size) == 0)
			kf_values_put(t->info.dtype, data, k, 1.25 *
				      kf_element(t->info.dtype, other, k));
		else
			memcpy(data + (size_t)k * size, from, size);
	}
}

/* The first set with so few elements changed that who looks at some of them
 * only sees nothing of it. *moves: some output follows. */
static enum kf_code try_few(struct kf_maker *m, struct set *s, int64_t one_in,
			    void **other, bool *moves, struct kf_err *err)
{
	const struct kf_ctensors *list = &m->problem.in;
	struct kf_cref_data data = { s->in, m->weight, KF_WEIGHTS_DECLARED };
	uint64_t seed = kf_maker_seed();
	enum kf_code code = kf_maker_inputs(m, m->first_seed, s->in, err);

	if (!code)
		code = kf_maker_inputs(m, seed, other, err);
	for (size_t i = 0; i < list->count && !code; i++) {
		struct kf_rng rng = kf_values_rng(seed, OF_FEW + i);

		if (kf_is_floating(&list->at[i]))
			change_few(&list->at[i], &rng, other[i], one_in,
				   s->in[i]);
	}
	return code ? code : kf_oracle_moves(&m->oracle, &data, &m->first,
					     moves, err);
}

/* Where no output follows few elements the set is one more of declared data. */
static enum kf_code make_changed(struct kf_maker *m, struct set *s,
				 struct kf_err *err)
{
	void **other = kf_data_new(&m->problem.in);
	enum kf_code code = KF_OK;
	bool moves = false;

	for (size_t i = 0; i < KF_COUNT(changed_one_in) && !moves && !code;
	     i++)
		code = try_few(m, s, changed_one_in[i], other, &moves, err);
	kf_data_free(other, m->problem.in.count);
	if (code || moves)
		return code;
	s->kind = "declared";
	return kf_maker_inputs(m, s->seed, s->in, err);
}

static enum kf_code make_data(struct kf_maker *m, struct set *s,
			      struct kf_err *err)
{
	const struct kf_cproblem *p = &m->problem;
	enum kf_code code = strcmp(s->kind, "changed") == 0 ?
		make_changed(m, s, err) :
		kf_maker_inputs(m, s->seed, s->in, err);

	if (code)
		return code;
	kf_maker_possible(m, s->kind, s->why);
	for (size_t i = 0; i < p->in.count && !s->why[0]; i++) {
		struct kf_rng rng = kf_values_rng(s->seed, OF_CHANGE + i);

		if (is_changed(&p->in, i, s->kind))
			kf_values_change(s->kind, &p->in.at[i], &rng,
					 s->in[i]);
	}
	if (strcmp(s->kind, "weights") == 0 && !s->why[0])
		s->weight = kf_maker_random_weights(m, s->seed);
	kf_maker_outside(&p->in, s->in, "input", s->why);
	if (s->weight)
		kf_maker_outside(&p->weight, s->weight, "weight", s->why);
	s->data = (struct kf_cref_data) {
		.in = s->in,
		.weight = s->weight ? s->weight : m->weight,
		.weights_id = s->weight ? ++m->oracle.weights_id :
			KF_WEIGHTS_DECLARED,
	};
	return KF_OK;
}

enum kf_code kf_maker_end(struct kf_maker *m, bool own,
			  const struct kf_cref_end *end, char why[KF_WHY],
			  struct kf_err *err)
{
	if (!end->code)
		return KF_OK;
	if (end->code != KF_E_INPUT || own)
		return kf_maker_refuse(m, end, err);
	snprintf(why, KF_WHY, "%s", end->text);
	return KF_OK;
}

/* Whether large or tiny data show anything. */
static void look_at_scaled(const struct kf_maker *m, struct set *s)
{
	bool tiny = strcmp(s->kind, "tiny") == 0;

	if (!tiny && strcmp(s->kind, "large") != 0)
		return;
	if (kf_answer_is_flat(&m->problem, &s->answer))
		snprintf(s->why, sizeof(s->why), "every output is one number "
			 "there, whatever the inputs");
	else if (tiny && kf_answer_is_lost(&m->problem, &s->answer))
		snprintf(s->why, sizeof(s->why), "the reference itself loses "
			 "its way there");
}

static bool is_declared(const struct set *s)
{
	return strcmp(s->kind, "declared") == 0;
}

static enum kf_code run_set(struct kf_maker *m, struct set *s,
			    struct kf_err *err)
{
	struct kf_cref_end end;
	char words[256];
	enum kf_code code;

	code = kf_oracle_run(&m->oracle, &s->data, true, &s->answer, &end,
			     err);
	if (!code)
		code = kf_maker_end(m, is_declared(s), &end, s->why, err);
	if (code || s->why[0])
		return code;
	if (is_declared(s))
		code = kf_maker_refuse_not_finite(m, &s->answer, err);
	kf_answer_not_finite(&m->problem, &s->answer, words);
	if (!code && words[0])
		snprintf(s->why, sizeof(s->why), "the reference is not finite "
			 "there: %s", words);
	if (code || s->why[0])
		return code;
	code = kf_oracle_spread(&m->oracle, &s->data,
				kf_values_rng(s->seed, OF_SPREAD), &s->answer,
				&end, err);
	if (!code)
		code = kf_maker_end(m, is_declared(s), &end, s->why, err);
	if (!code && !s->why[0])
		look_at_scaled(m, s);
	return code;
}

/* --- what matters -------------------------------------------------------- */

struct budget { unsigned runs; uint64_t end_ns; };

static bool spent(struct budget *b)
{
	return b->runs++ >= MATTERS_RUNS || kf_now_ns() > b->end_ns;
}

/* One tensor of data replaced by other numbers; *matters is kept where that
 * cannot be tried. */
static enum kf_code try_other(struct kf_maker *m, const struct set *s,
			      const struct kf_ctensor *t, size_t i,
			      bool is_weight, void *other, bool *matters,
			      struct kf_err *err)
{
	const struct kf_ctensors *list = is_weight ? &m->problem.weight :
		&m->problem.in;
	void *const *own = is_weight ? s->data.weight : s->data.in;
	struct kf_rng rng = kf_values_rng(s->seed, OF_OTHERS + i);
	void **changed = kf_alloc((list->count + 1) * sizeof(changed[0]));
	struct kf_cref_data data = s->data;
	enum kf_code code = KF_OK;

	memcpy(changed, own, list->count * sizeof(changed[0]));
	if (kf_is_floating(t) && (is_weight ||
			       memcmp(other, own[i], t->info.bytes) == 0))
		kf_values_random(t, own[i], &rng, other);
	changed[i] = other;
	if (is_weight) {
		data.weight = changed;
		data.weights_id = ++m->oracle.weights_id;
	} else {
		data.in = changed;
	}
	if (memcmp(other, own[i], t->info.bytes) != 0)
		code = kf_oracle_moves(&m->oracle, &data, &s->answer, matters,
				       err);
	free(changed);
	return code;
}

static enum kf_code find_matters(struct kf_maker *m, const struct set *s,
				 struct kf_err *err)
{
	struct budget budget = { 0, kf_now_ns() + MATTERS_NS };
	const struct kf_cproblem *p = &m->problem;
	void **in = kf_data_new(&p->in), **weight = kf_data_new(&p->weight);
	size_t tried = 0, count = p->in.count + p->weight.count;
	enum kf_code code = kf_maker_inputs(m, kf_maker_seed(), in, err);
	char note[128];

	for (size_t i = 0; i < p->in.count && !code && !spent(&budget); i++) {
		code = try_other(m, s, &p->in.at[i], i, false, in[i],
				 &m->in_matters[i], err);
		tried++;
	}
	for (size_t i = 0; i < p->weight.count && !code && !spent(&budget);
	     i++) {
		memcpy(weight[i], m->weight[i], p->weight.at[i].info.bytes);
		if (!p->weight.at[i].info.structural)
			code = try_other(m, s, &p->weight.at[i], i, true,
					 weight[i], &m->weight_matters[i],
					 err);
		tried++;
	}
	if (tried < count) {
		snprintf(note, sizeof(note), "whether they matter was tried "
			 "for %zu of %zu inputs and weights", tried, count);
		json_array_append_new(m->notes, json_string(note));
	}
	kf_data_free(in, p->in.count);
	kf_data_free(weight, p->weight.count);
	return code;
}

void kf_maker_domain(struct kf_maker *m, void *const *in)
{
	for (size_t i = 0; i < m->problem.in.count; i++) {
		const struct kf_tensor_info *info = &m->problem.in.at[i].info;
		double low = (double)INFINITY, high = -low, sum = 0;

		for (int64_t k = 0; k < info->numel; k++) {
			double value = kf_element(info->dtype, in[i], k);

			low = fmin(low, value);
			high = fmax(high, value);
			sum += value;
		}
		json_array_append_new(m->domain, json_pack("{s:f, s:f, s:f}",
			"min", low, "max", high, "mean",
			sum / (double)info->numel));
	}
}

/* --- all of them --------------------------------------------------------- */

void kf_maker_note_set(struct kf_maker *m, const char *kind, uint64_t seed)
{
	json_array_append_new(m->sets, json_pack("{s:s, s:I}", "kind", kind,
						 "seed", (json_int_t)seed));
	json_array_append_new(m->kinds, json_string(kind));
}

void kf_maker_note_dropped(struct kf_maker *m, const char *kind,
			   const char *why)
{
	json_array_append_new(m->dropped, json_pack("{s:s, s:o}", "kind", kind,
		"reason", kf_json_string(why, strlen(why))));
}

static enum kf_code keep_set(struct kf_maker *m, struct set *s,
			     struct kf_err *err)
{
	size_t number = json_array_size(m->sets);
	enum kf_code code = KF_OK;

	if (!number) {
		kf_maker_domain(m, s->in);
		code = find_matters(m, s, err);
		if (!code)
			code = kf_oracle_round(&m->oracle, &s->data,
					       &s->answer, err);
		m->first_seed = s->seed;
	}
	kf_maker_note_set(m, s->kind, s->seed);
	if (!code)
		code = kf_maker_write_case(m, "set", number, s->in, s->weight,
					   &s->answer, err);
	if (!number) {		/* what changed data are held to */
		m->first = s->answer;
		kf_answer_init(&m->problem, KF_ANSWER_SPREAD, &s->answer);
	}
	return code;
}

static enum kf_code make_set(struct kf_maker *m, const char *kind,
			     struct kf_err *err)
{
	const struct kf_cproblem *p = &m->problem;
	struct set s = { .kind = kind, .seed = kf_maker_seed(),
			 .in = kf_data_new(&p->in) };
	enum kf_code code;

	kf_answer_init(p, KF_ANSWER_SPREAD, &s.answer);
	code = make_data(m, &s, err);
	if (!code && !s.why[0])
		code = run_set(m, &s, err);
	if (!code && s.why[0])
		kf_maker_note_dropped(m, kind, s.why);
	else if (!code)
		code = keep_set(m, &s, err);
	kf_answer_release(p, &s.answer);
	kf_data_free(s.weight, p->weight.count);
	kf_data_free(s.in, p->in.count);
	return code;
}

enum kf_code kf_maker_sets(struct kf_maker *m, struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (size_t i = 0; i < KF_COUNT(set_kind) && !code; i++)
		code = make_set(m, set_kind[i], err);
	return code;
}

/* --- stock --------------------------------------------------------------- */

size_t kf_maker_stock_count(const struct kf_maker *m, size_t *each_bytes)
{
	size_t each = kf_ctensors_bytes(&m->problem.in) +
		kf_ctensors_bytes(&m->problem.out);
	size_t count;

	each = each ? each : 1;
	count = STOCK_BYTES / each;
	*each_bytes = each;
	if (m->spec->light)
		return STOCK_LIGHT;
	count = count > STOCK_MAX ? STOCK_MAX : count;
	count = count < STOCK_MIN ? STOCK_MIN : count;
	if (count > STOCK_BYTES_MAX / each)
		count = STOCK_BYTES_MAX / each;
	return count < STOCK_LEAST ? STOCK_LEAST : count;
}

/* One entry. Inputs that are the same for every seed are varied while *vary:
 * a call whose inputs were seen before could be answered from memory. */
struct entry { void **in, **same; struct kf_answer answer; bool vary; };

static enum kf_code run_entry(struct kf_maker *m, struct entry *e,
			      struct kf_cref_end *end, struct kf_err *err)
{
	struct kf_cref_data data = { e->in, m->weight, KF_WEIGHTS_DECLARED };

	return kf_oracle_run(&m->oracle, &data, false, &e->answer, end, err);
}

static enum kf_code fill_entry(struct kf_maker *m, struct entry *e,
			       uint64_t seed, struct kf_err *err)
{
	const struct kf_ctensors *list = &m->problem.in;
	enum kf_code code = kf_maker_inputs(m, seed, e->in, err);

	for (size_t i = 0; i < list->count && !code && e->vary; i++) {
		struct kf_rng rng = kf_values_rng(seed, OF_VARY + i);

		if (memcmp(e->in[i], e->same[i], list->at[i].info.bytes) == 0)
			kf_values_vary(&list->at[i], &rng, e->in[i]);
	}
	return code;
}

static enum kf_code make_entry(struct kf_maker *m, struct entry *e,
			       uint64_t seed, struct kf_err *err)
{
	struct kf_cref_end end;
	enum kf_code code = fill_entry(m, e, seed, err);
	char words[256];

	if (!code)
		code = run_entry(m, e, &end, err);
	if (code)
		return code;
	kf_answer_not_finite(&m->problem, &e->answer, words);
	if (e->vary && (end.code == KF_E_INPUT || (!end.code && words[0]))) {
		/* Some references hold for their own constants only. */
		e->vary = false;
		json_array_append_new(m->notes, json_string("inputs that are "
			"the same for every seed cannot be varied: results "
			"that depend on nothing else may be kept between "
			"calls"));
		return make_entry(m, e, seed, err);
	}
	if (end.code)
		return kf_maker_refuse(m, &end, err);
	return kf_maker_refuse_not_finite(m, &e->answer, err);
}

void kf_maker_note_stock(struct kf_maker *m, uint64_t seed)
{
	json_array_append_new(m->stock, json_pack("{s:s, s:I}", "kind",
		"stock", "seed", (json_int_t)seed));
}

enum kf_code kf_maker_stock(struct kf_maker *m, struct kf_err *err)
{
	const struct kf_cproblem *p = &m->problem;
	struct entry e = { kf_data_new(&p->in), kf_data_new(&p->in),
			   { 0 }, true };
	enum kf_code code = kf_maker_inputs(m, kf_maker_seed(), e.same, err);
	size_t each_bytes;

	kf_answer_init(p, KF_ANSWER_EXPECT, &e.answer);
	m->stock_count = kf_maker_stock_count(m, &each_bytes);
	for (size_t i = 0; i < m->stock_count && !code; i++) {
		uint64_t seed = kf_maker_seed();

		code = make_entry(m, &e, seed, err);
		if (!code)
			code = kf_maker_write_case(m, "stock", i, e.in, NULL,
						   &e.answer, err);
		kf_maker_note_stock(m, seed);
	}
	kf_answer_release(p, &e.answer);
	kf_data_free(e.same, p->in.count);
	kf_data_free(e.in, p->in.count);
	return code;
}
