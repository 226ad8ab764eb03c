#include "evaluate/worker_end.h"

#include <signal.h>

/* A device's clock may differ from ours by a part, and by so much. */
#define CLOCK_PART	100u
#define CLOCK_NS	10000u
/* What is seen of its end may be late by a part, and by so much. */
#define LAG_PART	4u
#define LAG_NS		50000u

void kf_worker_doing(const struct kf_driver *driver,
		     enum kf_host_command command, char out[64])
{
	static const char *const doing[KF_HOST_COMMANDS] = {
		[KF_HOST_NONE] = "while it was started",
		[KF_HOST_PING] = "before it was loaded",
		[KF_HOST_LOAD] = "while it was loaded",
		[KF_HOST_TIDY] = "between calls",
		[KF_HOST_READY] = "before it was loaded",
		[KF_HOST_UPLOAD] = "before a call",
		[KF_HOST_DOWNLOAD] = "after a call",
		[KF_HOST_SUM] = "after a call",
		[KF_HOST_BASE] = "before a call",
		[KF_HOST_MAKE] = "before a call",
	};

	if (doing[command])
		snprintf(out, 64, "%s", doing[command]);
	else
		snprintf(out, 64, "in %s",
			 kf_driver_entry(driver, command == KF_HOST_PREPARE));
}

bool kf_worker_may_say(const struct kf_driver *driver, uint32_t code)
{
	return driver->attach &&
		(code == KF_E_UNAVAIL || code == KF_E_LIMIT);
}

enum kf_call_state kf_worker_python_state(const struct kf_driver *driver,
					  int rc)
{
	static const enum kf_call_state state[] = {
		[KF_PYTHON_GOOD] = KF_CALL_GOOD,
		[KF_PYTHON_EXCEPTION] = KF_CALL_EXCEPTION,
		[KF_PYTHON_EXITED] = KF_CALL_EXITED,
		[KF_PYTHON_OUTPUTS] = KF_CALL_OUTPUTS,
		[KF_PYTHON_SHAPE] = KF_CALL_SHAPE,
		[KF_PYTHON_DTYPE] = KF_CALL_DTYPE,
		[KF_PYTHON_WEIGHTS] = KF_CALL_WEIGHTS,
		[KF_PYTHON_PATCHED] = KF_CALL_PATCHED,
		[KF_PYTHON_DEFERRED] = KF_CALL_DEFERRED,
		[KF_PYTHON_MEMORY] = KF_CALL_MEMORY,
		[KF_PYTHON_DEVICE] = KF_CALL_DEVICE_FAULT,
	};

	if (rc == KF_PYTHON_DEVICE && !driver->canary)
		return KF_CALL_EXCEPTION;
	return rc >= 0 && (size_t)rc < KF_COUNT(state) ? state[rc] :
		KF_CALL_PROTOCOL;
}

bool kf_worker_python_trouble(const struct kf_driver *driver,
			      enum kf_call_state state)
{
	return driver->canary && (state == KF_CALL_DEVICE_FAULT ||
				  state == KF_CALL_MEMORY);
}

static const char *signal_words(int signal, int code)
{
	static const struct { int signal, code; const char *words; } rows[] = {
		{ SIGSEGV, 0, "segmentation fault" },
		{ SIGBUS, 0, "bus error" },
		{ SIGFPE, FPE_INTDIV, "integer division by zero" },
		{ SIGFPE, 0, "arithmetic fault" },
		{ SIGILL, 0, "illegal instruction" },
		{ SIGABRT, 0, "abort" },
		{ SIGTRAP, 0, "trap" },
		{ SIGKILL, 0, "killed" },
	};

	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (rows[i].signal == signal &&
		    (!rows[i].code || rows[i].code == code))
			return rows[i].words;
	return "signal";
}

/* What the faulty access was to, if the record knows; false if it does not. */
static bool explain_place(const struct kf_host_fault *fault,
			  const struct kf_end_about *about,
			  struct kf_call_end *end)
{
	char place[256];

	if (fault->region == KF_HOST_INPUTS && about->arena) {
		end->state = KF_CALL_INPUT_WRITE;
		kf_arena_describe(about->arena, fault->offset, place,
				  sizeof(place));
		snprintf(end->text, sizeof(end->text), "%s wrote to %s %s: "
			 "inputs and weights are read-only", about->who, place,
			 about->doing);
	} else if (fault->region == KF_HOST_OWNED) {
		snprintf(end->text, sizeof(end->text), "%s wrote %s to %s",
			 about->who, about->doing, fault->text);
	} else if (fault->region == KF_HOST_HANDLE) {
		snprintf(end->text, sizeof(end->text), "%s read or wrote "
			 "through the handle of %s %s: host.c never meets the "
			 "device's memory, only kernels do", about->who,
			 fault->text, about->doing);
	} else {
		return false;
	}
	return true;
}

/* A crash, told by the record if there is one. */
static void explain_signal(const struct kf_host_fault *fault, int signal,
			   const struct kf_end_about *about,
			   struct kf_call_end *end)
{
	char place[64] = "";

