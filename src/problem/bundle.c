#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "problem/bundle_load.h"
#include "problem/reference.h"

#define BUNDLE_BYTES (UINT64_C(6) << 30)	/* the largest that is made */
#define FILE_BYTES (UINT64_C(4) << 30)
#define RESULT_BYTES (64u << 10)
#define POLL_NS (10 * KF_NS_PER_MS)
#define SIZE_POLLS 25		/* polls between looks at the folder's size */
#define HASH_KEPT 32		/* digits of a key in names of folders */

/* Where one bundle lives: entry is its folder, made whole or not there. */
struct place {
	char *folder;	/* owned; .../bundles */
	char *entry;	/* owned; .../bundles/KEY */
	char key[HASH_KEPT + 1];
	int lock_fd;
};

static enum kf_code find_place(const char *cache,
			       const struct kf_problem *problem,
			       const struct kf_python *python,
			       struct place *out, struct kf_err *err)
{
	char code_hash[KF_HASH_HEX], key[KF_HASH_HEX];
	enum kf_code code = kf_reference_hash(code_hash, err);
	char *text;

	if (code)
		return code;
	text = kf_format("bundle %d\n%s\n%s\n%s\n", KF_BUNDLE_FORMAT,
			 problem->hash, code_hash, python->torch);
	kf_hash_hex(text, strlen(text), key);
	free(text);
	snprintf(out->key, sizeof(out->key), "%.*s", HASH_KEPT, key);
	out->folder = kf_path_join(cache, "bundles");
	out->entry = kf_path_join(out->folder, out->key);
	return kf_mkdir_p(out->folder, err);
}

static void release_place(struct place *place)
{
	if (place->lock_fd >= 0)
		close(place->lock_fd);
	free(place->folder);
	free(place->entry);
}

/* One process makes a bundle, others wait for it. The kernel lets go of the
 * lock of a process that dies. */
static enum kf_code lock_place(const struct kf_problem_spec *spec,
			       struct place *place, struct kf_err *err)
{
	char *path = kf_format("%s.lock", place->entry);
	uint64_t start_ns = kf_now_ns();
	enum kf_code code = KF_OK;

	place->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (place->lock_fd < 0) {
		code = kf_fail_errno(err, "cannot open %s", path);
		goto out;
	}
	while (flock(place->lock_fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			code = kf_fail_errno(err, "cannot lock %s", path);
		else if (spec->cancel && *spec->cancel)
			code = kf_fail(err, KF_E_CANCELED, "stopped");
		else if (kf_now_ns() - start_ns > spec->timeout_ns)
			code = kf_fail(err, KF_E_TIMEOUT, "another process "
				       "holds %s for too long", path);
		if (code)
			break;
		kf_sleep_ns(POLL_NS);
	}
out:
	free(path);
	return code;
}

/* What a process that died while making this bundle left behind. */
static void remove_leftovers(const struct place *place)
{
	size_t len = strlen(place->key);
	DIR *dir = opendir(place->folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *path;

		if (strncmp(entry->d_name, place->key, len) != 0 ||
		    strncmp(entry->d_name + len, ".tmp-", 5) != 0)
			continue;
		path = kf_path_join(place->folder, entry->d_name);
		if (kf_remove_tree(path, NULL))
			kf_logf(NULL, KF_LOG_WARN, "cannot remove %s", path);
		free(path);
	}
	if (dir)
		closedir(dir);
}

/* Bytes of all files below folder_fd, which it closes; bounded in depth, for
 * the program inside may have made it. */
static uint64_t folder_bytes(int folder_fd, int depth)
{
	DIR *dir = folder_fd < 0 ? NULL : fdopendir(folder_fd);
	struct dirent *entry;
	uint64_t bytes = 0;
	struct stat st;

	if (!dir) {
		if (folder_fd >= 0)
			close(folder_fd);
		return 0;
	}
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0 ||
		    fstatat(dirfd(dir), entry->d_name, &st,
			    AT_SYMLINK_NOFOLLOW))
			continue;
		bytes += (uint64_t)st.st_blocks * 512;
		if (S_ISDIR(st.st_mode) && depth)
			bytes += folder_bytes(openat(dirfd(dir),
				entry->d_name, O_RDONLY | O_DIRECTORY |
				O_NOFOLLOW | O_CLOEXEC), depth - 1);
	}
	closedir(dir);
	return bytes;
}

/* Waits for the end and watches how much is written meanwhile. */
static enum kf_code watch(struct kf_sandbox *box, const char *out_folder,
			  const char *name, struct kf_outcome *outcome,
			  struct kf_err *err)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; !kf_sandbox_ended(box); i++) {
		if (i % SIZE_POLLS == 0)
			bytes = folder_bytes(open(out_folder, O_RDONLY |
				O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), 4);
		if (bytes > BUNDLE_BYTES + (BUNDLE_BYTES >> 3)) {
			enum kf_code code = kf_sandbox_kill(box, outcome, err);

			return code ? code : kf_fail(err, KF_E_LIMIT,
				"problem %s: more than %.1f GB were written; "
				"choose smaller sizes with --set", name,
				(double)BUNDLE_BYTES / 1e9);
		}
		kf_sleep_ns(POLL_NS);
	}
	return kf_sandbox_wait(box, outcome, err);
}

