#include "loop/advise.h"

#include <math.h>

#include "advice/advice.h"
#include "evaluate/build.h"
#include "loop/ask.h"
#include "loop/prompting.h"
#include "store/advice.h"

void kf_look_release(struct kf_look *look)
{
	kf_profile_release(&look->profile);
	kf_roofline_release(&look->roofline);
	free(look->page);
	json_decref(look->advice);
	*look = (struct kf_look) { 0 };
}

/* --- verdict -> profile --------------------------------------------------- */

/* Only where one shape was timed is the time that of the bundle. */
static double time_of(const struct kf_lane *lane,
		      const struct kf_attempt *attempt)
{
	return lane->target.more_count ? (double)NAN : attempt->time_ns;
}

bool kf_lane_near_bound(const struct kf_lane *lane,
			const struct kf_attempt *best)
{
	struct kf_roofline roofline = { 0 };
	char why[256];
	bool near;

	if (strcmp(lane->run->spec->profile, "none") == 0)
		return false;
	kf_roofline_make(&lane->target.bundle, &lane->run->setup.device,
			 time_of(lane, best), NULL, &roofline);
	near = kf_roofline_reached(&roofline, why);
	kf_roofline_release(&roofline);
	return near;
}

/* Where the program is built anew, and where what profilers leave stays. */
struct places { char *scratch, *source, *judge, *raw; };

static struct places places_of(const struct kf_lane *lane,
			       const struct kf_attempt *base)
{
	const struct kf_run *run = lane->run;
	const char *name = lane->target.problem.name;
	struct places p = {
		.scratch = kf_format("%s/%s-%u-profile", run->work_dir, name,
				     base->number),
		.raw = kf_format("%s/profiles/%s-%u", run->dir, name,
				 base->number),
	};

	p.source = kf_path_join(p.scratch, "source");
	p.judge = kf_path_join(p.scratch, "judge");
	return p;
}

static void places_release(struct places *p)
{
	free(p->scratch);
	free(p->source);
	free(p->judge);
	free(p->raw);
}

/* What a kill has left of a try before is of no use. */
static enum kf_code prepare(const struct places *p,
			    const struct kf_attempt *base, struct kf_err *err)
{
	enum kf_code code = kf_remove_tree(p->scratch, err);

	if (!code)
		code = kf_remove_tree(p->raw, err);
	if (!code)
		code = kf_mkdir_p(p->raw, err);
	if (!code)
		code = kf_mkdir_p(p->source, err);
	if (!code)
		code = kf_candidate_write(&base->candidate, p->source, err);
	return code;
}

/* Built again, for jobs leave no artefacts; then run under the profilers. */
static enum kf_code count(struct kf_lane *lane, const struct kf_attempt *base,
			  const struct places *p, struct kf_profile *out,
			  struct kf_err *err)
{
	struct kf_run *run = lane->run;
	const char *name = run->spec->profile;
	struct kf_target first = lane->target;	/* its first shape */
	struct kf_judge_spec spec = {
		.setup = &run->setup, .target = &first,
		.stop_after = KF_REACH_BUILD,
		.source_dir = p->source, .work_dir = p->judge,
	};
	struct kf_verdict built = { 0 };
	struct kf_evaluate_request request;
	enum kf_code code;
	char *artefact;

	first.problem.shape = NULL;
	first.more = NULL;
	first.more_count = 0;
	code = kf_judge(&spec, &built, err);
	if (!code && built.state)
		code = kf_fail(err, KF_E_UNAVAIL, "attempt %u of %s did not "
			       "compile again", base->number,
			       lane->target.problem.name);
	request = kf_judge_request(&spec);
	artefact = kf_artefact_path(p->judge, built.artefact_hash);
	if (!code)
		code = kf_profile_take(&(struct kf_profile_request) {
			.base = &request,
			.artefact_path = artefact,
			.compiler_log = kf_buf_str(&built.compiler_log),
			.time_ns = time_of(lane, base),
			.profiler = strcmp(name, "auto") == 0 ? NULL : name,
			.work_dir = p->raw,
			.denied = &run->denied,
		}, out, err);
	free(artefact);
	kf_verdict_release(&built);
	return code;
}

/* Trouble with profilers that nobody asked for by name costs the counters, not
 * the run. */
static enum kf_code take(struct kf_lane *lane, const struct kf_attempt *base,
			 struct kf_profile *out, struct kf_err *err)
{
	const char *name = lane->run->spec->profile;
	struct places p = places_of(lane, base);
	struct kf_err why = { 0 };
	enum kf_code code;

