#include "evaluate/build.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evaluate/entry.h"
#include "evaluate/place.h"
#include "runner/protocol.h"

/* Folders as the builder sees them: the same for every candidate, and nothing
 * that tells of this machine in a message that goes to a model. */
#define SOURCE_FOLDER	"/source"
#define OUTPUT_FOLDER	"/output"
#define INCLUDE_FOLDER	"/include"
#define RUNNER		"/kforge-runner"
#define OUTPUT_NAME	"program.so"
#define OUTPUT_PATH	OUTPUT_FOLDER "/" OUTPUT_NAME
#define ENTRY_NAME	"kforge_entry.cpp"
#define ENTRY_WORD	"{entry}"

#define GRACE_NS	(5 * KF_NS_PER_S)	/* the runner's own time */
#define OUTPUT_MAX	(64u << 10)
#define VERSION_BYTES	256u
#define VERSION_NS	(10 * KF_NS_PER_S)

char *kf_artefact_path(const char *work_dir, const char *hash)
{
	return kf_format("%s/%s.so", work_dir, hash);
}

void kf_artefact_release(struct kf_artefact *artefact)
{
	free(artefact->path);
	free(artefact->compiler);
	*artefact = (struct kf_artefact) { 0 };
}

/* --- the command -------------------------------------------------------- */

struct words {
	const char **word;		/* NULL-terminated; borrowed or owned */
	size_t count;
	char **owned;			/* those that are freed with the list */
	size_t owned_count;
};

static void add(struct words *w, const char *word)
{
	w->word = kf_realloc(w->word, (w->count + 2) * sizeof(w->word[0]));
	w->word[w->count++] = word;
	w->word[w->count] = NULL;
}

static void add_owned(struct words *w, char *word)
{
	w->owned = kf_realloc(w->owned, (w->owned_count + 1) *
			      sizeof(w->owned[0]));
	w->owned[w->owned_count++] = word;
	add(w, word);
}

static void add_copy(void *w, const char *word)
{
	add_owned(w, kf_strdup(word));
}

static void words_release(struct words *w)
{
	for (size_t i = 0; i < w->owned_count; i++)
		free(w->owned[i]);
	free(w->owned);
	free(w->word);
	*w = (struct words) { 0 };
}

/* A link outside /usr to a compiler in it gives that compiler: the sandbox has
 * /usr, and a compiler looks for its parts from where it lies itself. A link to
 * a wrapper of another name stays: wrappers go by the name they are called. */
static char *follow_link_take(char *found, const char *name)
{
	char *real = realpath(found, NULL);
	const char *slash = real ? strrchr(real, '/') : NULL;

	if (!slash || strncmp(found, "/usr/", 5) == 0 ||
	    strncmp(real, "/usr/", 5) != 0 || !strstr(slash, name)) {
		free(real);
		return found;
	}
	free(found);
	return real;
}

/* The first of the platform's compilers that is on PATH. */
static char *find_compiler(const struct kf_platform *p, struct kf_err *err)
{
	struct kf_buf names = { .max = 256 };
	char *found = NULL;

	for (size_t i = 0; i < p->compiler_count && !found; i++) {
		found = kf_proc_which(p->compiler[i]);
		if (!found && p->driver->compiler_path)
			found = p->driver->compiler_path(p->compiler[i]);
		if (found)
			found = follow_link_take(found, p->compiler[i]);
		kf_buf_printf(&names, "%s%s", i ? " or " : "", p->compiler[i]);
	}
	if (!found)
		kf_fail(err, KF_E_UNAVAIL, "no compiler for platform %s on "
			"PATH: install %s", p->name, kf_buf_str(&names));
	kf_buf_release(&names);
	return found;
}

/* "gcc (Debian 12.2.0-14) 12.2.0", or NULL: of interest to the record, and not
 * worth a failure. */