/* result.json, or NULL: a process that was killed has written none. */
static json_t *read_result(const char *out_folder)
{
	char *path = kf_path_join(out_folder, "result.json");
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	json_t *result = NULL;
	char *text = NULL;
	struct stat st;
	ssize_t got;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size <= RESULT_BYTES) {
		text = kf_alloc(RESULT_BYTES);
		got = read(fd, text, RESULT_BYTES);
		if (got > 0 && kf_json_parse(text, (size_t)got, "result.json",
					     &result, NULL))
			result = NULL;
	}
	if (fd >= 0)
		close(fd);
	unlink(path);
	free(text);
	free(path);
	return result;
}

static enum kf_code run_reference(const struct kf_problem_spec *spec,
				  const struct kf_problem *problem,
				  const struct kf_python *python,
				  const char *job_folder,
				  const char *out_folder, struct kf_err *err)
{
	json_t *request = json_pack("{s:s, s:I, s:n}", "out", out_folder,
				    "bytes_max", (json_int_t)BUNDLE_BYTES,
				    "seed");
	struct kf_reference_spec job = {
		.problem_spec = spec, .problem = problem, .python = python,
		.mode = "bundle", .job_folder = job_folder,
		.out_folder = out_folder, .request = request,
		.wall_ns = spec->timeout_ns, .file_bytes = FILE_BYTES,
	};
	struct kf_outcome outcome = { 0 };
	struct kf_sandbox *box = NULL;
	json_t *result = NULL;
	enum kf_code code = kf_reference_start(&job, &box, err);

	if (!code)
		code = watch(box, out_folder, problem->name, &outcome, err);
	if (code)
		goto out;
	if (outcome.end == KF_END_EXITED && outcome.exit_code == 0)
		result = read_result(out_folder);
	if (!result)
		code = kf_reference_ended(&outcome, spec, problem->name, err);
	else
		code = kf_reference_error(result, problem->name, err);
out:
	kf_sandbox_free(box);
	kf_outcome_release(&outcome);
	json_decref(result);
	json_decref(request);
	return code;
}

/* Everything on disk, then the name: a bundle under its name is whole. */
static enum kf_code move_in(const char *made, const struct place *place,
			    struct kf_err *err)
{
	int fd = open(made, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum kf_code code = kf_remove_tree(place->entry, err);

	if (!code && (fd < 0 || syncfs(fd)))
		code = kf_fail_errno(err, "cannot sync %s", made);
	if (!code && rename(made, place->entry))
		code = kf_fail_errno(err, "cannot rename to %s", place->entry);
	if (fd >= 0)
		close(fd);
	return code;
}

static enum kf_code make(const struct kf_problem_spec *spec,
			 const struct kf_problem *problem,
			 const struct kf_python *python,
			 const struct place *place, struct kf_bundle *out,
			 struct kf_err *err)
{
	char *temporary = kf_format("%s.tmp-XXXXXX", place->entry);
	char *job_folder = NULL, *out_folder = NULL;
	enum kf_code code;

	remove_leftovers(place);
	if (!mkdtemp(temporary)) {
		code = kf_fail_errno(err, "cannot make folder %s", temporary);
		free(temporary);
		return code;
	}
	job_folder = kf_path_join(temporary, "job");
	out_folder = kf_path_join(temporary, "out");
	if (mkdir(job_folder, 0755) || mkdir(out_folder, 0755)) {
		code = kf_fail_errno(err, "cannot make folder %s", job_folder);
		goto out;
	}
	code = run_reference(spec, problem, python, job_folder, out_folder,
			     err);
	if (code)
		goto out;
	/* What cannot be read back was spoilt by the problem's own code. */
	code = kf_bundle_load(out_folder, out, err);
	kf_bundle_release(out);
	if (!code)
		code = move_in(out_folder, place, err);
	if (!code)
		code = kf_bundle_load(place->entry, out, err);
out:
	if (kf_remove_tree(temporary, NULL))
		kf_logf(spec->log, KF_LOG_WARN, "cannot remove %s", temporary);
	free(job_folder);
	free(out_folder);
	free(temporary);
	return code;
}

static enum kf_code make_locked(const struct kf_problem_spec *spec,
				const struct kf_problem *problem,
				const struct kf_python *python,
				struct place *place, struct kf_bundle *out,
				struct kf_err *err)
{
	enum kf_code code = lock_place(spec, place, err);

	if (code)
		return code;
	/* Another process may have made it while we waited. */
	if (kf_path_exists(place->entry) &&
	    kf_bundle_load(place->entry, out, NULL) == KF_OK)
		return KF_OK;
	kf_logf(spec->log, KF_LOG_INFO, "%s: running the reference",
		problem->name);
	code = make(spec, problem, python, place, out, err);
	out->made_now = !code;
	return code;
}

enum kf_code kf_bundle_open(const struct kf_problem_spec *spec,
			    const struct kf_problem *problem,
			    struct kf_bundle *out, struct kf_err *err)
{
	struct place place = { .lock_fd = -1 };
	uint64_t start_ns = kf_now_ns();
	struct kf_python python = { 0 };
	enum kf_code code;
	char *cache;

	*out = (struct kf_bundle) { 0 };
	code = kf_cache_folder(spec->cache_path, &cache, err);
	if (!code)
		code = kf_python_probe(spec->python, cache, &python, err);
	if (!code)
		code = find_place(cache, problem, &python, &place, err);
	if (code)
		goto out;
	if (!kf_path_exists(place.entry) ||
	    kf_bundle_load(place.entry, out, NULL) != KF_OK)
		code = make_locked(spec, problem, &python, &place, out, err);
	out->took_ns = kf_now_ns() - start_ns;
out:
	release_place(&place);
	free(cache);
	kf_python_release(&python);
	return code;
}