	kf_lane_tell(lane, (struct kf_event) { .kind = KF_EVENT_PROFILE,
					       .attempt = base });
	code = prepare(&p, base, &why);
	if (!code)
		code = count(lane, base, &p, out, &why);
	if (!code)
		code = kf_remove_tree(p.scratch, &why);
	if (code && code != KF_E_CANCELED && strcmp(name, "auto") == 0) {
		kf_lane_notice(lane, base, why.text);
		kf_profile_release(out);
		out->end = KF_PROFILE_FAILED;
		code = KF_OK;
	}
	places_release(&p);
	return code ? kf_fail(err, code, "%s", why.text) : KF_OK;
}

static enum kf_code keep_profile(struct kf_lane *lane,
				 const struct kf_attempt *base,
				 enum kf_profile_class bottleneck,
				 struct kf_err *err)
{
	struct kf_look *look = &lane->look;
	json_t *profile = kf_profile_json(&look->profile);
	json_t *roofline = kf_roofline_json(&look->roofline);
	struct kf_store_profile row = {
		.end = kf_profile_end_name(look->profile.end),
		.bottleneck = kf_profile_class_name(bottleneck),
		.page = look->page, .page_len = strlen(look->page),
		.profile = profile, .roofline = roofline,
	};
	enum kf_code code = kf_store_profile(lane->run->store, base->id, &row,
					     err);

	json_decref(roofline);
	json_decref(profile);
	return code;
}

/* Where another machine judges it has counted in the same visit, or not. */
static bool wants_counters(const struct kf_lane *lane,
			   const struct kf_attempt *base)
{
	return strcmp(lane->run->spec->profile, "none") != 0 &&
	       (!lane->run->setup.away || base->profile);
}

/* What follows from lane->look.profile, into the store. */
static enum kf_code settle(struct kf_lane *lane, const struct kf_attempt *base,
			   struct kf_err *err)
{
	struct kf_look *look = &lane->look;
	struct kf_buf page = { .max = KF_PROFILE_PAGE_BYTES };
	enum kf_profile_class bottleneck;

	kf_profile_hide(&look->profile, lane->run->spec->profile_hidden);
	kf_roofline_make(&lane->target.bundle, &lane->run->setup.device,
			 time_of(lane, base), &look->profile,
			 &look->roofline);
	bottleneck = kf_profile_reduce(&look->profile, &look->roofline, &page);
	look->page = kf_strdup(kf_buf_str(&page));
	kf_buf_release(&page);
	return keep_profile(lane, base, bottleneck, err);
}

static enum kf_code profile_anew(struct kf_lane *lane,
				 const struct kf_attempt *base,
				 struct kf_err *err)
{
	enum kf_code code = KF_OK;

	if (wants_counters(lane, base))
		code = base->profile ?
			kf_profile_from_json(base->profile,
					     &lane->look.profile, err) :
			take(lane, base, &lane->look.profile, err);
	return code ? code : settle(lane, base, err);
}

static enum kf_code profile_from_store(struct kf_lane *lane,
				       const json_t *kept, struct kf_err *err)
{
	struct kf_look *look = &lane->look;
	enum kf_code code;

	code = kf_profile_from_json(json_object_get(kept, "profile"),
				    &look->profile, err);
	if (!code)
		code = kf_roofline_from_json(json_object_get(kept,
				"roofline"), &look->roofline, err);
	look->page = kf_strdup(kf_json_str(kept, "page", ""));
	return code;
}

/* Kept when a run had ended (kf_lane_keep_bound), and it goes on. */
static bool is_uncounted(const json_t *kept)
{
	return strcmp(kf_json_str(kept, "end", ""),
		      kf_profile_end_name(KF_PROFILE_NONE)) == 0;
}

enum kf_code kf_lane_profile(struct kf_lane *lane,
			     const struct kf_attempt *base, struct kf_err *err)
{
	struct kf_look *look = &lane->look;
	json_t *kept = NULL;
	enum kf_code code;

	if (look->attempt_id == base->id)
		return KF_OK;
	kf_look_release(look);
	code = kf_store_profile_of(lane->run->store, base->id, &kept, err);
	if (!code)
		code = kept && !(is_uncounted(kept) &&
				 wants_counters(lane, base)) ?
			profile_from_store(lane, kept, err) :
			profile_anew(lane, base, err);
	if (!code)
		look->attempt_id = base->id;
	json_decref(kept);
	return code;
}

enum kf_code kf_lane_keep_bound(struct kf_lane *lane,
				const struct kf_attempt *best,
				struct kf_err *err)
{
	json_t *kept = NULL;
	enum kf_code code;

