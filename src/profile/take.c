/* The platform's profilers, one after the other, into one profile. */
#include "profile/profiler.h"

#include "evaluate/device.h"
#include "evaluate/session.h"

static const char command_prefix[] = "command:";

struct taking {
	const struct kf_profile_request *req;
	struct kf_profile *out;
	/* By kf_profilers; those of no number come last. */
	bool found[KF_PROFILERS_MAX + 1];
};

static bool is_command(const char *name)
{
	return strncmp(name, command_prefix, sizeof(command_prefix) - 1) == 0;
}

/* Is it for this kind of program, on this kind of device? */
static bool fits(const struct kf_profiler *p, const struct kf_driver *driver)
{
	const char *device = driver->torch_device;

	if (p->device && (!device || strcmp(p->device, device) != 0))
		return false;
	if (!driver->two_part && kf_driver_moves(driver))
		return p->free && (device || p->command);
	return driver->two_part ? p->two_part : p->one_part;
}

static size_t number_of(const struct kf_profiler *p)
{
	size_t i = 0;

	while (kf_profilers[i] && kf_profilers[i] != p)
		i++;
	return i;
}

static bool denied_before(const struct kf_profile_request *req,
			  const struct kf_profiler *p)
{
	size_t i = number_of(p);

	return req->denied && kf_profilers[i] && req->denied->by[i];
}

static enum kf_code run_known(const struct kf_profiler *p, struct taking *t,
			      struct kf_err *err)
{
	const struct kf_profile_request *req = t->req;
	struct kf_profile one = { 0 }, *out = t->out;
	uint64_t began_ns = kf_now_ns();
	enum kf_code code;

	if (denied_before(req, p)) {
		kf_profile_add_missing(out, p->name, "this machine did not "
				       "let us count before");
		return KF_OK;
	}
	code = kf_profiler_run(p, req, &one, err);
	if (!code && one.end == KF_PROFILE_DENIED && req->denied &&
	    kf_profilers[number_of(p)])
		req->denied->by[number_of(p)] = true;
	if (!code) {
		kf_logf(req->base->log, KF_LOG_INFO, "profiler %s: %s after "
			"%.1f s", p->name, kf_profile_end_name(one.end),
			(double)(kf_now_ns() - began_ns) / KF_NS_PER_S);
		kf_profile_merge(out, &one);
	}
	t->found[number_of(p)] = one.end == KF_PROFILE_GOOD ||
		one.end == KF_PROFILE_PARTIAL;
	kf_profile_release(&one);
	return code;
}

static enum kf_code run_named(const char *name, struct taking *t,
			      struct kf_err *err)
{
	const struct kf_platform *platform = t->req->base->platform;
	const struct kf_profiler *known = kf_profiler_by_name(name);
	struct kf_profiler_words words = { 0 };
	struct kf_profiler own;
	enum kf_code code;

	if (is_command(name)) {
		code = kf_profiler_of_command(name + sizeof(command_prefix) -
					      1, &own, &words, err);
		if (!code)
			code = run_known(&own, t, err);
		kf_profiler_words_release(&words);
		return code;
	}
	if (!known)
		return kf_fail(err, KF_E_INPUT, "no profiler '%s'; "
			       "docs/profiling.md lists them", name);
	if (!fits(known, platform->driver))
		return kf_fail(err, KF_E_INPUT, "profiler %s is not for "
			       "platform %s", name, platform->name);
	return run_known(known, t, err);
}

/* One that was asked for by name must be there. */
static enum kf_code run_asked(struct taking *t, struct kf_err *err)
{
	const char *name = t->req->profiler;
	enum kf_code code = run_named(name, t, err);

	if (!code && t->out->end == KF_PROFILE_ABSENT && t->out->missing_count)
		code = kf_fail(err, KF_E_UNAVAIL, "no profiler %s here: %s",
			       name, t->out->missing[0].why);
	return code;
}

static void add_compiler(const struct kf_profile_request *req,
			 struct kf_profile *out)
{
	struct kf_profile facts = { 0 };

	if (!req->compiler_log)
		return;
	kf_read_compiler(&(struct kf_profile_bytes) {
		.text = req->compiler_log, .len = strlen(req->compiler_log),
		.said = "",
	}, &facts);
	for (size_t i = 0; i < facts.metrics.count; i++) {
		const struct kf_metric *m = &facts.metrics.metric[i];

		if (!kf_metrics_find(&out->metrics, m->kernel, m->name))
			kf_metrics_add(&out->metrics, m->kernel, m->name,
				       m->value, m->unit);
	}
	kf_profile_release(&facts);
}

/* Did the one that it stands in for bring something? */
static bool is_needless(const char *name, const struct taking *t)
{
	const struct kf_profiler *p = kf_profiler_by_name(name);

	return p && p->instead_of &&
		t->found[number_of(kf_profiler_by_name(p->instead_of))];
}

static enum kf_code run_list(struct taking *t, struct kf_err *err)
{
	const struct kf_platform *platform = t->req->base->platform;
	enum kf_code code = KF_OK;

	if (!platform->profiler_count)
		kf_profile_add_missing(t->out, "counters", "the platform names "
				       "no profilers; --profiler names one");
	for (size_t i = 0; i < platform->profiler_count && !code; i++)
		if (!is_needless(platform->profiler[i], t))
			code = run_named(platform->profiler[i], t, err);
	return code;
}

static enum kf_code take_device(const struct kf_evaluate_request *base,
				struct kf_lock *lock, struct kf_err *err)
{
	const struct kf_device_wait wait = kf_device_wait_usual(
		base->lock_path, base->device_id, base->log, base->cancel);
	uint64_t waited_ns;

	if (!base->lock_path)
		return KF_OK;
	return kf_device_lock(&wait, lock, &waited_ns, err);
}

enum kf_code kf_profile_take(const struct kf_profile_request *req,
			     struct kf_profile *out, struct kf_err *err)
{
	struct taking taking = { .req = req, .out = out };
	struct kf_lock lock = { 0 };
	enum kf_code code;

	*out = (struct kf_profile) { 0 };
	if (!req->base->bundle->stock_count)
		return kf_fail(err, KF_E_INPUT, "the bundle of problem %s has "
			       "no data to profile with",
			       req->base->problem->name);
	code = take_device(req->base, &lock, err);
	if (!code)
		code = req->profiler ? run_asked(&taking, err) :
			run_list(&taking, err);
	kf_lock_release(&lock);
	if (!code)
		add_compiler(req, out);
	out->raw_path = kf_strdup(req->work_dir);
	return code;
}
