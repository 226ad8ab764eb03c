#include "evaluate/entry.h"

#include <ctype.h>

#define WORD_BYTES	128u
#define EXPRESSION_BYTES (WORD_BYTES + 32)
#define TYPE_BYTES	96u
#define PARAMETERS_MAX	64u

static const char *const head =
	"/* Written by kforge: calls what a comment of the program "
	"declares. */\n"
	"#include <kforge/program.h>\n"
	"#include <stddef.h>\n"
	"#include <stdint.h>\n"
	"typedef struct CUstream_st *cudaStream_t;\n"
	"typedef int cudaError_t;\n"
	"struct __half;\n"
	"typedef __half half;\n"
	"struct __nv_bfloat16;\n"
	"typedef __nv_bfloat16 nv_bfloat16;\n"
	"extern \"C\" {\n"
	"cudaError_t cudaGetLastError(void) __attribute__((weak));\n";

/* What parameters may be, without const. */
struct type {
	const char *name;
	int64_t dtypes;		/* of tensors that a pointer to it is for */
	char scalar;		/* 'i', 'f'; 0: only behind a pointer */
};

#define D(dtype) (INT64_C(1) << (dtype))

static const struct type types[] = {
	{ "float", D(KF_F32), 'f' }, { "double", D(KF_F64), 'f' },
	{ "int", D(KF_I32), 'i' }, { "int32_t", D(KF_I32), 'i' },
	{ "int64_t", D(KF_I64), 'i' }, { "long", D(KF_I64), 'i' },
	{ "long long", D(KF_I64), 'i' }, { "int16_t", D(KF_I16), 'i' },
	{ "short", D(KF_I16), 'i' }, { "int8_t", D(KF_I8), 'i' },
	{ "signed char", D(KF_I8), 'i' }, { "char", D(KF_I8), 'i' },
	{ "uint8_t", D(KF_U8), 'i' }, { "unsigned char", D(KF_U8), 'i' },
	{ "bool", D(KF_BOOL), 'i' }, { "size_t", 0, 'i' },
	{ "unsigned", 0, 'i' }, { "unsigned int", 0, 'i' },
	{ "uint32_t", 0, 'i' }, { "uint64_t", 0, 'i' },
	{ "unsigned long", 0, 'i' }, { "unsigned long long", 0, 'i' },
	{ "half", D(KF_F16), 0 }, { "__half", D(KF_F16), 0 },
	{ "nv_bfloat16", D(KF_BF16), 0 }, { "__nv_bfloat16", D(KF_BF16), 0 },
	{ "void", ~INT64_C(0), 0 }, { "cudaStream_t", 0, 0 },
};

struct parser {
	char *text;		/* owned; the comment, marks of it blank */
	const char *at;
	const struct kf_bundle *bundle;
	char word[WORD_BYTES];	/* the last token; "" at the end */
	char *refused;
	unsigned *line;
	const char *source_at;	/* where text begins in the source */
	const char *source;
};

struct parameter {
	char type[TYPE_BYTES];	/* without const and stars */
	char name[WORD_BYTES];
	unsigned stars;
	bool is_const;		/* what it points to */
	char value[EXPRESSION_BYTES + 32];	/* C++ */
};

/* --- the comment ---------------------------------------------------------- */

static const char *skip_blank(const char *at)
{
	return at + strspn(at, " \t\r\n\v\f");
}

/* Where a comment ends that begins here; NULL: none does. */
static const char *comment_end(const char *at)
{
	const char *end;

	if (strncmp(at, "/*", 2) == 0) {
		end = strstr(at + 2, "*/");
		return end ? end : at + strlen(at);
	}
	if (strncmp(at, "//", 2) != 0)
		return NULL;
	for (end = at; strncmp(end, "//", 2) == 0; end += strspn(end, " \t")) {
		end += strcspn(end, "\n");
		end += *end == '\n';
	}
	return end;
}