	end->state = KF_CALL_SIGNAL;
	end->signal = signal;
	if (fault->signal != (uint32_t)signal) {
		snprintf(end->text, sizeof(end->text),
			 "%s crashed %s: %s (signal %d)", about->who,
			 about->doing, signal_words(signal, 0), signal);
		return;
	}
	if (explain_place(fault, about, end))
		return;
	/* The processor does not tell which. */
	if (signal == SIGSEGV && fault->code == SI_KERNEL)
		snprintf(place, sizeof(place), " at an address that no memory "
			 "can have");
	else if (signal == SIGSEGV || signal == SIGBUS)
		snprintf(place, sizeof(place), " at address 0x%llx%s",
			 (unsigned long long)fault->address,
			 fault->address < 4096 ? " (a null pointer)" : "");
	snprintf(end->text, sizeof(end->text), "%s crashed %s: %s (signal "
		 "%d)%s", about->who, about->doing,
		 signal_words(signal, fault->code), signal, place);
}

static void explain_violation(const struct kf_host_fault *fault,
			      const struct kf_outcome *outcome,
			      const struct kf_end_about *about,
			      struct kf_call_end *end)
{
	char name[48];

	end->state = KF_CALL_VIOLATION;
	end->signal = SIGSYS;
	if (fault->signal == SIGSYS) {
		kf_sandbox_syscall_name((int)fault->call, name);
		snprintf(end->text, sizeof(end->text), "%s made a system call "
			 "that is forbidden %s: %s", about->who, about->doing,
			 name);
	} else {
		snprintf(end->text, sizeof(end->text), "%s broke the sandbox's "
			 "rules %s: %s", about->who, about->doing,
			 outcome->detail);
	}
}

static void explain_end(const struct kf_outcome *o,
			const struct kf_host_fault *fault,
			const struct kf_end_about *about,
			struct kf_call_end *end)
{
	static const struct {
		enum kf_end from;
		enum kf_call_state to;
		const char *words;
	} rows[] = {
		{ KF_END_WALL, KF_CALL_TIMEOUT, "used up the wall time of its "
		  "process" },
		{ KF_END_CPU, KF_CALL_CPU, "used up its processor time" },
		{ KF_END_MEMORY, KF_CALL_MEMORY, "used more memory than it "
		  "may" },
		{ KF_END_FILES, KF_CALL_MEMORY, "wrote more into files than "
		  "it may" },
	};

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		if (rows[i].from != o->end)
			continue;
		end->state = rows[i].to;
		snprintf(end->text, sizeof(end->text), "%s %s %s", about->who,
			 rows[i].words, about->doing);
		return;
	}
	/* The runner leaves with 128 + n after it has recorded signal n; the
	 * sandbox may call either a signal. */
	if (o->end == KF_END_VIOLATION ||
	    (fault->signal == SIGSYS &&
	     (o->signal == SIGSYS || o->exit_code == 128 + SIGSYS)))
		explain_violation(fault, o, about, end);
	else if (o->end == KF_END_SIGNAL)
		explain_signal(fault, o->signal, about, end);
	else if (fault->signal && fault->signal < 64 &&
		 o->exit_code == 128 + (int)fault->signal)
		explain_signal(fault, (int)fault->signal, about, end);
	else {
		end->state = KF_CALL_EXITED;
		snprintf(end->text, sizeof(end->text), "%s ended its process "
			 "%s with status %d", about->who, about->doing,
			 o->exit_code);
	}
}

void kf_end_output(const struct kf_outcome *o, struct kf_call_end *end)
{
	struct kf_buf all = { .max = 1u << 20 };
	size_t from;

	kf_utf8_clean(kf_buf_str(&o->out), o->out.len, &all);
	kf_utf8_clean(kf_buf_str(&o->errout), o->errout.len, &all);
	from = all.len > sizeof(end->output) - 1
		? all.len - (sizeof(end->output) - 1) : 0;
	while (from < all.len && ((unsigned char)all.data[from] & 0xc0) == 0x80)
		from++;
	snprintf(end->output, sizeof(end->output), "%s",
		 kf_buf_str(&all) + from);
	kf_buf_release(&all);
}

void kf_worker_explain(enum kf_wait why, const struct kf_end_about *about,
		       const struct kf_outcome *outcome,
		       const struct kf_host_fault *fault,
		       struct kf_call_end *end)
{
	kf_end_output(outcome, end);
	if (why == KF_WAIT_LATE) {
		end->state = KF_CALL_TIMEOUT;
		snprintf(end->text, sizeof(end->text), "%s did not finish "
			 "within %.3g s %s", about->who,
			 (double)about->timeout_ns * 1e-9, about->doing);
	} else if (why == KF_WAIT_BROKEN) {
		end->state = KF_CALL_PROTOCOL;
		snprintf(end->text, sizeof(end->text), "%s wrote to memory "
			 "that belongs to the judge %s", about->who,
			 about->doing);
	} else {
		explain_end(outcome, fault, about, end);
	}
}

bool kf_worker_clock_holds(uint64_t device_ns, uint64_t took_ns)
{
	return device_ns <= took_ns ||
		device_ns - took_ns <= took_ns / CLOCK_PART + CLOCK_NS;
}

bool kf_worker_clock_lags(uint64_t device_ns, uint64_t host_ns)
{
	return host_ns > device_ns &&
		host_ns - device_ns > device_ns / LAG_PART + LAG_NS;
}
