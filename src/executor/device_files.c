#include "executor/device_files.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "problem/problem.h"

#define FOLDER_FOR_ALL 01777	/* as /tmp: nobody removes another's file */

/* What may stand in a file's name. */
static void tidy(char *name)
{
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			*c = '-';
}

/* --- in the cache --------------------------------------------------------- */

static enum kf_code path_in_cache(const char *cache_asked,
				  const char *device_id, const char *ending,
				  char **out, struct kf_err *err)
{
	struct utsname about;
	char *cache, *folder = NULL, *name = NULL;
	enum kf_code code = kf_cache_folder(cache_asked, &cache, err);

	if (code)
		goto out;
	folder = kf_path_join(cache, "devices");
	code = kf_mkdir_p(folder, err);
	name = kf_format("%s-%s.%s", uname(&about) ? "here" : about.nodename,
			 device_id, ending);
	tidy(name);
	*out = kf_path_join(folder, name);
out:
	free(name);
	free(folder);
	free(cache);
	return code;
}

enum kf_code kf_device_quarantine_path(const char *cache_path,
				       const char *device_id, char **out,
				       struct kf_err *err)
{
	return path_in_cache(cache_path, device_id, "quarantine", out, err);
}

/* --- for all processes of the machine ------------------------------------- */

/* A folder of kforge's own choice gets back what somebody took from it, or a
 * crash kept. */
static enum kf_code make_folder(const char *folder, bool ours,
				struct kf_err *err)
{
	struct stat about;
	bool there = (ours ? lstat(folder, &about) : stat(folder, &about)) == 0;
	enum kf_code code = KF_OK;

	if (there && !S_ISDIR(about.st_mode))
		return kf_fail(err, KF_E_IO, "%s is no folder", folder);
	if (there && (!ours || about.st_uid != geteuid() ||
		      (about.st_mode & 07777) == FOLDER_FOR_ALL))
		return KF_OK;
	if (!there)
		code = kf_mkdir_p(folder, err);
	/* EPERM: somebody else has made it meanwhile. */
	if (!code && chmod(folder, FOLDER_FOR_ALL) && errno != EPERM)
		code = kf_fail_errno(err, "cannot open %s to all", folder);
	return code;
}

/* Lock files are made by who locks them. */
static enum kf_code check_file(const char *path, struct kf_err *err)
{
	struct stat about;

	if (lstat(path, &about))
		return errno == ENOENT ? KF_OK :
			kf_fail_errno(err, "cannot look at %s", path);
	if (S_ISREG(about.st_mode) && access(path, R_OK | W_OK) == 0)
		return KF_OK;
	return kf_fail(err, KF_E_IO, "%s is no file that all may lock", path);
}

/* The lock; and that of who waits to time (evaluate/device.h) is good too. */
static enum kf_code path_for_all(const char *folder, bool ours,
				 const char *name, char **out,
				 struct kf_err *err)
{
	enum kf_code code = make_folder(folder, ours, err);
	char *path = kf_path_join(folder, name);
	char *gate = kf_format("%s.next", path);

	if (!code && access(folder, R_OK | W_OK | X_OK))
		code = kf_fail_errno(err, "cannot write to %s", folder);
	if (!code)
		code = check_file(path, err);
	if (!code)
		code = check_file(gate, err);
	free(gate);
	if (code)
		free(path);
	else
		*out = path;
	return code;
}

enum kf_code kf_device_lock_path(const struct kf_device_info *device,
				 const char *cache_path,
				 const struct kf_log *log, char **out,
				 struct kf_err *err)
{
	const char *asked = getenv("KFORGE_DEVICE_LOCKS");
	bool named = asked && asked[0];
	char *name = kf_format("%s.lock", device->hardware[0] ?
			       device->hardware : device->id);
	struct kf_err why = { 0 };
	enum kf_code code;

	tidy(name);
	code = path_for_all(named ? asked : KF_DEVICE_LOCKS, !named, name, out,
			    &why);
	free(name);
	if (!code)
		return KF_OK;
	if (named)
		return kf_fail(err, code, "KFORGE_DEVICE_LOCKS: %.400s",
			       why.text);
	kf_logf(log, KF_LOG_WARN, "%s: processes with another cache may work "
		"on %s while it is timed", why.text, device->id);
	return path_in_cache(cache_path, device->id, "lock", out, err);
}
