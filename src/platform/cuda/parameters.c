/*
 * What kernels take, as the compiler's PTX has it, and whether a launch passes
 * that. The driver tells how wide a parameter is and no more, and a number of
 * the right width and the wrong kind is a wrong value without a word.
 *
 * The part "parameters" of a pack: "NAME LETTERS\n" for each kernel, a letter
 * for each parameter. Kernels that have no line, and parameters with the letter
 * ANY, take what is as wide: no right program is to be refused.
 */
#include "platform/cuda/cuda.h"

enum letter {
	FLOAT = 'f',
	DOUBLE = 'd',
	INTEGER = 'i',		/* or a pointer: most compilers do not tell */
	POINTER = 'p',
	ANY = '?',		/* a struct, a half, a tensor map, ... */
};

/* --- from PTX ------------------------------------------------------------- */

static const char identifier[] = "abcdefghijklmnopqrstuvwxyz"
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

/* Of ".param .u64 .ptr .align 1 k_param_0". */
static enum letter letter_of(const char *declaration, size_t len)
{
	static const struct { const char *word; enum letter letter; } rows[] = {
		{ ".ptr ", POINTER }, { ".f32 ", FLOAT }, { ".f64 ", DOUBLE },
		{ ".u32 ", INTEGER }, { ".u64 ", INTEGER },
		{ ".s32 ", INTEGER }, { ".s64 ", INTEGER },
	};

	if (memchr(declaration, '[', len))
		return ANY;
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (memmem(declaration, len, rows[i].word,
			   strlen(rows[i].word)))
			return rows[i].letter;
	return ANY;
}

/* What follows ".entry": "axpb(PARAMETERS)". */
static void add_kernel(const char *name, struct kf_buf *out)
{
	size_t len = strspn(name, identifier);
	const char *at = skip_blanks(name + len), *end;

	end = *at == '(' ? strchr(at, ')') : NULL;
	if (!len || !end)
		return;
	kf_buf_printf(out, "%.*s ", (int)len, name);
	for (at = skip_blanks(at + 1); at < end; at++) {
		size_t most = (size_t)(end - at), piece = strcspn(at, ",");

		piece = piece < most ? piece : most;
		kf_buf_printf(out, "%c", letter_of(at, piece));
		at += piece;
	}
	kf_buf_puts(out, "\n");
}

void kf_cuda_parameters(const char *ptx, struct kf_buf *out)
{
	static const char entry[] = ".entry";

	while ((ptx = strstr(ptx, entry)) != NULL) {
		ptx += strlen(entry);
		if (*ptx == ' ' || *ptx == '\t')
			add_kernel(skip_blanks(ptx), out);
	}
}

/* --- to launches ---------------------------------------------------------- */

/* NULL: not known. */
static const char *letters_of(const struct kf_pack_part *parameters,
			      const char *kernel, size_t *count)
{
	size_t name = strlen(kernel), left = parameters->len;
	const char *at = parameters->data, *end;

	while ((end = memchr(at, '\n', left)) != NULL) {
		size_t len = (size_t)(end - at);

		if (len > name && memcmp(at, kernel, name) == 0 &&
		    at[name] == ' ') {
			*count = len - name - 1;
			return at + name + 1;
		}
		left -= len + 1;
		at = end + 1;
	}
	return NULL;
}

#define TAKES(kind) (1u << (kind))

static const struct kind {
	char letter;
	uint32_t bytes;
	unsigned takes;			/* of buffers and numbers */
	const char *what, *macro;
} kinds[] = {
	{ FLOAT, 4, TAKES(KF_ARG_FLOAT), "a float (.f32 in PTX)", "KF_F32" },
	{ DOUBLE, 8, TAKES(KF_ARG_FLOAT), "a double (.f64 in PTX)", "KF_F64" },
	{ INTEGER, 4, TAKES(KF_ARG_INT), "an integer of 32 bits", "KF_I32" },
	{ INTEGER, 8, TAKES(KF_ARG_INT) | TAKES(KF_ARG_BUFFER),
	  "an integer of 64 bits or a pointer", "KF_I64 or KF_BUF" },
	{ POINTER, 8, TAKES(KF_ARG_BUFFER), "a pointer", "KF_BUF" },
};

/* Zero has the same bytes as every kind. */
static bool fits_all(const struct kf_plan_arg *arg)
{
	static const unsigned char zero[sizeof(arg->value)];

	if (arg->kind == KF_ARG_INT || arg->kind == KF_ARG_FLOAT)
		return memcmp(arg->value, zero, sizeof(zero)) == 0;
	return arg->kind != KF_ARG_BUFFER;
}

static bool check(char letter, const struct kf_plan_arg *arg, size_t number,
		  char why[256])
{
	const struct kind *k = NULL;

	for (size_t i = 0; i < KF_COUNT(kinds) && !k; i++)
		if (kinds[i].letter == letter && kinds[i].bytes == arg->bytes)
			k = &kinds[i];
	if (!k || fits_all(arg) || k->takes & TAKES(arg->kind))
		return true;
	snprintf(why, 256, "argument %zu: the kernel takes %s, and host.c "
		 "passes %s; pass %s", number, k->what, kf_plan_arg_macro(arg),
		 k->macro);
	return false;
}

bool kf_cuda_parameters_check(const struct kf_pack_part *parameters,
			      const struct kf_plan_op *op, char why[256])
{
	size_t count = 0;
	const char *letter = parameters ? letters_of(parameters, op->kernel,
						     &count) : NULL;

	if (!letter || count != op->arg_count)
		return true;
	for (size_t i = 0; i < count; i++)
		if (!check(letter[i], &op->arg[i], i + 1, why))
			return false;
	return true;
}
