#include <dlfcn.h>
#include <glob.h>
#include <gnu/libc-version.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/doctor.h"
#include "executor/device_files.h"
#include "executor/devices.h"
#include "executor/quarantine.h"
#include "executor/setup.h"

#define GIB (1024.0 * 1024 * 1024)

/* --- kforge itself -------------------------------------------------------- */

static int two_words(const char *text)
{
	size_t len = strcspn(text, " ");

	if (text[len])
		len += 1 + strcspn(text + len + 1, " ");
	return (int)len;
}

/* What the libraries that are loaded call themselves. Asked by name: their
 * headers belong to other folders. */
static void check_libraries(struct kf_doctor *d)
{
	static const struct { const char *name, *symbol; } library[] = {
		{ "", "curl_version" },
		{ "SQLite ", "sqlite3_libversion" },
		{ "jansson ", "jansson_version_str" },
		{ "cmark ", "cmark_version_string" },
	};
	struct kf_buf text = { .max = 1024 };

	kf_buf_printf(&text, "glibc %s", gnu_get_libc_version());
	for (size_t i = 0; i < KF_COUNT(library); i++) {
		void *symbol = dlsym(RTLD_DEFAULT, library[i].symbol);
		const char *(*version)(void);

		if (!symbol)
			continue;
		memcpy(&version, &symbol, sizeof(version));
		/* curl also names what it is made of; its TLS is enough. */
		kf_buf_printf(&text, ", %s%.*s", library[i].name,
			      two_words(version()), version());
	}
	kf_doctor_find(d, KF_FINDING_GOOD, "libraries", "%s",
		       kf_buf_str(&text));
	kf_buf_release(&text);
}

static void check_home(struct kf_doctor *d)
{
	struct kf_err err = { 0 };
	char *home = kf_home(&err);
	char *runner = home ? kf_runner_path(&err) : NULL;

	if (runner)
		kf_doctor_find(d, KF_FINDING_GOOD, "kforge", "%s, data in %s",
			       KF_VERSION, home);
	else
		kf_doctor_find(d, KF_FINDING_BAD, "kforge", "%s", err.text);
	free(runner);
	free(home);
}

static void check_config(struct kf_doctor *d, const struct kf_options *options)
{
	char *path = kf_config_path(options);

	if (path && options->no_config && !options->config_path)
		kf_doctor_find(d, KF_FINDING_NOTE, "defaults", "%s is left "
			       "alone (--no-config)", path);
	else if (path)
		kf_doctor_find(d, KF_FINDING_GOOD, "defaults", "from %s",
			       path);
	free(path);
}

/* File systems that are slow or lock badly, by the kernel's numbers. */
static const char *file_system_trouble(const char *path)
{
	static const struct { long type; const char *name; } rows[] = {
		{ 0x6969, "NFS" }, { 0x517b, "SMB" }, { 0xff534d42, "CIFS" },
		{ 0xfe534d42, "SMB2" }, { 0x65735546, "FUSE" },
		{ 0x01021997, "9P" },
	};
	struct statfs fs;

	if (statfs(path, &fs))
		return NULL;
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (((long)fs.f_type & 0xffffffff) == rows[i].type)
			return rows[i].name;
	return NULL;
}

static void check_space(struct kf_doctor *d, const char *what,
			const char *path, const char *purpose,
			const char *elsewhere)
{
	const char *slow = file_system_trouble(path);
	struct statfs fs;
	double free_bytes;

	if (statfs(path, &fs))
		return;
	free_bytes = (double)fs.f_bavail * (double)fs.f_bsize;
	if (slow)
		kf_doctor_find(d, KF_FINDING_NOTE, what, "%s (%s) is on %s, "
			"which is slow and locks badly: use a local disk, %s",
			path, purpose, slow, elsewhere);
	if (free_bytes < 2 * GIB)
		kf_doctor_find(d, KF_FINDING_NOTE, what, "%s (%s) has only "
			"%.1f GiB left: make room, or %s", path, purpose,
			free_bytes / GIB, elsewhere);
	else if (!slow)
		kf_doctor_find(d, KF_FINDING_GOOD, what, "%s (%s), %.0f GiB "
			       "free", path, purpose, free_bytes / GIB);
}

