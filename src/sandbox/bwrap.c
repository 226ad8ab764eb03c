#include "sandbox/bwrap.h"

#include <unistd.h>

/* What of /dev each profile sees. The compiler gets nothing that never ends:
 * #include "/dev/urandom" is an old trick. None has /dev/shm, a terminal, or
 * anything that can be written and kept; a tool's /dev/shm ends with it. */
static const char *const devices[][4] = {
	[KF_SANDBOX_BUILDER] = { "/dev/null" },
	[KF_SANDBOX_HOST] = { "/dev/null" },
	[KF_SANDBOX_REFERENCE] = { "/dev/null", "/dev/zero", "/dev/urandom" },
	[KF_SANDBOX_DEVICE] = { "/dev/null", "/dev/zero", "/dev/urandom" },
	[KF_SANDBOX_PYTHON] = { "/dev/null", "/dev/zero", "/dev/urandom" },
	[KF_SANDBOX_TOOL] = { "/dev/null", "/dev/zero", "/dev/urandom" },
};

/* Python, torch and vendors' libraries look for processors and memory in
 * /proc; compilers, libgomp and the loader work without. bwrap makes its
 * dangerous parts read-only. */
static const bool has_proc[] = {
	[KF_SANDBOX_BUILDER] = false,
	[KF_SANDBOX_HOST] = false,
	[KF_SANDBOX_REFERENCE] = true,
	[KF_SANDBOX_DEVICE] = true,
	[KF_SANDBOX_PYTHON] = true,
	[KF_SANDBOX_TOOL] = true,
};

const char *const *kf_profile_devices(enum kf_sandbox_profile profile)
{
	return devices[profile];
}

bool kf_bind_is_proc(const struct kf_bind *bind)
{
	return strcmp(bind->source, "/proc") == 0;
}

bool kf_sandbox_has_proc(const struct kf_sandbox_spec *spec)
{
	bool has = has_proc[spec->profile];

	for (size_t i = 0; i < spec->bind_count; i++)
		has |= kf_bind_is_proc(&spec->bind[i]);
	return has;
}

void kf_words_add(struct kf_words *words, const char *text)
{
	words->word = kf_realloc(words->word, (words->count + 2) *
				 sizeof(words->word[0]));
	words->word[words->count++] = kf_strdup(text);
	words->word[words->count] = NULL;
}

void kf_words_release(struct kf_words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->word[i]);
	free(words->word);
	*words = (struct kf_words) { 0 };
}

static void add_all(struct kf_words *words, const char *const *texts)
{
	for (; *texts; texts++)
		kf_words_add(words, *texts);
}

static void add_number(struct kf_words *words, const char *option,
		       uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", (unsigned long)value);
	kf_words_add(words, option);
	kf_words_add(words, text);
}

/* The one that came with kforge: beside it, or where its runner is. */
static char *beside_executable(void)
{
	static const char *const place[] = {
		"bwrap", "../libexec/kforge/bwrap",
	};
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *slash;

	if (len <= 0)
		return NULL;
	self[len] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < KF_COUNT(place); i++) {
		char *path = kf_format("%.*s/%s", (int)(slash - self), self,
				       place[i]);

		if (access(path, X_OK) == 0) {
			char *plain = realpath(path, NULL);

			free(path);
			return plain;
		}
		free(path);
	}
	return NULL;
}

char *kf_bwrap_find(void)
{
	const char *named = getenv("KFORGE_BWRAP");
	char *path;

	if (named && *named)
		return access(named, X_OK) == 0 ? kf_strdup(named) : NULL;
	path = beside_executable();
	return path ? path : kf_proc_which("bwrap");
}

static void add_binds(struct kf_words *words,
		      const struct kf_sandbox_spec *spec)
{
	static const char *const options[3][2] = {
		{ "--ro-bind", "--ro-bind-try" },
		{ "--bind", "--bind-try" },
		{ "--dev-bind", "--dev-bind-try" },
	};

	for (size_t i = 0; i < spec->bind_count; i++) {
		const struct kf_bind *b = &spec->bind[i];

		if (kf_bind_is_proc(b))
			continue;
		kf_words_add(words, options[b->device ? 2 : b->writable]
				   [b->optional]);
		kf_words_add(words, b->source);
		kf_words_add(words, b->target ? b->target : b->source);
	}
}

static void add_environment(struct kf_words *words, const char *const *env)
{
	for (; env && *env; env++) {
		const char *equals = strchr(*env, '=');
		char *name = kf_strndup(*env, (size_t)(equals - *env));

		kf_words_add(words, "--setenv");
		kf_words_add(words, name);
		kf_words_add(words, equals + 1);
		free(name);
	}
}

void kf_bwrap_command(const struct kf_sandbox_spec *spec, const char *bwrap,
		      const struct kf_bwrap_fds *fds, struct kf_words *words)
{
	const char *const head[] = {
		bwrap, "--unshare-all", "--unshare-user", "--die-with-parent",
		"--new-session", "--clearenv", "--cap-drop", "ALL",
		"--uid", "65534", "--gid", "65534", "--hostname", "kforge",
		NULL
	};
	const char *const *device = kf_profile_devices(spec->profile);

	add_all(words, head);
	if (spec->first)
		kf_words_add(words, "--as-pid-1");
	add_environment(words, spec->env);
	add_number(words, "--size", spec->limits.file_bytes);
	kf_words_add(words, "--tmpfs");
	kf_words_add(words, "/tmp");
	/* Not --dev: its /dev can be written and has half the machine's
	 * memory to write to. */
	kf_words_add(words, "--dir");
	kf_words_add(words, "/dev");
	for (; *device; device++) {
		kf_words_add(words, "--dev-bind-try");
		kf_words_add(words, *device);
		kf_words_add(words, *device);
	}
	if (spec->profile == KF_SANDBOX_TOOL) {
		add_number(words, "--size", spec->limits.file_bytes);
		kf_words_add(words, "--tmpfs");
		kf_words_add(words, "/dev/shm");
	}
	if (kf_sandbox_has_proc(spec)) {
		kf_words_add(words, "--proc");
		kf_words_add(words, "/proc");
	}
	add_binds(words, spec);
	kf_words_add(words, "--remount-ro");
	kf_words_add(words, "/");
	kf_words_add(words, "--chdir");
	kf_words_add(words, spec->cwd ? spec->cwd : "/");
	add_number(words, "--json-status-fd", (uint64_t)fds->status);
	add_number(words, "--seccomp", (uint64_t)fds->filter);
	kf_words_add(words, "--");
	add_all(words, spec->argv);
}