static char *compiler_version(const char *compiler)
{
	const char *const argv[] = { compiler, "--version", NULL };
	struct kf_proc_spec spec = { .argv = argv, .timeout_ns = VERSION_NS };
	struct kf_buf out = { .max = VERSION_BYTES };
	struct kf_buf clean = { .max = VERSION_BYTES };
	struct kf_proc_end end;
	char *version = NULL;

	if (kf_proc_run(&spec, &out, NULL, &end, NULL) == KF_OK &&
	    !end.exit_code && !end.signal && out.len) {
		kf_utf8_clean(out.data, strcspn(out.data, "\n"), &clean);
		version = kf_strdup(kf_buf_str(&clean));
	}
	kf_buf_release(&clean);
	kf_buf_release(&out);
	return version;
}

enum kf_code kf_build_compiler(const struct kf_platform *platform,
			       char **version, struct kf_err *err)
{
	char *compiler = find_compiler(platform, err);

	*version = compiler ? compiler_version(compiler) : NULL;
	free(compiler);
	return compiler ? KF_OK : KF_E_UNAVAIL;
}

/* One word of the platform's command with its {names} replaced. */
static char *replace(const char *word, const struct kf_build_job *job,
		     const char *compiler, const char *output)
{
	const struct kf_python_side *python = job->python;
	const struct { const char *name, *value; } rows[] = {
		{ "{compiler}", compiler ? compiler : "" },
		{ "{output}", output },
		{ "{include}", INCLUDE_FOLDER },
		{ "{arch}", job->arch },
		{ "{arch_number}", job->arch ? job->arch +
		  strcspn(job->arch, "0123456789") : NULL },
		{ "{python}", python ? python->python.program : NULL },
		{ "{python_home}", python ? python->place.code_folder : NULL },
		{ "{problem}", python ? python->problem_path : NULL },
	};
	struct kf_buf text = { .max = 64u << 10 };
	char *done;

	while (*word) {
		size_t i = 0;

		while (i < KF_COUNT(rows) &&
		       strncmp(word, rows[i].name, strlen(rows[i].name)) != 0)
			i++;
		if (i < KF_COUNT(rows)) {
			kf_buf_puts(&text, rows[i].value ? rows[i].value : "");
			word += strlen(rows[i].name);
		} else {
			kf_buf_add(&text, word++, 1);
		}
	}
	done = kf_strdup(kf_buf_str(&text));
	kf_buf_release(&text);
	return done;
}

static void add_command(struct words *w, const struct kf_build_job *job,
			const char *compiler, const struct words *sources,
			bool has_entry)
{
	const struct kf_platform *p = job->platform;
	bool two_part = p->driver->two_part;
	const char *output = two_part ? OUTPUT_PATH KF_BUILD_HOST_SUFFIX :
		OUTPUT_PATH;

	for (size_t i = 0; p->command[i]; i++) {
		if (strcmp(p->command[i], "{libraries}") == 0) {
			if (p->driver->link_words)
				p->driver->link_words(add_copy, w);
			continue;
		}
		if (strcmp(p->command[i], ENTRY_WORD) == 0) {
			if (has_entry)
				add(w, OUTPUT_FOLDER "/" ENTRY_NAME);
			continue;
		}
		if (strcmp(p->command[i], "{source}") != 0) {
			add_owned(w, replace(p->command[i], job, compiler,
					     output));
			continue;
		}
		/* Of two parts the command is for host.c, the last, alone. */
		for (size_t k = two_part ? sources->count - 1 : 0;
		     k < sources->count; k++)
			add(w, sources->word[k]);
	}
}

/* The candidate's files that are there, by their plain names. */
static enum kf_code list_sources(const struct kf_build_job *job,
				 struct words *sources, struct kf_err *err)
{
	const struct kf_platform *p = job->platform;