static void check_folders(struct kf_doctor *d, const struct kf_options *options)
{
	const char *tmp = getenv("TMPDIR");
	struct kf_err err = { 0 };
	char *cache = NULL;

	if (kf_cache_folder(options->cache, &cache, &err))
		kf_doctor_find(d, KF_FINDING_BAD, "cache", "%s; --cache names "
			       "another folder", err.text);
	else if (access(cache, W_OK))
		kf_doctor_find(d, KF_FINDING_BAD, "cache", "%s cannot be "
			       "written: change its owner or mode, or name "
			       "another folder with --cache", cache);
	else
		check_space(d, "cache", cache, "bundles, baselines",
			    "named with --cache");
	tmp = tmp && *tmp ? tmp : "/tmp";
	if (access(tmp, W_OK))
		kf_doctor_find(d, KF_FINDING_BAD, "scratch", "%s cannot be "
			       "written: set TMPDIR to a folder that can", tmp);
	else
		check_space(d, "scratch", tmp, "verify's work",
			    "named by TMPDIR");
	if (access(".", W_OK))
		kf_doctor_find(d, KF_FINDING_NOTE, "runs", "this folder cannot "
			       "be written, so `kforge run` needs --out DIR");
	free(cache);
}

static void keep_line(void *arg, enum kf_log_level level, const char *line)
{
	(void)level;
	kf_buf_puts(arg, line);
}

/* Of the processor, as an example: all devices' locks lie there. */
static void check_locks(struct kf_doctor *d, const struct kf_options *options)
{
	const struct kf_device_info device = {
		.id = "a device", .hardware = KF_HARDWARE_PROCESSOR,
	};
	struct kf_buf said = { .max = 1024 };
	struct kf_log log = { KF_LOG_WARN, keep_line, &said };
	struct kf_err err = { 0 };
	char *path = NULL;

	if (kf_device_lock_path(&device, options->cache, &log, &path, &err))
		kf_doctor_find(d, KF_FINDING_BAD, "locks", "%s", err.text);
	else if (said.len)
		kf_doctor_find(d, KF_FINDING_NOTE, "locks", "%s; "
			"KFORGE_DEVICE_LOCKS names another folder",
			kf_buf_str(&said));
	else
		kf_doctor_find(d, KF_FINDING_GOOD, "locks", "in %.*s: who "
			       "times a device has it alone on this machine",
			       (int)(strrchr(path, '/') - path), path);
	kf_buf_release(&said);
	free(path);
}

void kf_doctor_files(struct kf_doctor *d, const struct kf_options *options)
{
	check_home(d);
	check_libraries(d);
	check_config(d, options);
	check_folders(d, options);
	check_locks(d, options);
}

/* --- Python --------------------------------------------------------------- */

/* Matrix products with the reference BLAS are ten times slower, which
 * flatters every candidate. */
static void check_blas(struct kf_doctor *d, const char *python)
{
	glob_t found = { 0 };

	if (strcmp(python, "/usr/bin/python3") != 0 ||
	    !kf_path_exists("/usr/lib/python3/dist-packages/torch"))
		return;
	if (glob("/usr/lib/*/openblas-pthread", 0, NULL, &found))
		kf_doctor_find(d, KF_FINDING_NOTE, "python", "Debian's torch "
			"runs without OpenBLAS, and its matrix products are "
			"ten times slower: apt install libopenblas0-pthread");
	globfree(&found);
}

/* Every python3 of PATH before the one in use. */
static void explain_passed_over(struct kf_doctor *d, const char *chosen)
{
	const char *path = getenv("PATH");
	char *real = realpath(chosen, NULL);

	while (path && *path) {
		size_t len = strcspn(path, ":");
		char *folder = kf_strndup(path, len);
		char *program = kf_path_join(folder, "python3");
		char *same = realpath(program, NULL);
		struct kf_err err = { 0 };
		char version[32], *found = NULL;

		path += len + (path[len] == ':');
		free(folder);
		if (same && real && strcmp(same, real) == 0)
			path = "";	/* the rest was not asked */
		else if (same && access(program, X_OK) == 0 &&
			 kf_python_find(program, &found, version, &err))
			kf_doctor_find(d, KF_FINDING_NOTE, "python", "passed "
				       "over: %.*s",
				       (int)strcspn(err.text, ";"), err.text);
		free(found);
		free(same);
		free(program);
	}
	free(real);
}

