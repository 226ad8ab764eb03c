#include "sandbox/sandbox.h"

#include <gnu/libc-version.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/elf.h"

#define LIST_BYTES (64u << 10)
#define LIST_NS (10 * KF_NS_PER_S)

/* A compiler and its helpers, and no more of the system than they read:
 *   /usr/bin, /usr/lib, /usr/libexec  compiler, assembler, linker, libraries
 *   /usr/include, /usr/local/include  headers
 *   /bin, /lib, /lib64, ...           the same under old names; on a system
 *                                     without merged /usr they are folders
 *   /etc/alternatives                 where Debian's cc and c++ point to
 *   /etc/ld.so.cache                  where libraries outside the default
 *                                     folders are
 * Nothing else of /etc, and no /home, /root, /var, /opt: what a compiler can
 * read, a source can bring into its messages. */
static const char *const toolchain[] = {
	"/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec",
	"/usr/include", "/usr/local/include", "/bin", "/lib", "/lib32",
	"/lib64", "/etc/alternatives", "/etc/ld.so.cache",
};

/* What a C program built for speed is linked with; libmvec holds the vector
 * versions of exp, sin and the like. Each file is a mount, which takes its
 * time, so nothing is here for completeness. */
static const char *const runtime[] = {
	"libc.so.6", "libm.so.6", "libmvec.so.1", "libgomp.so.1",
	"libgcc_s.so.1", "libatomic.so.1", "libomp.so.5", "libomp.so",
};

/* Parts of libc before glibc 2.34. What was built with such a libc still names
 * them on a newer system. */
static const char *const runtime_old[] = {
	"libdl.so.2", "libpthread.so.0", "librt.so.1",
};

bool kf_binds_cover(const struct kf_binds *binds, const char *path)
{
	for (size_t i = 0; i < binds->count; i++) {
		const struct kf_bind *b = &binds->bind[i];
		size_t len = strlen(b->target);

		if (strcmp(b->source, b->target) == 0 &&
		    strncmp(path, b->target, len) == 0 &&
		    (path[len] == '/' || path[len] == '\0'))
			return true;
	}
	return false;
}

void kf_binds_add(struct kf_binds *binds, const char *source,
		  const char *target, bool writable, bool optional)
{
	binds->bind = kf_realloc(binds->bind, (binds->count + 1) *
				 sizeof(binds->bind[0]));
	binds->bind[binds->count++] = (struct kf_bind) {
		.source = kf_strdup(source),
		.target = kf_strdup(target ? target : source),
		.writable = writable,
		.optional = optional,
	};
}

void kf_binds_all(struct kf_binds *binds, const struct kf_binds *others)
{
	for (size_t i = 0; i < others->count; i++) {
		const struct kf_bind *b = &others->bind[i];

		kf_binds_add(binds, b->source, b->target, b->writable,
			     b->optional);
		binds->bind[binds->count - 1].device = b->device;
	}
}

void kf_binds_path(void *arg, const char *path, bool writable)
{
	struct kf_binds *binds = arg;
	struct stat st;

	if (stat(path, &st))
		return;
	if (S_ISCHR(st.st_mode) ||
	    (S_ISDIR(st.st_mode) && strncmp(path, "/dev/", 5) == 0))
		kf_binds_device(binds, path);
	else if (writable || !kf_binds_cover(binds, path))
		kf_binds_add(binds, path, NULL, writable, true);
}

void kf_binds_device(struct kf_binds *binds, const char *path)
{
	kf_binds_add(binds, path, NULL, true, true);
	binds->bind[binds->count - 1].device = true;
}

void kf_binds_release(struct kf_binds *binds)
{
	for (size_t i = 0; i < binds->count; i++) {
		free((char *)(uintptr_t)binds->bind[i].source);
		free((char *)(uintptr_t)binds->bind[i].target);
	}
	free(binds->bind);
	*binds = (struct kf_binds) { 0 };
}

void kf_binds_toolchain(struct kf_binds *binds)
{
	for (size_t i = 0; i < KF_COUNT(toolchain); i++)
		kf_binds_add(binds, toolchain[i], NULL, false, true);
}

static void add_file(struct kf_binds *binds, const char *path)
{
	if (!kf_binds_cover(binds, path))
		kf_binds_add(binds, path, NULL, false, false);
}