	for (size_t i = 0; i < p->file_count; i++) {
		char *path = kf_path_join(job->source_dir, p->file[i].name);
		struct stat st;
		bool good = lstat(path, &st) == 0 && S_ISREG(st.st_mode);

		free(path);
		if (good)
			add(sources, p->file[i].name);
		else if (p->file[i].required)
			return kf_fail(err, KF_E_INPUT, "%s holds no %s",
				       job->source_dir, p->file[i].name);
	}
	if (!sources->count)
		return kf_fail(err, KF_E_INPUT, "%s holds no source file",
			       job->source_dir);
	return KF_OK;
}

/* --- an entry of the program's own ---------------------------------------- */

/* The file that calls it, if the program declares one. A declaration that is
 * wrong is refused as a compiler does it. */
static enum kf_code write_entry(const struct kf_build_job *job,
				const char *output, struct kf_build *build,
				bool *has_entry, struct kf_err *err)
{
	const char *name = job->platform->file[0].name;
	char *source = kf_path_join(job->source_dir, name);
	char *path = kf_path_join(output, ENTRY_NAME);
	struct kf_buf text = { .max = SIZE_MAX };
	struct kf_buf made = { .max = KF_ENTRY_BYTES };
	enum kf_code code = kf_file_read(source, &text, err);
	char refused[256] = "";
	unsigned line;

	if (!code)
		kf_entry_make(kf_buf_str(&text), job->bundle, &made, refused,
			      &line);
	*has_entry = made.len > 0;
	if (!code && *has_entry)
		code = kf_file_write_scratch(path, made.data, made.len, err);
	if (refused[0]) {
		build->end = KF_BUILD_REFUSED;
		kf_buf_printf(&build->log, "%s:%u: error: kforge: entry: %s\n",
			      name, line, refused);
	}
	kf_buf_release(&made);
	kf_buf_release(&text);
	free(path);
	free(source);
	return code;
}

static bool takes_entry(const struct kf_platform *p)
{
	for (size_t i = 0; p->command[i]; i++)
		if (strcmp(p->command[i], ENTRY_WORD) == 0)
			return true;
	return false;
}

/* --- the sandbox -------------------------------------------------------- */

static bool holds(const char *folder, const char *name)
{
	char *path = kf_path_join(folder, name);
	bool there = kf_path_is_dir(path);

	free(path);
	return there;
}

/* PREFIX of PREFIX/bin/gcc; NULL: there is none. Caller frees. */
static char *prefix_of(const char *compiler)
{
	char *prefix = kf_strdup(compiler), *slash = NULL;

	for (int up = 0; prefix && up < 2; up++) {
		slash = strrchr(prefix, '/');
		if (slash)
			*slash = '\0';
	}
	if (slash && slash != prefix)
		return prefix;
	free(prefix);
	return NULL;
}

/* A compiler that the toolchain's folders do not hold: the file itself, and the
 * whole of PREFIX where PREFIX/bin/gcc has its libraries there too, also by the
 * name of a link to it, such as /usr/local/cuda. No other folder: a script in
 * ~/bin must not bring somebody's home into the sandbox. */
static void bind_compiler(struct kf_binds *binds, const char *compiler)
{
	char *real = realpath(compiler, NULL);
	char *prefix = prefix_of(real), *named = prefix_of(compiler);
	char *behind = named ? realpath(named, NULL) : NULL;
	bool whole = prefix && (holds(prefix, "lib/gcc") ||
				holds(prefix, "lib/clang") ||
				holds(prefix, "nvvm"));

	if (whole)
		kf_binds_add(binds, prefix, NULL, false, true);
	if (whole && behind && strcmp(named, prefix) != 0 &&
	    strcmp(behind, prefix) == 0)
		kf_binds_add(binds, prefix, named, false, true);
	else
		kf_binds_add(binds, compiler, NULL, false, true);
	free(behind);
	free(named);
	free(prefix);
	free(real);
}

static void add_toolchain(struct kf_binds *binds, const char *compiler)
{
	kf_binds_toolchain(binds);
	if (compiler && !kf_binds_cover(binds, compiler))
		bind_compiler(binds, compiler);
}

char *kf_build_toolchain(const struct kf_platform *platform,
			 struct kf_binds *binds, struct kf_err *err)
{
	char *compiler = find_compiler(platform, err);

