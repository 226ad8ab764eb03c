/*
 * Oclgrind, a simulator that is an OpenCL device of its own: every work-item's
 * accesses are checked against its buffers and against those of others.
 */
#include "platform/finding.h"
#include "platform/opencl/opencl.h"

/*
 *	Invalid write of size 4 at global memory address 0x3000000000fbc
 *		Kernel: axpby
 *		Entity: Global(1007,0,0) Local(239,0,0) Group(3,0,0)
 *		...
 *		At line 7 (column 8) of input.cl:
 *
 * A race has a "First entity:" and a second one.
 */
static bool read_oclgrind(const char *log, struct kf_found *out)
{
	static const char *const words[] = {
		"Invalid ", "Read-write data race", "Write-write data race",
		"Work-group divergence", "Unaligned ", "Memory error",
		"Reading from uninitialized", NULL
	};
	const char *at = kf_finding_line(log, "", words);

	*out = (struct kf_found) { .line = 0 };
	if (!at)
		return false;
	kf_finding_after(at, "", "\n", out->what, sizeof(out->what));
	kf_finding_after(at, " address ", " \t", out->address,
			 sizeof(out->address));
	kf_finding_after(at, "Kernel: ", "\n", out->kernel,
			 sizeof(out->kernel));
	if (!kf_finding_after(at, "Entity: ", "\n", out->thread,
			      sizeof(out->thread)))
		kf_finding_after(at, "First entity: ", "\n", out->thread,
				 sizeof(out->thread));
	out->line = kf_finding_number(at, "At line ");
	return true;
}

static const char *const place[] = {
	"/usr/lib/oclgrind/liboclgrind-rt-icd.so",
	"/usr/lib64/oclgrind/liboclgrind-rt-icd.so",
	"/usr/local/lib/oclgrind/liboclgrind-rt-icd.so", NULL
};
static const char *const command[] = { NULL };
static const char *const env[] = {
	"OCL_ICD_VENDORS={tool}", "OCL_ICD_FILENAMES=",
	"OCLGRIND_DATA_RACES=1", "OCLGRIND_CHECK_API=0",
	"OCLGRIND_MAX_ERRORS=20", NULL
};

const struct kf_sanitizer kf_opencl_sanitizer[] = {
	{ "oclgrind", "install oclgrind (on Debian: apt install oclgrind)",
	  NULL, place, command, env, read_oclgrind },
	{ .name = NULL },
};