/* Marks at the beginning of its lines become blanks. */
static char *comment_text(const char *begin, const char *end)
{
	char *text = kf_strndup(begin, (size_t)(end - begin));
	bool fresh = true;

	for (char *at = text; *at; at++) {
		if (*at == '\n')
			fresh = true;
		else if (fresh && (*at == '/' || *at == '*'))
			*at = ' ';
		else if (!isspace((unsigned char)*at))
			fresh = false;
	}
	return text;
}

/* --- words ---------------------------------------------------------------- */

static unsigned line_of(const struct parser *p)
{
	const char *end = p->source_at + (p->at - p->text);
	unsigned line = 1;

	for (const char *at = p->source; at < end; at++)
		line += *at == '\n';
	return line;
}

static bool KF_PRINTF(2, 3) refuse(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->refused, 256, fmt, ap);
	va_end(ap);
	*p->line = line_of(p);
	return false;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* A name, a number, or one sign. */
static void next(struct parser *p)
{
	size_t len = 0;

	p->at = skip_blank(p->at);
	if (isdigit((unsigned char)p->at[0]) ||
	    ((p->at[0] == '-' || p->at[0] == '.') &&
	     isdigit((unsigned char)p->at[1]))) {
		len = 1;
		while (is_name(p->at[len]) || p->at[len] == '.' ||
		       (strchr("+-", p->at[len]) && p->at[len] &&
			strchr("eE", p->at[len - 1])))
			len++;
	}
	while (!len && is_name(p->at[len]))
		while (is_name(p->at[len]))
			len++;
	len += !len && *p->at;
	snprintf(p->word, sizeof(p->word), "%.*s", (int)(len < WORD_BYTES ?
		 len : WORD_BYTES - 1), p->at);
	p->at += len;
}

static bool is(const struct parser *p, const char *word)
{
	return strcmp(p->word, word) == 0;
}

static bool want(struct parser *p, const char *word, const char *before)
{
	if (!is(p, word))
		return refuse(p, "'%s' wanted %s, not '%s'", word, before,
			      p->word[0] ? p->word : "the comment's end");
	next(p);
	return true;
}

/* --- values --------------------------------------------------------------- */

struct tensors {
	const char *word;		/* "in" */
	const struct kf_tensor_info *info;
	size_t count;			/* SIZE_MAX: nobody knows */
};

static struct tensors tensors_of(const struct parser *p, const char *word)
{
	const struct kf_bundle *b = p->bundle;
	struct tensors t = { word, NULL, SIZE_MAX };

	if (b && strcmp(word, "in") == 0)
		t = (struct tensors) { word, b->in, b->in_count };
	else if (b && strcmp(word, "out") == 0)
		t = (struct tensors) { word, b->out, b->out_count };
	else if (b)
		t = (struct tensors) { word, b->weight, b->weight_count };
	return t;
}

/* "in12" of "in": its number; false if it is something else. */
static bool numbered(const char *word, const char *kind, unsigned *number)
{
	size_t len = strlen(kind);
	uint64_t value = 0;

	if (strncmp(word, kind, len) != 0 || !word[len] ||
	    !kf_parse_u64(word + len, &value) || value > 4096)
		return false;
	*number = (unsigned)value;
	return true;
}

static bool check_dtype(struct parser *p, const struct parameter *a,
			const struct type *type, const char *what,
			const struct kf_tensor_info *info)
{
	if (!info || info->dtype == KF_DTYPE_NONE ||
	    type->dtypes & D(info->dtype))
		return true;
	return refuse(p, "%s is %s %s*, and %s is of the type %s", a->name,
		      a->is_const ? "const" : "a", a->type, what,
		      kf_dtype_name(info->dtype));
}

