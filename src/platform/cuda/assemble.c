/*
 * What the assembler finds wrong with a kernel, said of lines of kernels.cu. It
 * speaks of lines of PTX, of which the writer of kernels.cu has none; and
 * NVRTC, which has an assembler inside, keeps some of its words to itself, such
 * as which instruction lacks registers: the toolkit's own ptxas says those.
 */
#include "platform/cuda/cuda.h"

#include <unistd.h>

#define WORDS_MAX	((size_t)64 << 10)
#define ERRORS_MAX	8u
#define INSTRUCTION_MAX	120u		/* bytes of one that are told */
#define SOURCE_NAME	"kernels.cu"

/* --- PTX ------------------------------------------------------------------ */

struct place {
	const char *text;		/* of the line, without blanks before it */
	size_t len;
	unsigned long file, line;	/* of the last ".loc FILE LINE COLUMN" up
					   to it; 0: there is none */
};

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* Line number (from 1) of the PTX; false: it has no such line. */
static bool find_line(const char *ptx, unsigned long number, struct place *out)
{
	const char *at = ptx;

	*out = (struct place) { .text = NULL };
	for (unsigned long i = 1; at && i <= number; i++) {
		char *end;

		at = skip_blanks(at);
		if (strncmp(at, ".loc", 4) == 0 &&
		    (at[4] == ' ' || at[4] == '\t')) {
			out->file = strtoul(at + 4, &end, 10);
			out->line = strtoul(end, NULL, 10);
		}
		out->text = at;
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
		if (!at && i < number)
			return false;
	}
	out->len = out->text ? strcspn(out->text, "\r\n") : 0;
	return out->text != NULL;
}

/* Is SOURCE_NAME what `.file NUMBER "..."` says? */
static bool is_source(const char *ptx, unsigned long number)
{
	const char *at = ptx;

	while ((at = strstr(at, ".file")) != NULL) {
		char *end;

		at += strlen(".file");
		if (strtoul(at, &end, 10) == number && end != at)
			return memmem(end, strcspn(end, "\n"), SOURCE_NAME "\"",
				      strlen(SOURCE_NAME) + 1) != NULL;
	}
	return false;
}

/* --- ptxas's words -------------------------------------------------------- */

/* The number of a line of PTX that it names, or 0. */
static unsigned long number_in(const char *words, size_t len)
{
	const char *at = memmem(words, len, "line ", 5);

	return at ? strtoul(at + 5, NULL, 10) : 0;
}

/* "ptxas /tmp/x.ptx, line 7; error   : WORDS" and "ptxas fatal   : WORDS" */
static const char *cause_in(const char *words, size_t len)
{
	static const char *const severity[] = { "error   : ", "fatal   : " };

	/* The first tells no cause; the others are words of an assembler that
	 * is older than the PTX. */
	static const char *const no_cause[] = {
		"assembly aborted", "Unsupported .version",
		"is not defined for option",
	};

	if (len < 6 || memcmp(words, "ptxas ", 6) != 0)
		return NULL;
	for (size_t i = 0; i < KF_COUNT(no_cause); i++)
		if (memmem(words, len, no_cause[i], strlen(no_cause[i])))
			return NULL;
	for (size_t i = 0; i < KF_COUNT(severity); i++) {
		const char *at = memmem(words, len, severity[i],
					strlen(severity[i]));

		if (at)
			return at + strlen(severity[i]);
	}
	return NULL;
}

static void tell(const char *ptx, const char *words, size_t len,
		 const char *cause, struct kf_buf *out)
{
	unsigned long number = number_in(words, len);
	struct place place = { .text = NULL };

	kf_buf_puts(out, SOURCE_NAME ":");
	if (number && find_line(ptx, number, &place) && place.line &&
	    is_source(ptx, place.file))
		kf_buf_printf(out, "%lu:", place.line);
	len -= (size_t)(cause - words);
	kf_buf_printf(out, " error: the assembler: %.*s", (int)len, cause);
	if (memmem(cause, len, "too much shared data", 20))
		kf_buf_puts(out, " (a launch can have more, as shared_bytes)");
	if (place.text && place.len)
		kf_buf_printf(out, " [%.*s%s]", (int)(place.len <
			      INSTRUCTION_MAX ? place.len : INSTRUCTION_MAX),
			      place.text, place.len > INSTRUCTION_MAX ?
			      "..." : "");
	kf_buf_puts(out, "\n");
}

void kf_cuda_assembler_words(const char *ptx, const char *words,
			     struct kf_buf *out)
{
	unsigned count = 0;

	while (*words && count < ERRORS_MAX) {
		size_t len = strcspn(words, "\n");
		const char *cause = cause_in(words, len);

		if (cause) {
			tell(ptx, words, len, cause, out);
			count++;
		}
		words += len + (words[len] == '\n');
	}
}

/* --- asking it ------------------------------------------------------------ */

static bool write_ptx(const char *ptx, char path[64])
{
	int fd;

	snprintf(path, 64, "/tmp/kforge-ptx-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return false;
	close(fd);
	if (kf_file_write_scratch(path, ptx, strlen(ptx), NULL) == KF_OK)
		return true;
	unlink(path);
	return false;
}

void kf_cuda_assemble(const char *ptxas, const char *arch, const char *ptx,
		      uint64_t timeout_ns, struct kf_buf *out)
{
	char path[64], *arch_word = kf_format("-arch=%s", arch);
	const char *const argv[] = { ptxas, arch_word, "-o", "/dev/null", path,
				     NULL };
	struct kf_proc_spec spec = { .argv = argv, .timeout_ns = timeout_ns };
	struct kf_buf words = { .max = WORDS_MAX }, more = { .max = WORDS_MAX };
	struct kf_proc_end end;

	if (write_ptx(ptx, path)) {
		if (kf_proc_run(&spec, &words, &more, &end, NULL) == KF_OK) {
			kf_cuda_assembler_words(ptx, kf_buf_str(&words), out);
			kf_cuda_assembler_words(ptx, kf_buf_str(&more), out);
		}
		unlink(path);
	}
	kf_buf_release(&more);
	kf_buf_release(&words);
	free(arch_word);
}