/* The folder from which this process has its libc, with the slash. */
static int note_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	char **folder = arg;
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	if (!slash || strncmp(slash + 1, "libc.so", 7) != 0)
		return 0;
	*folder = kf_strndup(info->dlpi_name,
			     (size_t)(slash + 1 - info->dlpi_name));
	return 1;
}

static void add_library(struct kf_binds *binds, const char *first,
			const char *name)
{
	/* The loader's own search without its cache. */
	const char *const folders[] = {
		first, "/lib/x86_64-linux-gnu/", "/usr/lib/x86_64-linux-gnu/",
		"/lib/aarch64-linux-gnu/", "/usr/lib/aarch64-linux-gnu/",
		"/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/",
	};

	for (size_t i = 0; i < KF_COUNT(folders); i++) {
		char *path = kf_format("%s%s", folders[i], name);
		bool there = access(path, R_OK) == 0;

		if (there)
			add_file(binds, path);
		free(path);
		if (there)
			return;
	}
}

static int note_old_part(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	for (size_t i = 0; slash && i < KF_COUNT(runtime_old); i++)
		if (strcmp(slash + 1, runtime_old[i]) == 0)
			*(bool *)arg = true;
	return 0;
}

/* The runner was built as this program was, so what this one has loaded is
 * what that one names. */
static bool needs_old_parts(void)
{
	unsigned major = 0, minor = 0;
	bool loaded = false;

	dl_iterate_phdr(note_old_part, &loaded);
	return loaded ||
		sscanf(gnu_get_libc_version(), "%u.%u", &major, &minor) != 2 ||
		(major == 2 && minor < 34);
}

enum kf_code kf_binds_runtime(struct kf_binds *binds, struct kf_err *err)
{
	char *loader = kf_elf_loader("/proc/self/exe");
	char *folder = NULL;

	if (!loader)
		return kf_fail(err, KF_E_UNAVAIL, "cannot find the loader of "
			       "this system's programs");
	dl_iterate_phdr(note_libc, &folder);
	add_file(binds, loader);
	for (size_t i = 0; i < KF_COUNT(runtime); i++)
		add_library(binds, folder ? folder : "/lib/", runtime[i]);
	for (size_t i = 0; needs_old_parts() && i < KF_COUNT(runtime_old); i++)
		add_library(binds, folder ? folder : "/lib/", runtime_old[i]);
	free(folder);
	free(loader);
	return KF_OK;
}

/* Lines of the loader's list: "\tlibm.so.6 => /lib/.../libm.so.6 (0x7f..)" */
static enum kf_code add_listed(struct kf_binds *binds, const char *path,
			       const char *line, struct kf_err *err)
{
	for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t len = strcspn(line, "\n");
		const char *arrow = memmem(line, len, "=> ", 3);
		char *file;

		if (!arrow)
			continue;
		arrow += 3;
		if (*arrow != '/')
			return kf_fail(err, KF_E_UNAVAIL, "%s needs a library "
				       "that is not installed (%.*s)", path,
				       (int)strspn(line, "\t ") + 64, line);
		file = kf_strndup(arrow, strcspn(arrow, " \n"));
		add_file(binds, file);
		free(file);
	}
	return KF_OK;
}

enum kf_code kf_binds_program(struct kf_binds *binds, const char *path,
			      struct kf_err *err)
{
	char *loader = kf_elf_loader(path);
	const char *argv[] = { loader, "--list", path, NULL };
	struct kf_proc_spec spec = { .argv = argv, .timeout_ns = LIST_NS };
	struct kf_buf list = { .max = LIST_BYTES };
	struct kf_proc_end end;
	enum kf_code code;

	add_file(binds, path);
	if (!loader)	/* static, or a script */
		return KF_OK;
	add_file(binds, loader);
	code = kf_proc_run(&spec, &list, NULL, &end, err);
	if (!code && (end.exit_code || end.signal || end.timed_out))
		code = kf_fail(err, KF_E_UNAVAIL,
			       "cannot list the libraries of %s", path);
	if (!code)
		code = add_listed(binds, path, kf_buf_str(&list), err);
	kf_buf_release(&list);
	free(loader);
	return code;
}