void kf_doctor_python(struct kf_doctor *d, const struct kf_options *options)
{
	const char *from_env = getenv("KFORGE_PYTHON");
	bool asked = options->python || (from_env && *from_env);
	struct kf_err err = { 0 };
	char version[32] = "";
	char *path = NULL;

	if (kf_python_find(options->python, &path, version, &err)) {
		kf_doctor_find(d, asked ? KF_FINDING_BAD : KF_FINDING_NOTE,
			"python", "%s%s", err.text, asked ? "" :
			"; without it only problems in C can be used");
	} else {
		kf_doctor_find(d, KF_FINDING_GOOD, "python", "%s with torch "
			       "%s", path, version);
		check_blas(d, path);
	}
	if (!asked)
		explain_passed_over(d, path ? path : "");
	free(path);
}

/* --- platforms ------------------------------------------------------------ */

/* Really compiles our example, in the sandbox, with every switch. A sandbox
 * that is too weak has a line of its own. */
static bool try_compiler(struct kf_doctor *d,
			 const struct kf_platform *platform,
			 const struct kf_device_info *device, size_t i,
			 const char *work_dir)
{
	const struct kf_problem_spec spec = { .tier_min = KF_TIER_WEAK };
	struct kf_platform only = *platform;
	char *compiler = NULL;
	struct kf_err err = { 0 };
	bool good;

	only.compiler = &platform->compiler[i];
	only.compiler_count = 1;
	good = !kf_compiler_prove(&only, device, &spec, work_dir, &compiler,
				  &err);
	if (good)
		kf_doctor_find(d, KF_FINDING_GOOD, platform->name, "%s builds "
			       "our example (%s)", platform->compiler[i],
			       compiler ? compiler : "of no known version");
	else
		kf_doctor_find(d, KF_FINDING_NOTE, platform->name, "%s: %s%s",
			platform->compiler[i], err.text,
			strstr(err.text, "omp") ? "; OpenMP is missing "
			"(gcc: libgomp, clang: libomp-dev)" : "");
	free(compiler);
	return good;
}

static void check_compilers(struct kf_doctor *d,
			    const struct kf_platform *platform,
			    const struct kf_device_info *device)
{
	bool good = false, there = false;
	struct kf_temporary scratch;

	/* Where scratch can be made has a line of its own. */
	if (!platform->compiler_count ||
	    kf_cli_scratch("doctor", &scratch, NULL))
		return;
	for (size_t i = 0; i < platform->compiler_count; i++) {
		char *path = kf_proc_which(platform->compiler[i]);

		there |= path != NULL;
		if (path && try_compiler(d, platform, device, i,
					 scratch.path))
			good = true;
		free(path);
	}
	if (!there)
		kf_doctor_find(d, KF_FINDING_BAD, platform->name, "no compiler "
			"on PATH: install %s%s%s (on Debian: apt install gcc "
			"libc6-dev)", platform->compiler[0],
			platform->compiler_count > 1 ? " or " : "",
			platform->compiler_count > 1 ? platform->compiler[1]
			: "");
	else if (!good)
		kf_doctor_find(d, KF_FINDING_BAD, platform->name,
			       "no compiler works");
	(void)kf_temporary_remove(&scratch, NULL);
}

/* As far as the device tells. */
static const char *clock_words(const char *device_id,
			       const struct kf_clocks *now, struct kf_buf *out)
{
	kf_buf_printf(out, "%s runs at %u MHz", device_id, now->core_mhz);
	if (now->memory_mhz)
		kf_buf_printf(out, ", its memory at %u MHz", now->memory_mhz);
	if (now->temperature_c)
		kf_buf_printf(out, ", %u degrees", now->temperature_c);
	return kf_buf_str(out);
}

/* Are its clock rates seen while it is timed? */
static void check_clock_rates(struct kf_doctor *d,
			      const struct kf_platform *platform,
			      const char *device_id)
{
	const struct kf_clock_source *source = platform->driver->clocks;
	struct kf_clock_watch *watch = NULL;
	struct kf_clocks now = { 0 };
	struct kf_buf words = { .max = 256 };
	struct kf_err err = { 0 };

	if (!source)
		return;
	if (source->open(device_id, &watch, &err) ||
	    source->read(watch, &now, &err))
		kf_doctor_find(d, KF_FINDING_NOTE, platform->name, "clock "
			       "rates of %s are not watched while it is "
			       "timed: %s", device_id, err.text);
	else
		kf_doctor_find(d, now.throttle ? KF_FINDING_NOTE :
			       KF_FINDING_GOOD, platform->name, "%s%s",
			       clock_words(device_id, &now, &words),
			       now.throttle ? "; it is slowed down for heat "
			       "or power: let it cool before times are taken" :
			       "");
	kf_buf_release(&words);
	source->close(watch);
}