/* "weight(fc.bias)" */
static bool weight_by_name(struct parser *p, char expression[EXPRESSION_BYTES],
			   char what[WORD_BYTES],
			   const struct kf_tensor_info **info)
{
	size_t len = strcspn(p->at, "),\n");

	if (p->at[len] != ')' || !len || len > 100)
		return refuse(p, "weight( wants the name of a weight and ')'");
	snprintf(what, WORD_BYTES, "%.*s", (int)len, p->at);
	if (what[strcspn(what, "\"\\ ")])
		return refuse(p, "weight( wants the name of a weight, as it "
			      "is and without quotes");
	p->at += len + 1;
	next(p);
	snprintf(expression, EXPRESSION_BYTES, "kf_weight(c, \"%s\")[0]", what);
	for (size_t i = 0; p->bundle && i < p->bundle->weight_count; i++)
		if (strcmp(p->bundle->weight[i].name, what) == 0)
			*info = &p->bundle->weight[i];
	if (p->bundle && !*info)
		return refuse(p, "the problem has no weight %s; `kforge "
			      "problem show` lists them", what);
	return true;
}

/* The tensor of a value: what it is in C++, and for people. */
static bool tensor(struct parser *p, char expression[EXPRESSION_BYTES],
		   char what[WORD_BYTES], const struct kf_tensor_info **info)
{
	static const char *const kinds[] = { "in", "out", "weight" };
	unsigned number = 0;

	*info = NULL;
	snprintf(what, WORD_BYTES, "%s", p->word);
	for (size_t i = 0; i < KF_COUNT(kinds); i++) {
		struct tensors t = tensors_of(p, kinds[i]);

		if (!numbered(p->word, kinds[i], &number))
			continue;
		if (number >= t.count)
			return refuse(p, "there is no %s: the problem has %zu "
				      "(from %s0 on)", what, t.count, kinds[i]);
		*info = t.info ? &t.info[number] : NULL;
		snprintf(expression, EXPRESSION_BYTES, "c->%s[%u]", kinds[i],
			 number);
		next(p);
		return true;
	}
	if (!is(p, "weight"))
		return refuse(p, "'%s' is no value: in0, out0, weight0, "
			      "weight(NAME), their .shape[0] and .numel, "
			      "scalar0, queue, or a number", p->word);
	next(p);
	return is(p, "(") ? weight_by_name(p, expression, what, info) :
		refuse(p, "weight wants a number or (NAME)");
}

/* ".shape[1]" or ".numel", behind a tensor. */
static bool size_of(struct parser *p, const char *expression, const char *what,
		    const struct kf_tensor_info *info, struct parameter *a)
{
	unsigned number = 0;

	next(p);
	if (is(p, "numel")) {
		next(p);
		snprintf(a->value, sizeof(a->value), "kf_numel(&%s)",
			 expression);
		return true;
	}
	if (!want(p, "shape", "behind '.'") ||
	    !want(p, "[", "behind shape"))
		return false;
	if (!numbered(p->word, "", &number) || number > 7)
		return refuse(p, "shape wants the number of a dimension");
	if (info && (int)number >= info->rank)
		return refuse(p, "%s has no dimension %u: it has %d", what,
			      number, info->rank);
	next(p);
	snprintf(a->value, sizeof(a->value), "%s.shape[%u]", expression,
		 number);
	return want(p, "]", "behind the dimension");
}

static bool scalar(struct parser *p, const struct type *type, unsigned number,
		   struct parameter *a)
{
	if (p->bundle && number >= p->bundle->scalar_count)
		return refuse(p, "there is no scalar%u: the problem has %zu",
			      number, p->bundle->scalar_count);
	if (a->stars || !type->scalar)
		return refuse(p, "%s takes scalar%u, so it must be a number",
			      a->name, number);
	snprintf(a->value, sizeof(a->value), "c->scalar[%u].%c", number,
		 type->scalar);
	next(p);
	return true;
}

static bool queue(struct parser *p, struct parameter *a)
{
	if (a->stars || strcmp(a->type, "cudaStream_t") != 0)
		return refuse(p, "%s takes queue, so it must be a "
			      "cudaStream_t", a->name);
	snprintf(a->value, sizeof(a->value), "c->queue");
	next(p);
	return true;
}

