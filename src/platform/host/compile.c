/* Source to shared object: runs the platform's compile command. */
#include "platform/host/host.h"

#include <errno.h>
#include <unistd.h>

/* What compilers say when they were stopped by a limit on memory or on the
 * size of files, not by the program. */
static const char *const outgrown[] = {
	"Killed signal terminated program",
	"virtual memory exhausted",
	"out of memory allocating",
	"LLVM ERROR: out of memory",
	"LLVM ERROR: Allocation failed",
	"std::bad_alloc",
	"unable to execute command: Killed",
	"Cannot allocate memory",
	"File size limit exceeded",
	"No space left on device",
	"file too large",
	"File too large",
};

static bool says_outgrown(const char *log)
{
	for (size_t i = 0; i < KF_COUNT(outgrown); i++)
		if (strstr(log, outgrown[i]))
			return true;
	return false;
}

static enum kf_build_end judge(const struct kf_proc_end *end, const char *log,
			       const char *output_path)
{
	if (end->timed_out)
		return KF_BUILD_TOO_SLOW;
	if (end->signal)
		return KF_BUILD_TOO_LARGE;
	if (end->exit_code)
		return says_outgrown(log) ? KF_BUILD_TOO_LARGE
					  : KF_BUILD_REFUSED;
	return access(output_path, R_OK) == 0 ? KF_BUILD_DONE
					      : KF_BUILD_REFUSED;
}

/* A compiler that was stopped may not have said anything. */
static void add_words(const struct kf_proc_end *end, struct kf_build *out)
{
	if (out->end == KF_BUILD_TOO_SLOW)
		kf_buf_printf(&out->log, "the compiler was stopped after "
			      "%.1f s\n", (double)end->took_ns * 1e-9);
	else if (out->end == KF_BUILD_TOO_LARGE)
		kf_buf_printf(&out->log, "the compiler was stopped by signal "
			      "%d: it wanted more memory than it may have\n",
			      end->signal);
	else if (out->end == KF_BUILD_REFUSED)
		kf_buf_printf(&out->log, "the compiler exited with status %d, "
			      "without a word and without an output\n",
			      end->exit_code);
}

enum kf_code kf_host_build(const struct kf_build_request *req,
			   struct kf_build *out, struct kf_err *err)
{
	struct kf_proc_spec spec = {
		.argv = req->command,
		.timeout_ns = req->timeout_ns,
	};
	struct kf_buf words = { .max = KF_BUILD_LOG_BYTES };
	struct kf_proc_end end;
	enum kf_code code;

	if (!req->command[0])
		return kf_fail(err, KF_E_INPUT,
			       "the host driver needs a compile command");
	code = kf_proc_run(&spec, &words, &words, &end, err);
	if (code)
		goto out;
	kf_utf8_clean(kf_buf_str(&words), words.len, &out->log);
	out->took_ns = end.took_ns;
	out->end = judge(&end, kf_buf_str(&out->log), req->output_path);
	if (!out->log.len)
		add_words(&end, out);
	if (out->end != KF_BUILD_DONE && unlink(req->output_path) &&
	    errno != ENOENT)
		code = kf_fail_errno(err, "cannot remove %s",
				     req->output_path);
out:
	kf_buf_release(&words);
	return code;
}
