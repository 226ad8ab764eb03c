/*
 * A crash of the program, written down where the supervisor finds it. The
 * record is a courtesy to whoever repairs the program: the verdict rests on
 * how the process ended.
 */
#include "runner/runner.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES	(64u << 10)

/* A handler has no argument of ours: the one place where that needs a static.
 * Written once, before the program is loaded. */
static const struct kf_fault_context *context;

/* Returns how many bytes there was room for. */
static size_t copy_text(char *out, size_t size, const char *text)
{
	size_t i = 0;

	for (; text[i] && i + 1 < size; i++)
		out[i] = text[i];
	out[i] = '\0';
	return i;
}

static bool was_write(const void *ucontext)
{
#if defined(__x86_64__)
	const ucontext_t *u = ucontext;

	return u->uc_mcontext.gregs[REG_ERR] & 2;
#else
	/* Reads of what may be read do not fault: it was a write. */
	(void)ucontext;
	return true;
#endif
}

static void locate(struct kf_host_fault *fault, const void *address)
{
	uintptr_t at = (uintptr_t)address;
	uintptr_t start = (uintptr_t)context->inputs;
	const char *owned;

	if (at >= start && at - start < context->in_bytes) {
		fault->region = KF_HOST_INPUTS;
		fault->offset = at - start;
		return;
	}
	owned = kf_driver_owns(context->driver, context->device, address);
	if (!owned)
		return;
	fault->region = KF_HOST_OWNED;
	(void)copy_text(fault->text, sizeof(fault->text), owned);
}

/* The registers that may hold an address. */
static size_t registers(const void *ucontext, uint64_t out[32])
{
	const ucontext_t *u = ucontext;
	size_t count = 0;

#if defined(__x86_64__)
	for (int i = REG_R8; i <= REG_RCX; i++)
		out[count++] = (uint64_t)u->uc_mcontext.gregs[i];
#elif defined(__aarch64__)
	for (int i = 0; i < 31; i++)
		out[count++] = u->uc_mcontext.regs[i];
#else
	(void)u;
	(void)out;
#endif
	return count;
}

/* Could an access through this value be what faulted? Handles are addresses
 * that no memory can have: x86 does not tell which it was, ARM leaves its
 * highest byte out. */
static bool could_be(uint64_t value, const siginfo_t *info)
{
#if defined(__x86_64__)
	(void)value;
	return info->si_code == SI_KERNEL;
#else
	return (value ^ (uint64_t)(uintptr_t)info->si_addr) << 8 >> 48 == 0;
#endif
}

/* "input 0 or output 0": the registers that still have a handle. */
static void find_handle(struct kf_host_fault *fault, const siginfo_t *info,
			const void *ucontext)
{
	const char *name[32];
	uint64_t value[32];
	size_t count = registers(ucontext, value), used = 0, at = 0, known = 0;

	for (size_t i = 0; i < count; i++) {
		if (!could_be(value[i], info))
			continue;
		name[known] = context->handle(context->handle_arg, value[i]);
		for (size_t k = 0; k < known && name[known]; k++)
			if (name[k] == name[known])
				name[known] = NULL;
		known += name[known] != NULL;
	}
	for (; used < known && at + 5 < sizeof(fault->text); used++) {
		if (used)
			at += copy_text(fault->text + at,
					sizeof(fault->text) - at, " or ");
		at += copy_text(fault->text + at, sizeof(fault->text) - at,
				name[used]);
	}
	if (known)
		fault->region = KF_HOST_HANDLE;
}

static void on_fault(int signal, siginfo_t *info, void *ucontext)
{
	struct kf_host_fault *fault = context->fault;

	if (!fault->signal) {
		fault->code = info->si_code;
		if (signal == SIGSYS) {
			fault->call = (uint32_t)info->si_syscall;
		} else if (signal != SIGABRT) {
			fault->address = (uintptr_t)info->si_addr;
			if (context->handle)
				find_handle(fault, info, ucontext);
			else if (signal == SIGSEGV && was_write(ucontext))
				locate(fault, info->si_addr);
		}
		fault->signal = (uint32_t)signal;
	}
	syscall(SYS_exit_group, 128 + signal);
}

enum kf_code kf_runner_catch_faults(const struct kf_fault_context *c,
				    struct kf_err *err)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS,
				       SIGABRT };
	stack_t stack = { .ss_size = STACK_BYTES };
	struct sigaction action = { 0 };

	stack.ss_sp = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL))
		return kf_fail_errno(err, "cannot make a signal stack");
	context = c;
	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < KF_COUNT(signals); i++)
		if (sigaction(signals[i], &action, NULL))
			return kf_fail_errno(err, "cannot catch signal %d",
					     signals[i]);
	return KF_OK;
}

enum kf_code kf_serve_catch_faults(const struct kf_serve *s,
				   struct kf_err *err)
{
	struct kf_fault_context *fault = kf_alloc(sizeof(*fault));

	*fault = (struct kf_fault_context) {
		.fault = &s->reply->fault,
		.inputs = s->inputs,
		.in_bytes = s->in_bytes,
		.driver = s->driver,
		.device = s->device,
	};
	return kf_runner_catch_faults(fault, err);
}
