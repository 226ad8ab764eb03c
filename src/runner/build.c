/* One compilation: let the driver build what the arguments say, answer. */
#include "runner/runner.h"

#include <fcntl.h>
#include <unistd.h>

enum { ARG_DRIVER, ARG_DEVICE, ARG_ARCH, ARG_DEADLINE, ARG_OUTPUT, ARG_COUNT,
       ARG_SOURCES };

static enum kf_code parse(int argc, const char *const *argv,
			  const struct kf_driver **driver,
			  struct kf_build_request *req, struct kf_err *err)
{
	uint64_t deadline_ms, count;

	if (argc <= ARG_SOURCES ||
	    !kf_parse_u64(argv[ARG_DEADLINE], &deadline_ms) ||
	    !kf_parse_u64(argv[ARG_COUNT], &count) ||
	    count > (uint64_t)(argc - ARG_SOURCES))
		return kf_fail(err, KF_E_INPUT, "malformed arguments");
	*driver = kf_driver_by_name(argv[ARG_DRIVER]);
	if (!*driver)
		return kf_fail(err, KF_E_INPUT, "no driver %s",
			       argv[ARG_DRIVER]);
	*req = (struct kf_build_request) {
		.source = argv + ARG_SOURCES,
		.source_count = (size_t)count,
		.command = argv + ARG_SOURCES + count,
		.output_path = argv[ARG_OUTPUT],
		.timeout_ns = deadline_ms * KF_NS_PER_MS,
		.device_id = argv[ARG_DEVICE],
		.arch = argv[ARG_ARCH],
	};
	return KF_OK;
}

static bool put(const void *bytes, size_t len, off_t at)
{
	const char *from = bytes;

	while (len) {
		ssize_t n = pwrite(KF_RUNNER_FD_REPLY, from, len, at);

		if (n <= 0)
			return false;
		from += n;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

enum kf_code kf_runner_build(int argc, const char *const *argv,
			     struct kf_err *err)
{
	const struct kf_driver *driver = NULL;
	struct kf_build_request req = { 0 };
	struct kf_build_answer answer;
	struct kf_err trouble = { 0 };
	struct kf_build build = { 0 };
	enum kf_code code;

	/* The compiler is no business of this one. */
	fcntl(KF_RUNNER_FD_REPLY, F_SETFD, FD_CLOEXEC);
	if (pread(KF_RUNNER_FD_REPLY, &answer, sizeof(answer), 0) !=
	    (ssize_t)sizeof(answer))
		return kf_fail_errno(err, "cannot read the nonce");
	code = parse(argc, argv, &driver, &req, err);
	if (code)
		return code;
	answer.code = (uint32_t)kf_driver_build(driver, &req, &build,
						&trouble);
	answer.magic = KF_BUILD_MAGIC;
	answer.end = (uint32_t)build.end;
	answer.took_ns = build.took_ns;
	answer.log_bytes = (uint32_t)build.log.len;
	memcpy(answer.kernels, build.kernels, sizeof(answer.kernels));
	snprintf(answer.text, sizeof(answer.text), "%.511s", trouble.text);
	if (!put(kf_buf_str(&build.log), build.log.len, sizeof(answer)) ||
	    !put(&answer, sizeof(answer), 0))
		code = kf_fail_errno(err, "cannot write the result");
	kf_build_release(&build);
	return code;
}