static bool number(struct parser *p, const struct type *type,
		   struct parameter *a)
{
	if (a->stars || !type->scalar)
		return refuse(p, "%s is no number, and %s is one", a->name,
			      p->word);
	snprintf(a->value, sizeof(a->value), "%s", p->word);
	next(p);
	return true;
}

static bool pointer_or_size(struct parser *p, const struct type *type,
			    struct parameter *a)
{
	char expression[EXPRESSION_BYTES], what[WORD_BYTES];
	const struct kf_tensor_info *info;

	if (!tensor(p, expression, what, &info))
		return false;
	if (is(p, "."))
		return (!a->stars && type->scalar) ?
			size_of(p, expression, what, info, a) :
			refuse(p, "%s takes a size, so it must be a number",
			       a->name);
	if (a->stars != 1)
		return refuse(p, "%s takes %s, so it must be a pointer",
			      a->name, what);
	if (a->is_const && strncmp(what, "out", 3) == 0)
		return refuse(p, "%s is const, and outputs are written",
			      a->name);
	snprintf(a->value, sizeof(a->value), "%s.data", expression);
	return check_dtype(p, a, type, what, info);
}

static bool value(struct parser *p, const struct type *type,
		  struct parameter *a)
{
	unsigned which = 0;

	if (numbered(p->word, "scalar", &which))
		return scalar(p, type, which, a);
	if (is(p, "queue"))
		return queue(p, a);
	if (isdigit((unsigned char)p->word[0]) || p->word[0] == '-' ||
	    p->word[0] == '.')
		return number(p, type, a);
	return pointer_or_size(p, type, a);
}

/* --- a declaration -------------------------------------------------------- */

/* What looked like a name is a part of the type. */
static void to_type(struct parameter *a)
{
	size_t len = strlen(a->type);

	if (a->name[0])
		snprintf(a->type + len, TYPE_BYTES - len, "%s%s",
			 len ? " " : "", a->name);
	a->name[0] = '\0';
}

/* Words and stars up to a sign; the last word is a name, the others a type. */
static bool typed_name(struct parser *p, struct parameter *a)
{
	static const char *const ignored[] = {
		"__restrict__", "__restrict", "restrict",
	};

	*a = (struct parameter) { .stars = 0 };
	for (; is_name(p->word[0]) || is(p, "*"); next(p)) {
		bool skip = false;

		for (size_t i = 0; i < KF_COUNT(ignored); i++)
			skip |= is(p, ignored[i]);
		if (is(p, "const"))
			a->is_const |= !a->stars;
		else if (!skip)
			to_type(a);
		if (is(p, "*"))
			a->stars++;
		else if (!skip && !is(p, "const"))
			snprintf(a->name, WORD_BYTES, "%s", p->word);
	}
	return (a->name[0] && a->type[0]) ||
		refuse(p, "a type and a name wanted before '%s'", p->word);
}

static const struct type *type_named(const char *name)
{
	for (size_t i = 0; i < KF_COUNT(types); i++)
		if (strcmp(types[i].name, name) == 0)
			return &types[i];
	return NULL;
}

static void add_parameter(const struct parameter *a, bool first,
			  struct kf_buf *declaration, struct kf_buf *arguments)
{
	char type[TYPE_BYTES + 16];

	snprintf(type, sizeof(type), "%s%s%s", a->is_const && a->stars ?
		 "const " : "", a->type, a->stars ? " *" : "");
	kf_buf_printf(declaration, "%s%s", first ? "" : ", ", type);
	kf_buf_printf(arguments, "%s(%s)(%s)", first ? "" : ", ", type,
		      a->value);
}

static bool parameters(struct parser *p, struct kf_buf *declaration,
		       struct kf_buf *arguments)
{
	for (unsigned i = 0; i < PARAMETERS_MAX && !is(p, ")"); i++) {
		const struct type *type;
		struct parameter a;

		if (i && !want(p, ",", "between parameters"))
			return false;
		if (!typed_name(p, &a))
			return false;
		type = type_named(a.type);
		if (!type || a.stars > 1)
			return refuse(p, "%s is of the type %s%s, which is "
				      "none of those in docs/forms.md", a.name,
				      a.type, a.stars > 1 ? " **" : "");
		if (!want(p, "=", "behind a parameter's name: its value") ||
		    !value(p, type, &a))
			return false;
		add_parameter(&a, i == 0, declaration, arguments);
	}
	return want(p, ")", "behind the parameters");
}

