/* compute-sanitizer of NVIDIA's toolkit, once for each kind of mistake. */
#include "platform/cuda/cuda.h"
#include "platform/finding.h"

#define MARK "========= "

/*
 *	========= Invalid __global__ read of size 4 bytes
 *	=========     at axpb(const float *, float *)+0x90 in kernels.cu:7
 *	=========     by thread (255,0,0) in block (3,0,0)
 *	=========     Address 0x7f25c5400fbc is out of bounds
 *
 *	========= Error: Race reported between Write access at axpb(...)+0x90 in
 *	kernels.cu:7 and Read access at ...
 */
static bool read_report(const char *log, struct kf_found *out)
{
	static const char *const words[] = {
		"Invalid ", "Misaligned ", "Uninitialized ", "Error: Race",
		"Error: Potential", "Barrier error", "Program hit ", NULL
	};
	const char *at = kf_finding_line(log, MARK, words);

	*out = (struct kf_found) { .line = 0 };
	if (!at)
		return false;
	kf_finding_after(at, "", "\n", out->what, sizeof(out->what));
	kf_finding_after(at, " at ", "(+\n", out->kernel,
			 sizeof(out->kernel));
	kf_finding_after(at, "=     by ", "\n", out->thread,
			 sizeof(out->thread));
	kf_finding_after(at, "Address ", " \n", out->address,
			 sizeof(out->address));
	out->line = kf_finding_number(at, ".cu:");
	return true;
}

static const char *const place[] = {
	"compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer",
	"/opt/cuda/bin/compute-sanitizer", NULL
};
static const char *const none[] = { NULL };

#define COMMAND(tool) \
	static const char *const tool[] = { "{tool}", "--tool", #tool, \
					    "--print-limit", "5", NULL }
COMMAND(memcheck);
COMMAND(racecheck);
COMMAND(initcheck);

#define ROW(tool) \
	{ "compute-sanitizer " #tool, "install it with the CUDA toolkit", \
	  NULL, place, tool, none, read_report }
const struct kf_sanitizer kf_cuda_sanitizer[] = {
	ROW(memcheck), ROW(racecheck), ROW(initcheck), { .name = NULL },
};