	if (compiler)
		add_toolchain(binds, compiler);
	return compiler;
}

static bool is_python(const struct kf_build_job *job)
{
	return job->platform->driver->python;
}

static enum kf_code add_binds(struct kf_binds *binds,
			      const struct kf_build_job *job,
			      const char *runner, const char *compiler,
			      const char *output, struct kf_err *err)
{
	char *home = kf_home(err), *include;

	if (!home)
		return err ? err->code : KF_E_UNAVAIL;
	include = kf_path_join(home, "include");
	if (is_python(job))
		kf_binds_all(binds, &job->python->place.binds);
	else
		add_toolchain(binds, compiler);
	if (is_python(job))
		kf_binds_add(binds, job->python->problem_path, NULL, false,
			     false);
	kf_place_paths(job->platform->driver, KF_DRIVER_BUILDER, binds);
	kf_binds_add(binds, runner, RUNNER, false, false);
	kf_binds_add(binds, job->source_dir, SOURCE_FOLDER, false, false);
	kf_binds_add(binds, include, INCLUDE_FOLDER, false, false);
	kf_binds_add(binds, output, OUTPUT_FOLDER, true, false);
	free(include);
	free(home);
	return KF_OK;
}

static enum kf_code read_answer(int fd, uint64_t nonce, bool *told,
				struct kf_build *build, struct kf_err *err)
{
	struct kf_build_answer answer;
	char *log;
	ssize_t got;

	*told = pread(fd, &answer, sizeof(answer), 0) ==
			(ssize_t)sizeof(answer) &&
		answer.magic == KF_BUILD_MAGIC && answer.nonce == nonce &&
		answer.log_bytes <= KF_BUILD_LOG_BYTES &&
		answer.end <= KF_BUILD_TOO_LARGE;
	if (!*told)
		return KF_OK;
	if (answer.code) {
		answer.text[sizeof(answer.text) - 1] = '\0';
		return kf_fail(err, (enum kf_code)answer.code, "%s",
			       answer.text);
	}
	build->end = (enum kf_build_end)answer.end;
	build->took_ns = answer.took_ns;
	answer.kernels[sizeof(answer.kernels) - 1] = '\0';
	memcpy(build->kernels, answer.kernels, sizeof(build->kernels));
	log = kf_alloc(answer.log_bytes);
	got = pread(fd, log, answer.log_bytes, sizeof(answer));
	if (got > 0)
		kf_utf8_clean(log, (size_t)got, &build->log);
	free(log);
	return KF_OK;
}

/* The builder ended without an answer: what the sandbox says about it. */
static enum kf_code read_outcome(const struct kf_build_job *job,
				 const struct kf_outcome *o,
				 struct kf_build *build, struct kf_err *err)
{
	static const struct {
		enum kf_end from;
		enum kf_build_end to;
		const char *words;
	} rows[] = {
		{ KF_END_WALL, KF_BUILD_TOO_SLOW, "the compiler took too long" },
		{ KF_END_CPU, KF_BUILD_TOO_SLOW,
		  "the compiler used up its processor time" },
		{ KF_END_MEMORY, KF_BUILD_TOO_LARGE,
		  "the compiler used up its memory" },
		{ KF_END_FILES, KF_BUILD_TOO_LARGE,
		  "the compiler wrote more files than it may" },
	};

	build->took_ns = o->took_ns;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		if (rows[i].from != o->end)
			continue;
		build->end = rows[i].to;
		kf_buf_printf(&build->log, "%s\n", rows[i].words);
		return KF_OK;
	}
	if (o->end == KF_END_CANCELED)
		return kf_fail(err, KF_E_CANCELED, "stopped");
	/* A program in Python is loaded there, and may end what loads it. */
	if (is_python(job) && (o->end == KF_END_SIGNAL ||
			       o->end == KF_END_VIOLATION)) {
		build->end = KF_BUILD_REFUSED;
		kf_buf_printf(&build->log, "the program ended its builder: "
			      "%s\n", o->detail);
		return KF_OK;
	}
	return kf_fail(err, KF_E_UNAVAIL, "the builder ended without an "
		       "answer (%s): %.300s", o->detail[0] ? o->detail
		       : kf_end_name(o->end), kf_buf_str(&o->errout));
}