	kf_look_release(&lane->look);
	code = kf_store_profile_of(lane->run->store, best->id, &kept, err);
	if (!code && !kept)
		code = settle(lane, best, err);
	json_decref(kept);
	return code;
}

/* --- profile -> advice ---------------------------------------------------- */

/* Everything that one advice is made from. */
struct advising {
	struct kf_lane *lane;
	const struct kf_attempt *attempt;	/* that is to be advised */
	struct kf_prompting prompting;
	struct kf_pictures pictures;
	json_t *rows;			/* owned; all advice so far */
	struct kf_advice_tried *tried;	/* owned; borrows from rows */
	struct kf_advice_request req;
	struct kf_advice_for whom;
};

static void advising_release(struct advising *a)
{
	kf_prompting_release(&a->prompting);
	kf_pictures_release(&a->pictures);
	free(a->tried);
	json_decref(a->rows);
}

static enum kf_code advising_make(struct kf_lane *lane,
				  const struct kf_attempt *attempt,
				  const struct kf_policy_next *next,
				  struct advising *out, struct kf_err *err)
{
	enum kf_code code;
	json_t *row;
	size_t i;

	out->lane = lane;
	out->attempt = attempt;
	out->whom = (struct kf_advice_for) { lane->problem_id,
					     attempt->number };
	code = kf_prompting_make(lane, next, attempt->number, &out->prompting,
				 err);
	if (!code)
		code = kf_store_advices(lane->run->store, lane->problem_id,
					&out->rows, err);
	if (lane->run->advisor && lane->run->spec->advisor_sees)
		kf_pictures_read(&lane->look.profile, lane->run->dir,
				 &out->pictures);
	out->tried = kf_alloc((json_array_size(out->rows) + 1) *
			      sizeof(out->tried[0]));
	out->req = (struct kf_advice_request) {
		.prompt = &out->prompting.req,
		.profile = &lane->look.profile,
		.roofline = &lane->look.roofline,
		.page = lane->look.page,
		.tried = out->tried,
		.picture_count = out->pictures.count,
	};
	json_array_foreach(out->rows, i, row) {
		const json_t *advice = json_object_get(row, "advice");

		if (kf_json_int(row, "number", 0) >= attempt->number ||
		    !kf_json_str(advice, "change", NULL))
			continue;
		out->tried[out->req.tried_count++] = (struct kf_advice_tried) {
			.bottleneck = kf_profile_class_by_name(
				kf_json_str(row, "bottleneck", "")),
			.change = kf_json_str(advice, "change", ""),
			.gain = kf_json_real(row, "gain", (double)NAN),
		};
	}
	return code;
}

static const char *const agent[KF_ADVICE_TURNS] = { "advisor",
						    "advisor_again" };

static enum kf_code keep_reply(const struct advising *a, unsigned turn,
			       const struct kf_prompt *prompt,
			       const struct kf_reply *reply,
			       struct kf_err *err)
{
	struct kf_store_reply row = kf_reply_row(reply, prompt);
	struct kf_run *run = a->lane->run;
	json_t *pictures = NULL;
	char *asked = NULL;
	enum kf_code code = kf_pictures_store(&a->pictures, run->store,
					      &pictures, err);

	if (!code) {
		asked = kf_prompt_to_json(prompt, pictures);
		code = kf_store_advice_reply(run->store, a->whom, turn, asked,
					     &row, err);
	}
	if (!code) {
		run->summary->tokens += row.tokens_in + row.tokens_out;
		kf_model_stored(run->advisor);
	}
	free(asked);
	json_decref(pictures);
	return code;
}

/* The reply of a turn, out of the store if it is there. *there is false where
 * the budget cannot pay for it. */
static enum kf_code turn_reply(const struct advising *a, unsigned turn,
			       const struct kf_advice_wrong *wrong,
			       struct kf_buf *out, bool *there,
			       struct kf_err *err)
{
	struct kf_lane *lane = a->lane;
	struct kf_prompt prompt = { 0 };
	struct kf_reply reply = { 0 };
	struct kf_question question = {
		.model = lane->run->advisor, .agent = agent[turn - 1],
		.prompt = &prompt, .attempt = a->attempt,
		.pictures = &a->pictures,
	};
	enum kf_code code;

