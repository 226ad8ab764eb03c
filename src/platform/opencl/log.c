/* What a device's compiler says, as other compilers say it. */
#include "platform/opencl/opencl.h"

/* The length of "FILE:LINE:COLUMN: " at the start of a text, or 0. */
static size_t place_length(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len && text[at] != ':' && text[at] != ' ')
		at++;
	for (int k = 0; k < 2; k++) {
		size_t digits;

		if (at >= len || text[at] != ':')
			return 0;
		at++;
		digits = strspn(text + at, "0123456789");
		if (!digits)
			return 0;
		at += digits;
	}
	return at + 2 <= len && text[at] == ':' && text[at + 1] == ' '
		? at + 2 : 0;
}

/* NVIDIA's compiler (580.159.04) knows no #line: "ERROR: <kernel>:4:25: " is of
 * the file's third line, for the first that it got is ours. How much of the
 * line was replaced. */
static size_t replace_place(const char *line, size_t len, struct kf_buf *log)
{
	static const char begin[] = "<kernel>:";
	const char *at = memmem(line, len, begin, sizeof(begin) - 1);
	unsigned long number;
	char *end;

	if (!at || at - line > (ptrdiff_t)sizeof("WARNING: "))
		return 0;
	number = strtoul(at + sizeof(begin) - 1, &end, 10);
	if (number < 2)
		return 0;
	kf_buf_printf(log, "kernels.cl:%lu", number - 1);
	return (size_t)(end - line);
}

/* "error: FILE:1:2: words", as one compiler writes it, becomes "FILE:1:2:
 * error: words", as all others do. Lines with the device's name are left out:
 * they tell of the machine and not of the program. So are those that NVIDIA's
 * compiler has for every kernel. */
static void add_line(const char *line, size_t len, const char *device,
		     struct kf_buf *log)
{
	static const char *const kinds[] = { "error: ", "warning: ",
					     "note: " };
	static const char of_every_kernel[] =
		" is a kernel, so overriding noinline attribute";
	size_t replaced;

	if (memmem(line, len, device, strlen(device)) ||
	    memmem(line, len, of_every_kernel, strlen(of_every_kernel)))
		return;
	replaced = replace_place(line, len, log);
	for (size_t i = 0; i < KF_COUNT(kinds) && !replaced; i++) {
		size_t kind = strlen(kinds[i]), place;

		if (len < kind || strncmp(line, kinds[i], kind) != 0)
			continue;
		place = place_length(line + kind, len - kind);
		kf_buf_add(log, line + kind, place);
		kf_buf_add(log, line, kind);
		line += kind + place;
		len -= kind + place;
		break;
	}
	kf_buf_add(log, line + replaced, len - replaced);
	kf_buf_puts(log, "\n");
}

/* With -cl-kernel-arg-info NVIDIA's compiler (580.159.04) writes of a kernel
 * without parameters what its own assembler cannot read. */
static void explain(struct kf_buf *log)
{
	if (strstr(kf_buf_str(log), "ptxas") &&
	    strstr(kf_buf_str(log), "Parsing error near '}'"))
		kf_buf_puts(log, "kernels.cl: note: NVIDIA's compiler fails "
			    "so where a __kernel has no parameters: give it "
			    "one, such as an int that nothing uses\n");
}

void kf_opencl_add_log(const char *text, const char *device,
		       struct kf_buf *log)
{
	for (const char *at = text; *at; at += strcspn(at, "\n"),
					 at += *at == '\n')
		if (at[0] != '\n')
			add_line(at, strcspn(at, "\n"), device, log);
	explain(log);
}
