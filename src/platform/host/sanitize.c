/* The compiler's own: AddressSanitizer, and the bounds of arrays whose size it
 * knows. */
#include "platform/finding.h"
#include "platform/host/host.h"

#include <stdio.h>
#include <string.h>

#define ADDRESS	"ERROR: AddressSanitizer: "
#define SIZE	" of size "
#define SOURCE	"program.c:"
#define BOUNDS	": runtime error: "

static unsigned line_in(const char *at)
{
	unsigned line = 0;

	at = strstr(at, SOURCE);
	return at && sscanf(at + strlen(SOURCE), "%u", &line) == 1 ? line : 0;
}

/* Where the line begins that holds at. */
static const char *line_of(const char *log, const char *at)
{
	while (at > log && at[-1] != '\n')
		at--;
	return at;
}

/*
 *	==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x7f00 at
 *	READ of size 4 at 0x7f00 thread T1
 *	    #0 0x7f04 in _mm_loadu_ps /usr/lib/.../xmmintrin.h:982
 *	    #1 0x7f04 in kf_forward._omp_fn.0 /export/program.c:179
 *
 * What was not an access, such as a stack that is full, is no finding.
 */
static bool read_address(const char *log, struct kf_found *out)
{
	const char *at = strstr(log, ADDRESS);
	const char *size = at ? strstr(at, SIZE) : NULL;
	const char *frame = size ? strstr(size, SOURCE) : NULL;
	char kind[64], bytes[24];

	if (!size)
		return false;
	kf_finding_after(at, ADDRESS, " ", kind, sizeof(kind));
	kf_finding_after(size, SIZE, " ", bytes, sizeof(bytes));
	snprintf(out->what, sizeof(out->what), "%s, a %s of %s bytes", kind,
		 memcmp(size - 4, "READ", 4) == 0 ? "read" : "write", bytes);
	kf_finding_after(size, " at ", " ", out->address,
			 sizeof(out->address));
	kf_finding_after(size, " thread ", " ", out->thread,
			 sizeof(out->thread));
	if (frame) {
		frame = line_of(log, frame);
		kf_finding_after(frame, " in ", " ", out->kernel,
				 sizeof(out->kernel));
		out->line = line_in(frame);
	}
	return true;
}

/* program.c:225:8: runtime error: index 1 out of bounds for type 'half [1]' */
static bool read_bounds(const char *log, struct kf_found *out)
{
	const char *at = strstr(log, BOUNDS);

	if (!at)
		return false;
	kf_finding_after(at, BOUNDS, "", out->what, sizeof(out->what));
	out->line = line_in(line_of(log, at));
	return true;
}

static bool read(const char *log, struct kf_found *out)
{
	*out = (struct kf_found) { .line = 0 };
	return read_bounds(log, out) || read_address(log, out);
}

static const char *const none[] = { NULL };
static const char *const env[] = {
	"ASAN_OPTIONS=detect_leaks=0:abort_on_error=0",
	"OMP_STACKSIZE=64M", NULL
};

const struct kf_sanitizer kf_host_sanitizer[] = {
	{ .name = "AddressSanitizer",
	  .package = "install the compiler's runtime for it (libasan, or "
		  "compiler-rt)",
	  .flags = "-g -fsanitize=address,bounds "
		  "-fno-sanitize-recover=bounds",
	  .command = none, .env = env, .read = read },
	{ .name = NULL },
};