	code = kf_store_advice_replied(lane->run->store, a->whom, turn, out,
				       there, err);
	if (code || *there)
		return code;
	code = kf_advice_prompt(&a->req, wrong, &prompt, err);
	if (!code)
		question.token_max = kf_lane_token_ceiling(lane, &prompt);
	if (code || !question.token_max)
		goto out;
	code = kf_lane_ask(lane, &question, &reply, err);
	if (!code)
		code = keep_reply(a, turn, &prompt, &reply, err);
	if (!code) {
		kf_buf_add(out, kf_buf_str(&reply.text), reply.text.len);
		*there = true;
	}
out:
	kf_reply_release(&reply);
	kf_prompt_release(&prompt);
	return code;
}

/* Asked, and once more with what was wrong; then the rules have the word. */
static enum kf_code by_model(const struct advising *a, struct kf_advice *out,
			     struct kf_err *err)
{
	char why[KF_ADVICE_WHY_BYTES] = "", told[KF_ADVICE_WHY_BYTES + 80];
	struct kf_buf before = { .max = KF_REPLY_BYTES };
	struct kf_advice_wrong wrong = { NULL, why };
	enum kf_code code = KF_OK;
	bool there = true, good = false;

	for (unsigned turn = 1; !code && there && !good &&
	     turn <= KF_ADVICE_TURNS; turn++) {
		struct kf_buf reply = { .max = KF_REPLY_BYTES };

		code = turn_reply(a, turn, wrong.reply ? &wrong : NULL, &reply,
				  &there, err);
		if (!code && there) {
			kf_advice_release(out);
			good = kf_advice_read(&a->req, kf_buf_str(&reply),
					      reply.len, out, why);
		}
		if (good && turn > 1)
			out->source = KF_ADVICE_MODEL_AGAIN;
		kf_buf_release(&before);
		before = reply;
		wrong.reply = kf_buf_str(&before);
	}
	kf_buf_release(&before);
	if (code || good)
		return code;
	snprintf(told, sizeof(told), "the rules advise, not the model: %s",
		 there ? why : "the budget cannot pay for its answer");
	kf_lane_notice(a->lane, a->attempt, told);
	kf_advice_release(out);
	kf_advice_by_rules(&a->req, out);
	return KF_OK;
}

static enum kf_code keep_advice(const struct advising *a, int64_t base_id,
				const struct kf_advice *advice,
				struct kf_err *err)
{
	struct kf_store_counter counter[KF_ADVICE_EVIDENCE_MAX];
	json_t *json = kf_advice_to_json(advice);
	struct kf_store_advice row = {
		.base_id = base_id,
		.source = kf_advice_source_name(advice->source),
		.bottleneck = kf_profile_class_name(advice->bottleneck),
		.expected_gain = advice->expected_gain,
		.advice = json, .counter = counter,
	};
	enum kf_code code;

	for (size_t i = 0; i < advice->evidence_count; i++) {
		const struct kf_advice_evidence *e = &advice->evidence[i];

		if (e->counter)
			counter[row.counter_count++] =
				(struct kf_store_counter) {
				e->kernel, e->counter, e->value,
			};
	}
	code = kf_store_advice(a->lane->run->store, a->whom, &row, err);
	if (code)
		json_decref(json);
	else
		a->lane->look.advice = json;
	return code;
}

/* One that a session before was given. */
static json_t *given(const struct advising *a)
{
	json_t *row;
	size_t i;

	json_array_foreach(a->rows, i, row)
		if (kf_json_int(row, "number", 0) == a->attempt->number)
			return json_incref(json_object_get(row, "advice"));
	return NULL;
}

enum kf_code kf_lane_advise(struct kf_lane *lane,
			    const struct kf_attempt *attempt,
			    const struct kf_policy_next *next,
			    struct kf_err *err)
{
	const struct kf_attempt *best = &lane->attempts.attempt[next->best];
	struct kf_advice advice = { 0 };
	struct advising a = { 0 };
	enum kf_code code;

	json_decref(lane->look.advice);
	lane->look.advice = NULL;
	if (strcmp(lane->run->spec->advisor, "none") == 0)
		return KF_OK;
	code = advising_make(lane, attempt, next, &a, err);
	if (!code)
		lane->look.advice = given(&a);
	if (code || lane->look.advice)
		goto out;
	if (lane->run->advisor)
		code = by_model(&a, &advice, err);
	else
		kf_advice_by_rules(&a.req, &advice);
	if (!code)
		code = keep_advice(&a, best->id, &advice, err);
	if (!code && advice.change)
		kf_lane_tell(lane, (struct kf_event) {
			.kind = KF_EVENT_ADVICE, .attempt = attempt,
			.line = advice.change,
			.expected_gain = advice.expected_gain,
		});
out:
	kf_advice_release(&advice);
	advising_release(&a);
	return code;
}
