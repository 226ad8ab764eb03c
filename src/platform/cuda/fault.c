/* What a program did wrong on the device, in sentences for who wrote it. */
#include "platform/cuda/cuda.h"

static const char context_words[] = "destroyed or reset the device's context, "
	"which is not its own";
static const char capture_words[] = "left a stream capturing when it returned";

/* Whose fault it is. What a running kernel does wrong stays with the device: it
 * is nobody's of this program when a graph is made. Of all that is not here,
 * such as memory that others hold, code for another device or what is wrong
 * with the device's own memory (ECC), it is ours. */
static const struct kf_cuda_blame rows[] = {
	{ KF_CUDA_INVALID_VALUE, true, NULL,
	  "freed memory that it was given (invalid value)" },
	{ KF_CUDA_INVALID_HANDLE, false, NULL,
	  "destroyed the stream that it was given (invalid handle)" },
	{ KF_CUDA_DEINITIALIZED, false, NULL, context_words },
	{ KF_CUDA_INVALID_CONTEXT, false, NULL, context_words },
	{ KF_CUDA_CONTEXT_IS_DESTROYED, false, NULL, context_words },
	{ KF_CUDA_STREAM_CAPTURE_UNSUPPORTED, false, NULL, capture_words },
	{ KF_CUDA_STREAM_CAPTURE_INVALIDATED, false, NULL, capture_words },
	{ KF_CUDA_STREAM_CAPTURE_UNJOINED, false, NULL, capture_words },
	{ KF_CUDA_STREAM_CAPTURE_IMPLICIT, false, NULL, capture_words },
	{ KF_CUDA_STREAM_CAPTURE_WRONG_THREAD, false, NULL, capture_words },
	{ KF_CUDA_NOT_SUPPORTED, true, NULL, NULL },
	{ KF_CUDA_INVALID_CLUSTER_SIZE, true, NULL, NULL },
	{ KF_CUDA_COOPERATIVE_LAUNCH_TOO_LARGE, true,
	  "has more groups than are on the device at once (cooperative launch "
	  "too large)", NULL },
	{ KF_CUDA_LAUNCH_OUT_OF_RESOURCES, true,
	  "wants more registers or memory than a launch may have (out of "
	  "resources)", NULL },
	{ KF_CUDA_ILLEGAL_ADDRESS, false,
	  "read or wrote memory that is not there (illegal address)", NULL },
	{ KF_CUDA_MISALIGNED_ADDRESS, false,
	  "used an address that is no multiple of the size of what it reads or "
	  "writes there (misaligned address)", NULL },
	{ KF_CUDA_ASSERT, false, "stopped at an assertion that does not hold",
	  NULL },
	{ KF_CUDA_ILLEGAL_INSTRUCTION, false,
	  "ran an instruction that the device refuses, or trapped (illegal "
	  "instruction)", NULL },
	{ KF_CUDA_HARDWARE_STACK_ERROR, false,
	  "went too deep or broke its stack (hardware stack error)", NULL },
	{ KF_CUDA_INVALID_ADDRESS_SPACE, false,
	  "took an address of one kind of memory for one of another (invalid "
	  "address space)", NULL },
	{ KF_CUDA_INVALID_PC, false,
	  "jumped to where no code is (invalid program counter)", NULL },
	{ KF_CUDA_LAUNCH_FAILED, false,
	  "trapped or broke a rule of the hardware, such as one of barriers "
	  "(unspecified launch failure)", NULL },
	{ KF_CUDA_LAUNCH_TIMEOUT, false,
	  "ran too long and was stopped by the device (launch timeout)", NULL },
	{ KF_CUDA_TENSOR_MEMORY_LEAK, false,
	  "did not give back its tensor memory (tensor memory leak)", NULL },
};

const struct kf_cuda_blame *kf_cuda_blame(int result)
{
	static const struct kf_cuda_blame ours = { 0, false, NULL, NULL };

	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (rows[i].result == result)
			return &rows[i];
	return &ours;
}

static bool named_before(const struct kf_plan *plan, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (plan->op[i].kind == KF_PLAN_LAUNCH &&
		    strcmp(plan->op[i].kernel, plan->op[number].kernel) == 0)
			return true;
	return false;
}

/* "kernel axpb", or "one of the kernels a, b": the device does not say. */
static void name_kernels(const struct kf_plan *plan, struct kf_buf *out)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->op_count && out->len < 120; i++) {
		if (plan->op[i].kind != KF_PLAN_LAUNCH ||
		    named_before(plan, i))
			continue;
		kf_buf_printf(out, "%s%.40s", count ? ", " : "",
			      plan->op[i].kernel);
		count++;
	}
}

bool kf_cuda_is_fault(struct kf_device *dev, const struct kf_plan *plan,
		      int result)
{
	const char *words = kf_cuda_blame(result)->running;
	struct kf_buf names = { .max = 192 };

	if (!words)
		return false;
	name_kernels(plan, &names);
	if (strchr(kf_buf_str(&names), ','))
		snprintf(dev->fault, sizeof(dev->fault),
			 "one of the kernels %s %s", kf_buf_str(&names),
			 words);
	else
		snprintf(dev->fault, sizeof(dev->fault), "kernel %s %s",
			 kf_buf_str(&names), words);
	kf_buf_release(&names);
	return true;
}

const char *kf_cuda_fault(const struct kf_device *dev)
{
	return dev->fault[0] ? dev->fault : NULL;
}
