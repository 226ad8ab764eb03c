/* baseline.c - a baseline, whatever its kind: one process, and a second one
 * where the first has failed. */
#include "problem/baseline.h"

#include "problem/kind.h"

struct kf_baseline {
	struct kf_problem_spec spec;		/* members borrowed */
	const struct kf_problem *problem;	/* borrowed */
	const struct kf_bundle *bundle;		/* borrowed */
	struct kf_baseline_process *process;	/* owned; NULL once it is dead */
	void (*evict)(const void *data, size_t bytes);
	bool restarted;
	struct kf_err why;			/* of the last failure */
};

void kf_baseline_process_free(struct kf_baseline_process *process)
{
	char *name = process ? process->name : NULL;
	json_t *about = process ? process->info.about : NULL;

	if (process)
		process->table->free(process);
	json_decref(about);
	free(name);
}

static enum kf_code start(struct kf_baseline *b, struct kf_err *err)
{
	return kf_problem_tables[b->problem->kind]->start(&b->spec, b->problem,
							  b->bundle,
							  &b->process, err);
}

enum kf_code kf_baseline_start(const struct kf_problem_spec *spec,
			       const struct kf_problem *problem,
			       const struct kf_bundle *bundle,
			       struct kf_baseline **out, struct kf_err *err)
{
	struct kf_baseline *b = kf_alloc(sizeof(*b));
	enum kf_code code;

	*out = NULL;
	b->spec = *spec;
	b->problem = problem;
	b->bundle = bundle;
	code = start(b, err);
	if (code)
		kf_baseline_free(b);
	else
		*out = b;
	return code;
}

static enum kf_code time_cases(const struct kf_baseline *b,
			       const struct kf_case *const *cases,
			       size_t count, uint64_t *time_ns,
			       uint64_t *delay_ns, struct kf_err *err)
{
	struct kf_baseline_process *process = b->process;
	enum kf_code code = process->table->ready(process, err);

	process->evict = b->evict;
	for (size_t i = 0; i < count && !code; i++)
		code = process->table->time(process, cases[i], &time_ns[i],
					    &delay_ns[i], err);
	return code;
}

/* After the first failure another process has a try, as whoever killed the
 * first may have had no business with it. */
static bool start_again(struct kf_baseline *b)
{
	kf_baseline_process_free(b->process);
	b->process = NULL;
	if (b->restarted || b->why.code == KF_E_CANCELED)
		return false;
	b->restarted = true;
	kf_logf(b->spec.log, KF_LOG_WARN, "the baseline is started again: %s",
		b->why.text);
	return start(b, &b->why) == KF_OK;
}

enum kf_code kf_baseline_time(struct kf_baseline *b,
			      const struct kf_case *const *cases,
			      size_t count, uint64_t *time_ns,
			      uint64_t *delay_ns, struct kf_err *err)
{
	char before[sizeof(b->process->info.way)];

	if (!b->process)
		return kf_fail(err, KF_E_UNAVAIL, "problem %s: the baseline "
			       "has ended: %.400s", b->problem->name,
			       b->why.text);
	memcpy(before, b->process->info.way, sizeof(before));
	while (time_cases(b, cases, count, time_ns, delay_ns, &b->why))
		if (!start_again(b)) {
			if (err)
				*err = b->why;
			return b->why.code;
		}
	if (before[0] && strcmp(before, b->process->info.way) != 0)
		return kf_fail(err, KF_E_IO, "problem %s: the baseline that "
			       "was started again is timed in another way, "
			       "%s instead of %s", b->problem->name,
			       b->process->info.way, before);
	return KF_OK;
}

void kf_baseline_warm(struct kf_baseline *b)
{
	struct kf_baseline_process *process = b->process;
	enum kf_code code = KF_OK;

	if (process && process->table->warm)
		code = process->table->warm(process, &b->why);
	if (code && code != KF_E_CANCELED)
		(void)start_again(b);
}

void kf_baseline_evict(struct kf_baseline *b,
		       void (*evict)(const void *data, size_t bytes))
{
	b->evict = evict;
}

const struct kf_baseline_info *kf_baseline_about(const struct kf_baseline *b)
{
	static const struct kf_baseline_info none;

	return b->process ? &b->process->info : &none;
}

void kf_baseline_free(struct kf_baseline *baseline)
{
	if (baseline)
		kf_baseline_process_free(baseline->process);
	free(baseline);
}
