/*
 * The host part of a two-part program, run once without device and data: what
 * it asks for is written down. Reads as its running order: get ready, lock the
 * door, load, run, hand over.
 */
#include "runner/recorder.h"

#include <unistd.h>

#include "platform/program.h"

static enum kf_code write_all(const char *bytes, size_t len,
			      struct kf_err *err)
{
	off_t at = (off_t)sizeof(struct kf_record_answer);

	/* pwrite is not among the calls that the filter lets through. */
	if (lseek(KF_RUNNER_FD_REPLY, at, SEEK_SET) != at)
		return kf_fail_errno(err, "cannot find the place of plans");
	while (len) {
		ssize_t n = write(KF_RUNNER_FD_REPLY, bytes, len);

		if (n <= 0)
			return kf_fail_errno(err, "cannot write the plans");
		bytes += n;
		len -= (size_t)n;
	}
	return KF_OK;
}

static enum kf_code hand_over(const struct kf_recorder *r,
			      struct kf_record_answer *answer, uint64_t nonce,
			      struct kf_err *err)
{
	struct kf_buf bytes = { .max = KF_PLAN_BYTES_MAX };
	enum kf_code code;

	kf_plans_write(&r->plans, &bytes);
	code = write_all(kf_buf_str(&bytes), bytes.len, err);
	if (code)
		return code;
	answer->plans_bytes = (uint32_t)bytes.len;
	answer->nonce = nonce;
	answer->magic = KF_RECORD_MAGIC;
	return KF_OK;
}

/* A kf_prepare that failed leaves nothing to begin kf_forward with. */
static void run(struct kf_recorder *r, const struct kf_program *program,
		struct kf_record_answer *answer)
{
	bool good = true;

	if (program->prepare) {
		r->plans.has_prepare = true;
		answer->stage = KF_RECORD_PREPARING;
		good = kf_recorder_run(r, program->prepare, true);
	}
	answer->stage = KF_RECORD_FORWARDING;
	if (good)
		(void)kf_recorder_run(r, program->forward, false);
}

/* From here on there is no way back; the byte says so. */
static enum kf_code lock_door(struct kf_err *err)
{
	enum kf_code code = kf_runner_lock_door(err);

	if (!code && write(KF_RUNNER_FD_HELLO, "k", 1) != 1)
		code = kf_fail_errno(err, "cannot greet the supervisor");
	close(KF_RUNNER_FD_HELLO);
	return code;
}

static enum kf_code get_ready(struct kf_recorder *r,
			      struct kf_record_answer **answer,
			      struct kf_err *err)
{
	struct kf_fault_context *fault = kf_alloc(sizeof(*fault));
	enum kf_code code = kf_runner_tensors_open(&r->tensors, err);
	uint64_t bytes;

	if (code)
		return code;
	*answer = kf_runner_map(KF_RUNNER_FD_REPLY, true, &bytes, err);
	if (!*answer)
		return KF_E_IO;
	if (bytes < sizeof(**answer))
		return kf_fail(err, KF_E_INPUT, "malformed answer");
	code = kf_recorder_init(r, (*answer)->salt, err);
	if (code)
		return code;
	*fault = (struct kf_fault_context) {
		.fault = &(*answer)->fault,
		.handle = kf_recorder_handle,
		.handle_arg = r,
	};
	return kf_runner_catch_faults(fault, err);
}

enum kf_code kf_runner_record(int argc, const char *const *argv,
			      struct kf_err *err)
{
	struct kf_recorder *r = kf_alloc(sizeof(*r));
	struct kf_record_answer *answer = NULL;
	struct kf_program program;
	enum kf_code code = get_ready(r, &answer, err);
	uint64_t nonce;

	if (code)
		return code;
	if (argc != 1)
		return kf_fail(err, KF_E_INPUT, "malformed arguments");
	nonce = answer->nonce;
	answer->nonce = 0;
	code = lock_door(err);
	if (code)
		return code;
	kf_program_load(argv[0], &program, answer->text);
	if (program.forward)
		run(r, &program, answer);
	return hand_over(r, answer, nonce, err);
}
