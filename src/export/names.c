/* Names that fit C, C++ and Python. What generated files call by themselves
 * they keep apart from these: tensors are members of structs there, or have a
 * prefix. What is left are words that no name may be. */
#include "export/internal.h"

#include <ctype.h>

#define NAME_BYTES	128

/* Keywords of C, C++ and Python; what headers define in small letters, or name
 * types that the generated header has; context, its own argument. */
static const char *const words[] = {
	"alignas", "alignof", "and", "and_eq", "as", "asm", "assert", "async",
	"auto", "await", "bitand", "bitor", "bool", "break", "case", "catch",
	"char", "char16_t", "char32_t", "char8_t", "class", "co_await",
	"co_return", "co_yield", "compl", "complex", "concept", "const",
	"const_cast", "consteval", "constexpr", "constinit", "context",
	"continue", "decltype", "def", "default", "del", "delete", "do",
	"double", "dynamic_cast", "elif", "else", "enum", "errno", "except",
	"explicit", "export", "extern", "false", "finally", "float", "for",
	"friend", "from", "global", "goto", "i386", "if", "imaginary",
	"import", "in", "inline", "int", "int16_t", "int32_t", "int64_t",
	"int8_t", "is", "lambda", "linux", "long", "mutable", "namespace",
	"new", "noexcept", "none", "nonlocal", "noreturn", "not", "not_eq",
	"nullptr", "operator", "or", "or_eq", "pass", "private", "protected",
	"public", "raise", "register", "reinterpret_cast", "requires",
	"restrict", "return", "self", "short", "signed", "size_t", "sizeof",
	"static", "static_assert", "static_cast", "stderr", "stdin", "stdout",
	"struct", "switch", "template", "this", "thread_local", "throw",
	"true", "try", "typedef", "typeid", "typename", "typeof",
	"typeof_unqual", "uint16_t", "uint8_t", "union", "unix", "unsigned",
	"using", "virtual", "void", "volatile", "wchar_t", "while", "with",
	"xor", "xor_eq", "yield",
};

/* A program's name is also that of a header, a library, an operator, and the
 * beginning of its functions. */
static const char *const headers[] = {
	"aio", "aliases", "alloca", "ar", "argp", "argz", "assert", "byteswap",
	"complex", "cpio", "cpuid", "crypt", "ctype", "dirent", "dlfcn", "elf",
	"endian", "envz", "err", "errno", "error", "execinfo", "fcntl",
	"features", "fenv", "float", "fmtmsg", "fnmatch", "fts", "ftw",
	"gconv", "getopt", "glob", "grp", "gshadow", "iconv", "ifaddrs",
	"inttypes", "iso646", "langinfo", "libgen", "libintl", "limits",
	"link", "locale", "malloc", "math", "mcheck", "memory", "mntent",
	"monetary", "mqueue", "netdb", "nl_types", "obstack", "omp", "paths",
	"poll", "printf", "proc_service", "pthread", "pty", "pwd", "quadmath",
	"regex", "regexp", "resolv", "sched", "search", "semaphore", "setjmp",
	"shadow", "signal", "spawn", "stab", "stdalign", "stdarg",
	"stdatomic", "stdbool", "stdc_predef", "stddef", "stdfix", "stdint",
	"stdio", "stdlib", "stdnoreturn", "string", "strings", "stropts",
	"syscall", "sysexits", "syslog", "tar", "termio", "termios", "tgmath",
	"thread_db", "threads", "time", "ttyent", "uchar", "ucontext",
	"ulimit", "unistd", "unwind", "utime", "utmp", "utmpx", "values",
	"varargs", "wait", "wchar", "wctype", "wordexp", "zconf", "zlib",
};
static const char *const libraries[] = {
	"anl", "c", "dl", "gcc", "gcc_s", "gomp", "iomp5", "m", "mvec", "nsl",
	"rt", "util",
};
/* That word and "_create", "_free" and the like are functions of the system;
 * an operator called name cannot be reached; files that are there. */
static const char *const others[] = {
	"clnt", "epoll", "example", "memfd", "name", "program", "pthread_key",
	"safetensors", "thrd", "timer", "timerfd", "tss", "xdr",
};

static bool in_list(const char *word, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i], word) == 0)
			return true;
	return false;
}

#define IN(word, list)	in_list(word, list, KF_COUNT(list))

static bool is_taken_by_the_system(const char *word)
{
	size_t len = strlen(word), end = strlen("intrin");

	return IN(word, words) || IN(word, headers) || IN(word, libraries) ||
	       IN(word, others) ||
	       (len >= end && strcmp(word + len - end, "intrin") == 0);
}

/* Small letters, digits, single underscores between them; "" if none of it
 * can be used. */
static void add_word(struct kf_buf *out, const char *name)
{
	size_t begin = out->len;

	for (const char *c = name; *c; c++) {
		char lower = (char)tolower((unsigned char)*c);
		bool word = (unsigned char)*c < 0x80 &&
			    isalnum((unsigned char)*c);

		if (word)
			kf_buf_add(out, &lower, 1);
		else if (out->len > begin && out->data[out->len - 1] != '_')
			kf_buf_puts(out, "_");
	}
	while (out->len > begin && out->data[out->len - 1] == '_')
		out->data[--out->len] = '\0';
}

static bool wants_prefix(const char *word)
{
	return isdigit((unsigned char)word[0]) || strncmp(word, "kf", 2) == 0;
}

/* Also where the text of a number would begin it, and beside our own kf_. */
static char *ident_of(const char *name, const char *none)
{
	struct kf_buf word = { .max = NAME_BYTES };
	const char *text;
	char *ident;

	add_word(&word, name);
	text = word.len ? kf_buf_str(&word) : none;
	ident = kf_format("%s%s", wants_prefix(text) ? "op_" : "", text);
	kf_buf_release(&word);
	return ident;
}

char *kf_export_tensor_ident(const char *name, json_t *taken)
{
	char *plain = ident_of(name, "tensor");
	char *stem = kf_format("%s%s", plain, IN(plain, words) ? "_" : "");
	char *ident = kf_strdup(stem);

	for (int n = 2; json_object_get(taken, ident); n++) {
		free(ident);
		ident = kf_format("%s_%d", stem, n);
	}
	json_object_set_new(taken, ident, json_true());
	free(stem);
	free(plain);
	return ident;
}

char *kf_export_program_ident(const char *name)
{
	char *plain = ident_of(name, "program");
	char *ident = kf_format("%s%s", is_taken_by_the_system(plain) ? "op_"
							     : "", plain);

	free(plain);
	return ident;
}
