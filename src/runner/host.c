/*
 * One program that shares the process, loaded once and called when the
 * supervisor says so. Reads as its running order: map, open, catch signals,
 * say hello, lock the door, serve.
 */
#include "runner/runner.h"

/* What the driver then knows of the last call. */
static enum kf_code tidy(struct kf_serve *s, struct kf_err *err)
{
	enum kf_code code = kf_serve_tidy(s, err);
	const char *fault = kf_driver_fault(s->driver, s->device);

	s->reply->faulted = fault != NULL;
	if (fault)
		snprintf(s->reply->text, sizeof(s->reply->text), "%.511s",
			 fault);
	return code;
}

static kf_serve_fn *const commands[KF_HOST_COMMANDS] = {
	[KF_HOST_PING] = kf_serve_nothing,
	[KF_HOST_LOAD] = kf_serve_load,
	[KF_HOST_PREPARE] = kf_serve_prepare,
	[KF_HOST_FORWARD] = kf_serve_forward_held,
	[KF_HOST_TIDY] = tidy,
};

/* Until now nothing here depended on the artefact. From here on there is no
 * way back. */
static enum kf_code get_ready(struct kf_serve *s, struct kf_err *err)
{
	enum kf_code code = kf_runner_start_runtimes(s->driver, s->artefact,
						     err);

	return code ? code : kf_runner_lock_door(err);
}

enum kf_code kf_runner_host(int argc, const char *const *argv,
			    struct kf_err *err)
{
	struct kf_serve *s = kf_alloc(sizeof(*s));
	enum kf_code code = kf_serve_open(s, argc, argv, err);

	if (!code)
		code = kf_serve_catch_faults(s, err);
	if (!code)
		kf_serve_can_hold(s);
	if (!code)
		code = kf_serve_hello(s, err);
	if (!code)
		code = kf_serve_ready(s, get_ready, err);
	return code ? code : kf_serve_loop(s, commands, err);
}