/* What need not wait for the compiler, while it works. */
static void use_the_wait(const struct kf_build_job *job, const char *compiler,
			 struct kf_artefact *artefact)
{
	if (job->meanwhile)
		job->meanwhile(job->meanwhile_arg);
	if (is_python(job))
		artefact->compiler = kf_format("torch %s",
					       job->python->python.torch);
	else if (compiler)
		artefact->compiler = compiler_version(compiler);
}

/* "gcc 12.2.0, OpenCL C 3.0": what host.c and the kernels were compiled as. */
static void name_kernels(const struct kf_build *build,
			 struct kf_artefact *artefact)
{
	struct kf_buf text = { .max = VERSION_BYTES };

	if (!build->kernels[0] || !artefact->compiler)
		return;
	kf_buf_printf(&text, "%s, ", artefact->compiler);
	kf_utf8_clean(build->kernels, strlen(build->kernels), &text);
	free(artefact->compiler);
	artefact->compiler = kf_strdup(kf_buf_str(&text));
	kf_buf_release(&text);
}

static enum kf_code run_builder(const struct kf_build_job *job,
				const struct words *argv,
				const struct kf_binds *binds,
				const char *compiler, struct kf_build *build,
				struct kf_artefact *artefact,
				struct kf_err *err)
{
	static const char *const own[] = { "PATH=/usr/local/bin:/usr/bin:/bin",
					   "LC_ALL=C", "TMPDIR=/tmp", NULL };
	struct kf_place_env env;
	struct kf_fd_pass pass = { -1, KF_RUNNER_FD_REPLY };
	struct kf_build_answer answer = { 0 };
	struct kf_outcome outcome = { 0 };
	struct kf_sandbox_spec spec = {
		.profile = is_python(job) ? KF_SANDBOX_REFERENCE :
			KF_SANDBOX_BUILDER,
		.tier_min = job->tier_min,
		.argv = argv->word,
		.bind = binds->bind,
		.bind_count = binds->count,
		.cwd = SOURCE_FOLDER,
		.limits = job->platform->build_limits,
		.fd = &pass,
		.fd_count = 1,
		.output_max = OUTPUT_MAX,
		.cancel = job->cancel,
	};
	struct kf_sandbox *box = NULL;
	enum kf_code code;
	bool told = false;

	kf_place_env_init(&env, job->platform->driver, is_python(job) ?
			  (const char *const *)job->python->place.env : own);
	spec.env = (const char *const *)env.word;
	spec.limits.wall_ns += GRACE_NS;
	kf_random_bytes(&answer.nonce, sizeof(answer.nonce));
	pass.source = memfd_create("kforge-build", MFD_CLOEXEC);
	if (pass.source < 0 ||
	    pwrite(pass.source, &answer, sizeof(answer), 0) !=
		    (ssize_t)sizeof(answer)) {
		code = kf_fail_errno(err, "cannot make shared memory");
		goto out;
	}
	code = kf_sandbox_start(&spec, &box, err);
	if (!code)
		use_the_wait(job, compiler, artefact);
	if (!code)
		code = kf_sandbox_wait(box, &outcome, err);
	if (code)
		goto out;
	artefact->tier = outcome.tier;
	code = read_answer(pass.source, answer.nonce, &told, build, err);
	if (!code && !told)
		code = read_outcome(job, &outcome, build, err);
	name_kernels(build, artefact);
out:
	kf_sandbox_free(box);
	if (pass.source >= 0)
		close(pass.source);
	kf_outcome_release(&outcome);
	kf_place_env_release(&env);
	return code;
}

/* --- the artefact ------------------------------------------------------- */

