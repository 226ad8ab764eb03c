#include "executor/contest.h"

void kf_contestant_release(struct kf_contestant *contestant)
{
	free(contestant->work_dir);
	free(contestant->artefact);
	kf_verdict_release(&contestant->verdict);
	*contestant = (struct kf_contestant) { 0 };
}

enum kf_code kf_contest_judge(const struct kf_judge_spec *how,
			      const char *folder,
			      struct kf_contestant *contestant,
			      struct kf_err *err)
{
	const struct kf_candidate *candidate = contestant->candidate;
	struct kf_judge_spec spec = *how;
	enum kf_code code;
	char *source_dir;

	kf_contestant_release(contestant);
	contestant->candidate = candidate;
	if (candidate->end != KF_EXTRACT_GOOD) {
		kf_generation_failure(candidate, &contestant->verdict);
		return KF_OK;
	}
	source_dir = kf_path_join(folder, "source");
	contestant->work_dir = kf_path_join(folder, "judge");
	spec.source_dir = source_dir;
	spec.work_dir = contestant->work_dir;
	code = kf_candidate_write(candidate, source_dir, err);
	if (!code)
		code = kf_judge(&spec, &contestant->verdict, err);
	if (!code)
		contestant->artefact = kf_artefact_path(contestant->work_dir,
				contestant->verdict.artefact_hash);
	free(source_dir);
	return code;
}

/* A stored baseline is one number: a side without an interval. */
static void add_stored(const struct kf_target *target, struct kf_duel *duel)
{
	if (!target->baseline_stored_ns || target->baseline)
		return;
	duel->time_ns[duel->side_count++] =
		(double)target->baseline_stored_ns;
}

enum kf_code kf_contest_duel(const struct kf_judge_spec *how,
			     struct kf_contestant *const *contestant,
			     size_t count, struct kf_duel *out,
			     struct kf_err *err)
{
	struct kf_evaluate_request base = kf_judge_request(how);
	struct kf_duel_program program[KF_DUEL_PROGRAMS];
	struct kf_duel_request req = {
		.base = &base, .program = program, .program_count = count,
	};
	struct kf_verdict wrong;
	enum kf_code code;

	for (size_t i = 0; i < count && i < KF_DUEL_PROGRAMS; i++)
		program[i] = (struct kf_duel_program) {
			.work_dir = contestant[i]->work_dir,
			.artefact_path = contestant[i]->artefact,
		};
	code = kf_duel_run(&req, out, &wrong, err);
	if (!code && out->wrong < count) {
		kf_verdict_release(&contestant[out->wrong]->verdict);
		contestant[out->wrong]->verdict = wrong;
		return wrong.state == KF_MISMATCH ?
			kf_bundle_check(&how->target->bundle, err) : KF_OK;
	}
	kf_verdict_release(&wrong);
	if (code)
		return code;
	add_stored(how->target, out);
	for (size_t i = 0; i < count; i++)
		kf_duel_tell(&req, out, i, &contestant[i]->verdict);
	return KF_OK;
}