static void check_quarantine(struct kf_doctor *d, const char *cache,
			     const char *what, const char *device_id)
{
	struct kf_err err = { 0 };
	char *path = NULL;

	if (kf_device_quarantine_path(cache, device_id, &path, &err) ||
	    kf_quarantine_check(device_id, path, &err))
		kf_doctor_find(d, KF_FINDING_BAD, what, "%s", err.text);
	free(path);
}

static void check_platform(struct kf_doctor *d, const char *cache,
			   const char *name)
{
	struct kf_device_info *info = kf_alloc(KF_DEVICES_MAX * sizeof(*info));
	struct kf_platform *platform = NULL;
	struct kf_err err = { 0 };
	size_t count = 0;

	if (kf_platform_load(name, &platform, &err) ||
	    kf_driver_find(platform->driver, info, KF_DEVICES_MAX, NULL,
			   &count, &err)) {
		kf_doctor_find(d, KF_FINDING_BAD, name, "%s", err.text);
		goto out;
	}
	/* What is built for one device cannot be built without any. */
	if (count || !platform->driver->two_part)
		check_compilers(d, platform, &info[0]);
	if (!count)
		kf_doctor_find(d, KF_FINDING_NOTE, name, "no device here");
	for (size_t i = 0; i < count; i++) {
		kf_doctor_find(d, KF_FINDING_GOOD, name, "%s: %s, %u unit%s",
			       info[i].id, info[i].name, info[i].units,
			       info[i].units == 1 ? "" : "s");
		check_clock_rates(d, platform, info[i].id);
		check_quarantine(d, cache, name, info[i].id);
		kf_device_info_release(&info[i]);
	}
out:
	kf_platform_free(platform);
	free(info);
}

void kf_doctor_platforms(struct kf_doctor *d,
			 const struct kf_options *options)
{
	struct kf_err err = { 0 };
	char **name = NULL;
	size_t count = 0;

	if (kf_platform_list(&name, &count, &err))
		kf_doctor_find(d, KF_FINDING_BAD, "platforms", "%s", err.text);
	for (size_t i = 0; i < count; i++) {
		check_platform(d, options->cache, name[i]);
		free(name[i]);
	}
	free(name);
}

/* --- exporting ------------------------------------------------------------ */

void kf_doctor_export(struct kf_doctor *d)
{
	char *make = kf_proc_which("make");

	if (make)
		kf_doctor_find(d, KF_FINDING_GOOD, "export", "%s builds what "
			       "`kforge export` makes", make);
	else
		kf_doctor_find(d, KF_FINDING_NOTE, "export", "no make on PATH: "
			       "`kforge export` needs it, and nothing else "
			       "does (on Debian: apt install make)");
	free(make);
}

/* --- models --------------------------------------------------------------- */

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

void kf_doctor_models(struct kf_doctor *d)
{
	static const char *const address[] = {
		"KFORGE_OPENAI_BASE_URL", "OPENAI_BASE_URL",
	};
	static const char *const proxy[] = {
		"https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy",
		"ALL_PROXY",
	};
	static const char *const certificates[] = {
		"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
	};
	bool elsewhere = is_set(address[0]) || is_set(address[1]);

	if (is_set("OPENAI_API_KEY"))
		kf_doctor_find(d, KF_FINDING_GOOD, "models",
			       "OPENAI_API_KEY is set");
	else if (!elsewhere)
		kf_doctor_find(d, KF_FINDING_NOTE, "models", "OPENAI_API_KEY "
			"is not set: openai: models want it, or a server of "
			"yours in KFORGE_OPENAI_BASE_URL; exec:, manual: and "
			"replay: want nothing");
	for (size_t i = 0; i < KF_COUNT(address); i++)
		if (is_set(address[i]))
			kf_doctor_find(d, KF_FINDING_GOOD, "models",
				       "%s is set", address[i]);
	for (size_t i = 0; i < KF_COUNT(proxy); i++)
		if (is_set(proxy[i]))
			kf_doctor_find(d, KF_FINDING_NOTE, "models", "%s is "
				"set: requests go through it; a server of "
				"yours belongs into no_proxy", proxy[i]);
	for (size_t i = 0; i < KF_COUNT(certificates); i++) {
		const char *path = getenv(certificates[i]);

		if (path && *path && access(path, R_OK))
			kf_doctor_find(d, KF_FINDING_BAD, "models", "%s is %s, "
				"which cannot be read: correct or unset it",
				certificates[i], path);
	}
}