/* A regular file below the limit, not a link, renamed to its content's hash.
 * The builder is dead: nobody changes it while we look. */
static enum kf_code take_artefact(const struct kf_build_job *job,
				  const char *output, struct kf_build *build,
				  struct kf_artefact *artefact,
				  struct kf_err *err)
{
	char *path = kf_path_join(output, OUTPUT_NAME);
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	enum kf_code code = KF_OK;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size) {
		build->end = KF_BUILD_REFUSED;
		kf_buf_puts(&build->log,
			    "the compiler left no regular file\n");
		goto out;
	}
	if ((uint64_t)st.st_size > job->platform->build_limits.file_bytes) {
		build->end = KF_BUILD_TOO_LARGE;
		kf_buf_printf(&build->log, "the program is larger than %llu "
			      "bytes\n", (unsigned long long)
			      job->platform->build_limits.file_bytes);
		goto out;
	}
	code = kf_hash_file(path, artefact->hash, err);
	if (code)
		goto out;
	artefact->path = kf_artefact_path(job->work_dir, artefact->hash);
	if (fchmod(fd, 0555) || rename(path, artefact->path))
		code = kf_fail_errno(err, "cannot rename to %s",
				     artefact->path);
out:
	if (fd >= 0)
		close(fd);
	free(path);
	return code;
}

static void begin_argv(struct words *argv, const struct kf_build_job *job,
		       const struct words *sources)
{
	uint64_t deadline_ms = job->platform->build_limits.wall_ns /
			       KF_NS_PER_MS;

	add(argv, RUNNER);
	add(argv, "build");
	add(argv, job->platform->driver->name);
	add(argv, job->device_id ? job->device_id : "");
	add(argv, job->arch ? job->arch : "");
	add_owned(argv, kf_format("%llu", (unsigned long long)deadline_ms));
	add(argv, OUTPUT_PATH);
	add_owned(argv, kf_format("%zu", sources->count));
	for (size_t i = 0; i < sources->count; i++)
		add(argv, sources->word[i]);
}

enum kf_code kf_build_run(const struct kf_build_job *job,
			  struct kf_build *build, struct kf_artefact *artefact,
			  struct kf_err *err)
{
	char *runner = NULL, *compiler = NULL;
	char *output = kf_path_join(job->work_dir, "output.XXXXXX");
	struct words sources = { 0 }, argv = { 0 };
	struct kf_binds binds = { 0 };
	bool made = false, has_entry = false;
	enum kf_code code;

	*build = (struct kf_build) { .log.max = KF_BUILD_LOG_BYTES };
	*artefact = (struct kf_artefact) { 0 };
	assert(!is_python(job) || job->python);
	code = list_sources(job, &sources, err);
	if (code)
		goto out;
	runner = kf_runner_path(err);
	if (runner && job->platform->compiler_count)
		compiler = find_compiler(job->platform, err);
	if (!runner || (job->platform->compiler_count && !compiler)) {
		code = KF_E_UNAVAIL;
		goto out;
	}
	made = mkdtemp(output) != NULL;
	if (!made) {
		code = kf_fail_errno(err, "cannot make a folder in %s",
				     job->work_dir);
		goto out;
	}
	if (takes_entry(job->platform))
		code = write_entry(job, output, build, &has_entry, err);
	if (code || build->end)
		goto out;
	begin_argv(&argv, job, &sources);
	add_command(&argv, job, compiler, &sources, has_entry);
	code = add_binds(&binds, job, runner, compiler, output, err);
	if (!code)
		code = run_builder(job, &argv, &binds, compiler, build,
				   artefact, err);
	if (!code && build->end == KF_BUILD_DONE)
		code = take_artefact(job, output, build, artefact, err);
out:
	if (made && kf_remove_tree(output, code ? NULL : err) && !code)
		code = KF_E_IO;
	kf_binds_release(&binds);
	words_release(&argv);
	words_release(&sources);
	free(output);
	free(compiler);
	free(runner);
	return code;
}
