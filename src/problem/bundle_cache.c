#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "problem/bundle_cache.h"
#include "problem/bundle_condensed.h"
#include "problem/bundle_load.h"
#include "problem/bundle_sum.h"
#include "problem/bundle_use.h"
#include "problem/reference.h"

#define POLL_NS (10 * KF_NS_PER_MS)
/* public, inputs, oracle, bundle.json, seeds.json, sum */
#define OWN_ENTRIES 6
#define HASH_KEPT 32		/* digits of a key in names of folders */

/* Where one bundle lives: entry is its folder, made whole or not there. */
struct place {
	char *folder;	/* owned; .../bundles */
	char *entry;	/* owned; .../bundles/KEY */
	char key[HASH_KEPT + 1];
	int lock_fd;
};

/* Light bundles are kept apart: they are no use to who wants whole ones. */
static enum kf_code find_place(const char *cache, const char *content,
			       bool light, struct place *out,
			       struct kf_err *err)
{
	char *text = kf_format("%s%s", light ? "light " : "", content);
	char key[KF_HASH_HEX];

	kf_hash_hex(text, strlen(text), key);
	free(text);
	snprintf(out->key, sizeof(out->key), "%.*s", HASH_KEPT, key);
	out->folder = kf_path_join(cache, "bundles");
	out->entry = kf_path_join(out->folder, out->key);
	return kf_mkdir_p(out->folder, err);
}

/* KFORGE_BUNDLE_GB is for who has time and room, and for tests. */
static uint64_t asked_bytes(void)
{
	const char *asked = getenv("KFORGE_BUNDLE_GB");
	double gb;

	if (asked && kf_parse_double(asked, &gb) && gb >= 0)
		return gb * 1e9 < 0x1p63 ? (uint64_t)(gb * 1e9) : UINT64_MAX;
	return KF_BUNDLE_BYTES;
}

void kf_bundle_limits_find(const struct kf_problem_spec *spec,
			   const char *folder, struct kf_bundle_limits *out)
{
	uint64_t memory = spec->memory_bytes / 3, asked = asked_bytes();
	struct statvfs fs;

	out->room_bytes = UINT64_MAX;	/* the file system will tell */
	if (statvfs(folder, &fs) == 0)
		out->room_bytes = (uint64_t)fs.f_bavail * fs.f_frsize / 2;
	out->whole_bytes = out->room_bytes;
	if (memory && memory < out->whole_bytes)
		out->whole_bytes = memory;
	if (asked < out->whole_bytes)
		out->whole_bytes = asked;
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

/* The problem's code ran where these files lie: what is none of the bundle's
 * own would stay in the cache, unseen, for as long as that is there. */
static enum kf_code refuse_strangers(const struct kf_problem *problem,
				     const char *folder,
				     const struct kf_bundle *bundle,
				     struct kf_err *err)
{
	const struct kf_bundle_maps *maps = bundle->maps;
	size_t own = OWN_ENTRIES + maps->count, there;

	(void)kf_folder_bytes(folder, &there);
	if (there <= own)
		return KF_OK;
	return kf_fail(err, KF_E_INPUT, "problem %s: its code has left files "
		       "where its bundle is made; let it only compute",
		       problem->name);
}

static enum kf_code make(const struct kf_problem_spec *spec,
			 const struct kf_problem *problem,
			 const struct kf_bundle_maker *maker,
			 const struct place *place, struct kf_bundle *out,
			 struct kf_err *err)
{
	struct kf_temporary temporary;
	char *job_folder = NULL, *out_folder = NULL;
	enum kf_code code = kf_temporary_folder(place->entry, &temporary, err);

	if (code)
		return code;
	job_folder = kf_path_join(temporary.path, "job");
	out_folder = kf_path_join(temporary.path, "out");
	if (mkdir(job_folder, 0755) || mkdir(out_folder, 0755)) {
		code = kf_fail_errno(err, "cannot make folder %s", job_folder);
		goto out;
	}
	code = maker->make(maker->arg, job_folder, out_folder, err);
	if (code)
		goto out;
	/* What cannot be read back was spoilt by the problem's own code. */
	code = kf_bundle_load(out_folder, out, err);
	if (!code)
		code = kf_bundle_sum_write(out, err);
	if (!code)
		code = refuse_strangers(problem, out_folder, out, err);
	kf_bundle_release(out);
	if (!code)
		code = move_in(out_folder, place, err);
	if (!code)
		code = kf_bundle_load(place->entry, out, err);
out:
	if (kf_temporary_remove(&temporary, NULL))
		kf_logf(spec->log, KF_LOG_WARN, "cannot clean up beside %s",
			place->entry);
	free(job_folder);
	free(out_folder);
	return code;
}

static enum kf_code make_locked(const struct kf_problem_spec *spec,
				const struct kf_problem *problem,
				const struct kf_bundle_maker *maker,
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
	code = make(spec, problem, maker, place, out, err);
	out->made_now = !code;
	if (!code)
		kf_bundle_trim(place->folder, spec->log);
	return code;
}

enum kf_code kf_bundle_cached(const struct kf_problem_spec *spec,
			      const struct kf_problem *problem,
			      const struct kf_bundle_maker *maker,
			      struct kf_bundle *out, struct kf_err *err)
{
	struct place place = { .lock_fd = -1 };
	struct kf_bundle_maps *maps;
	uint64_t start_ns = kf_now_ns();
	int used_fd = -1;
	enum kf_code code;
	char *cache;

	*out = (struct kf_bundle) { 0 };
	code = kf_cache_folder(spec->cache_path, &cache, err);
	if (!code)
		code = find_place(cache, maker->content, spec->light,
				  &place, err);
	if (code)
		goto out;
	if (!spec->cached_only || kf_path_exists(place.entry))
		used_fd = kf_bundle_use(place.entry, spec->cancel);
	if (!kf_path_exists(place.entry) ||
	    kf_bundle_load(place.entry, out, NULL) != KF_OK)
		code = spec->cached_only ?
		       kf_fail(err, KF_E_UNAVAIL, "problem %s has no bundle "
			       "yet", problem->name) :
		       make_locked(spec, problem, maker, &place, out, err);
	maps = out->maps;
	if (!code)
		maps->used_fd = used_fd;
	else if (used_fd >= 0)
		close(used_fd);
	out->place = kf_strdup(place.entry);
	out->took_ns = kf_now_ns() - start_ns;
out:
	release_place(&place);
	free(cache);
	return code;
}

enum kf_code kf_bundle_discard(struct kf_bundle *bundle, struct kf_err *err)
{
	char *folder = kf_strdup(bundle->folder);
	enum kf_code code;

	kf_bundle_release(bundle);
	code = kf_remove_tree(folder, err);
	free(folder);
	return code;
}
