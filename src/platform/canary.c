#include "platform/canary.h"

#include "platform/apart.h"

struct asked { kf_canary_fn *sing; const char *device_id; };
struct answer { enum kf_code code; struct kf_err err; };

static void in_child(void *arg, struct kf_buf *out)
{
	const struct asked *asked = arg;
	struct answer answer = { .code = KF_OK };

	answer.code = asked->sing(asked->device_id, &answer.err);
	kf_buf_add(out, &answer, sizeof(answer));
}

static enum kf_code hear(const struct kf_apart_end *end,
			 const struct kf_buf *result, struct kf_err *err)
{
	struct answer answer;

	if (end->timed_out)
		return kf_fail(err, KF_E_UNAVAIL, "a small program of kforge's "
			       "own did not end on it%s", end->stuck ?
			       ", and its process cannot be killed" : "");
	if (result->len != sizeof(answer))
		return kf_fail(err, KF_E_UNAVAIL, "a small program of kforge's "
			       "own crashed on it (signal %d)", end->signal);
	memcpy(&answer, kf_buf_str(result), sizeof(answer));
	return answer.code ? kf_fail(err, answer.code, "%.500s",
				     answer.err.text) : KF_OK;
}

enum kf_code kf_canary_run(kf_canary_fn *sing, const char *device_id,
			   uint64_t timeout_ns, struct kf_err *err)
{
	struct asked asked = { sing, device_id };
	struct kf_buf result = { .max = sizeof(struct answer) };
	struct kf_apart_end end;
	struct kf_apart apart;
	enum kf_code code = kf_apart_start(in_child, &asked, result.max,
					   &apart, err);

	if (!code)
		code = kf_apart_finish(&apart, timeout_ns, &result, &end, err);
	if (!code)
		code = hear(&end, &result, err);
	kf_buf_release(&result);
	return code;
}
