/*
 * What the assembler finds wrong with a kernel, said of the lines of kernels.cu.
 * It speaks of lines of PTX, of which the writer of kernels.cu has none; and
 * NVRTC, which has an assembler inside, keeps some of its words to itself, such
 * as which instruction lacks registers: the toolkit's own ptxas says those.
 */
#include "platform/cuda/cuda.h"

#include <ctype.h>
#include <unistd.h>

#define TIMEOUT_NS	(60 * KF_NS_PER_S)
#define WORDS_MAX	((size_t)64 << 10)
#define ERRORS_MAX	8u
#define INSTRUCTION_MAX	120u		/* bytes of one that are told */
#define SOURCE_NAME	"kernels.cu"

/* --- PTX ------------------------------------------------------------------ */

/* Line number (from 1) of text, without white space around it. */
static const char *line_of(const char *text, unsigned long number, size_t *len)
{
	while (--number && (text = strchr(text, '\n')))
		text++;
	*len = 0;
	if (!text)
		return NULL;
	while (*text == ' ' || *text == '\t')
		text++;
	*len = strcspn(text, "\r\n");
	return text;
}

/* Is SOURCE_NAME what `.file NUMBER "..."` says? */
static bool is_source(const char *ptx, unsigned long number)
{
	const char *at = ptx;
	char head[48];

	snprintf(head, sizeof(head), ".file\t%lu ", number);
	at = strstr(ptx, head);
	if (!at) {
		snprintf(head, sizeof(head), ".file %lu ", number);
		at = strstr(ptx, head);
	}
	return at && memmem(at, strcspn(at, "\n"), SOURCE_NAME "\"",
			    strlen(SOURCE_NAME) + 1) != NULL;
}

/* The line of kernels.cu from which a line of PTX comes, or 0: that of the last
 * ".loc FILE LINE COLUMN" before it. */
static unsigned long source_line(const char *ptx, unsigned long number)
{
	const char *at = ptx;
	unsigned long found = 0;

	for (unsigned long i = 1; at && i <= number; i++) {
		size_t blank = strspn(at, " \t");
		unsigned long file, line;

		if (sscanf(at + blank, ".loc %lu %lu", &file, &line) == 2)
			found = is_source(ptx, file) ? line : 0;
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	return found;
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

	if (len < 6 || memcmp(words, "ptxas ", 6) != 0 ||
	    memmem(words, len, "assembly aborted", 16))
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
	unsigned long line = number ? source_line(ptx, number) : 0;
	size_t text_len = 0;
	const char *text = number ? line_of(ptx, number, &text_len) : NULL;

	kf_buf_puts(out, SOURCE_NAME ":");
	if (line)
		kf_buf_printf(out, "%lu:", line);
	len -= (size_t)(cause - words);
	kf_buf_printf(out, " error: the assembler: %.*s", (int)len, cause);
	if (memmem(cause, len, "too much shared data", 20))
		kf_buf_puts(out, " (a launch can have more, as shared_bytes)");
	if (text_len)
		kf_buf_printf(out, " [%.*s%s]", (int)(text_len <
			      INSTRUCTION_MAX ? text_len : INSTRUCTION_MAX),
			      text, text_len > INSTRUCTION_MAX ? "..." : "");
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
	size_t left = strlen(ptx);
	int fd;

	snprintf(path, 64, "/tmp/kforge-ptx-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return false;
	while (left) {
		ssize_t n = write(fd, ptx, left);

		if (n <= 0)
			break;
		ptx += n;
		left -= (size_t)n;
	}
	close(fd);
	return !left;
}

void kf_cuda_assemble(const char *ptxas, const char *arch, const char *ptx,
		      struct kf_buf *out)
{
	char path[64], *arch_word = kf_format("-arch=%s", arch);
	const char *const argv[] = { ptxas, arch_word, "-o", "/dev/null", path,
				     NULL };
	struct kf_proc_spec spec = { .argv = argv, .timeout_ns = TIMEOUT_NS };
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