static bool function(struct parser *p, struct kf_buf *out)
{
	struct kf_buf declaration = { .max = KF_ENTRY_BYTES };
	struct kf_buf arguments = { .max = KF_ENTRY_BYTES };
	struct parameter f;
	bool tells, good = typed_name(p, &f);

	tells = strcmp(f.type, "int") == 0 ||
		strcmp(f.type, "cudaError_t") == 0;
	if (good && (f.stars || (!tells && strcmp(f.type, "void") != 0)))
		good = refuse(p, "%s returns void, int or cudaError_t, not "
			      "%s", f.name, f.type);
	good = good && want(p, "(", "behind the function's name") &&
		parameters(p, &declaration, &arguments);
	if (good)
		kf_buf_printf(out, "%s%s %s(%s);\n"
			"int kf_forward(struct kf_call *c)\n{\n\t(void)c;\n"
			"\t%s%s(%s)%s;\n"
			"\treturn cudaGetLastError ? cudaGetLastError() : 0;\n"
			"}\n}\n", head, f.type, f.name,
			kf_buf_str(&declaration), tells ?
			"if (int failed = " : "", f.name,
			kf_buf_str(&arguments), tells ?
			")\n\t\treturn failed" : "");
	kf_buf_release(&declaration);
	kf_buf_release(&arguments);
	return good;
}

/* Where a line of the preprocessor ends that begins here, with those that
 * continue it. */
static const char *directive_end(const char *at)
{
	while (*at && *at != '\n') {
		if (at[0] == '\\' && at[1] == '\r' && at[2] == '\n')
			at++;
		at += at[0] == '\\' && at[1] ? 2 : 1;
	}
	return at;
}

/* Begins to read the declaration, if this comment holds one. */
static bool begins(struct parser *p, const char *begin, const char *end)
{
	p->source_at = begin;
	free(p->text);
	p->text = comment_text(begin, end);
	p->at = p->text;
	while ((p->at = strstr(p->at, "kforge:")) != NULL) {
		const char *word = p->at + strlen("kforge:");

		p->at = word;
		next(p);
		if (is(p, "entry"))
			return true;
		p->at = word;
	}
	return false;
}

/* Among the comments before the first code: a licence and what is included may
 * come before it. */
static bool find(struct parser *p)
{
	const char *at = skip_blank(p->source), *end;

	while (*at) {
		end = comment_end(at);
		if (end && begins(p, at, end))
			return true;
		if (!end && *at != '#')
			return false;
		if (!end)
			end = directive_end(at);
		else if (strncmp(end, "*/", 2) == 0)
			end += 2;
		at = skip_blank(end);
	}
	return false;
}

/* Where there is a kf_forward a comment further on is one like others. */
static void refuse_late(struct parser *p)
{
	const char *late = strstr(p->source, "kforge: entry");

	if (!late || strstr(p->source, "kf_forward"))
		return;
	free(p->text);
	p->text = kf_strdup(late);
	p->at = p->text;
	p->source_at = late;
	refuse(p, "this comment must stand before the first code of the file "
	       "(comments and lines of the preprocessor may come before it)");
}

void kf_entry_make(const char *source, const struct kf_bundle *bundle,
		   struct kf_buf *out, char refused[256], unsigned *line)
{
	struct parser p = {
		.bundle = bundle, .refused = refused, .line = line,
		.source = source, .source_at = source,
	};

	refused[0] = '\0';
	*line = 1;
	if (find(&p)) {
		next(&p);
		(void)function(&p, out);
	} else {
		refuse_late(&p);
	}
	free(p.text);
}
