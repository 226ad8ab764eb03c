/* Where an export goes: beside it while it is made, under its name at once. */
#include "export/internal.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAY_OUT "name another folder with --out"

/* dir without slashes behind it, cut in two: its parent and its own name.
 * Caller frees *parent; *name lies in dir_copy. */
static char *split(char *dir_copy, const char **name)
{
	size_t len = strlen(dir_copy);
	char *slash;

	while (len > 1 && dir_copy[len - 1] == '/')
		dir_copy[--len] = '\0';
	slash = strrchr(dir_copy, '/');
	*name = slash ? slash + 1 : dir_copy;
	if (!slash)
		return kf_strdup(".");
	return slash == dir_copy ? kf_strdup("/")
			    : kf_strndup(dir_copy,
					 (size_t)(slash - dir_copy));
}

/* A folder is there: may the export take its name? */
static enum kf_code check_present(const char *dir, const char *absolute,
				  const char *parent, struct kf_err *err)
{
	struct stat own, above, here;

	if (stat(absolute, &own) || stat(parent, &above) || stat(".", &here))
		return kf_fail_errno(err, "cannot look at %s", dir);
	if (!S_ISDIR(own.st_mode) || !kf_path_is_empty(absolute))
		return kf_fail(err, KF_E_INPUT, "%s is there already: " WAY_OUT
			       ", or remove it", dir);
	if (own.st_ino == here.st_ino && own.st_dev == here.st_dev)
		return kf_fail(err, KF_E_INPUT, "%s is the folder that you are "
			       "in, and the export takes its folder's place: "
			       "name one below it with --out", dir);
	if (own.st_dev != above.st_dev)
		return kf_fail(err, KF_E_INPUT, "%s is where a file system is "
			       "mounted, and cannot be replaced: name a folder "
			       "below it with --out", dir);
	return KF_OK;
}

/* Nothing of that name is there. *above: the lowest folder on the way that
 * is. */
static enum kf_code check_absent(const char *dir, const char *name,
				 const char *parent, char **above,
				 struct kf_err *err)
{
	struct stat st;

	if (!name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return kf_fail(err, KF_E_INPUT, "\"%s\" does not name a folder "
			       "that could be made: " WAY_OUT, dir);
	if (lstat(dir, &st) == 0)
		return kf_fail(err, KF_E_INPUT, "%s is a link to nothing: "
			       WAY_OUT ", or remove it", dir);
	*above = kf_strdup(parent);
	while (stat(*above, &st) && errno == ENOENT &&
	       strcmp(*above, "/") != 0 && strcmp(*above, ".") != 0) {
		const char *ignored;
		char *next = split(*above, &ignored);

		free(*above);
		*above = next;
	}
	return KF_OK;
}

/* Whether a folder can be made there is known when one has been. */
static enum kf_code try_to_make(const char *above, const char *name,
				struct kf_err *err)
{
	char *beside = kf_path_join(above, name);
	struct kf_temporary made = { 0 };
	enum kf_code code = kf_temporary_folder(beside, &made, err);

	if (code)
		kf_advise(err, WAY_OUT);
	else
		code = kf_temporary_remove(&made, err);
	free(beside);
	return code;
}

enum kf_code kf_export_check_dir(const char *dir, struct kf_err *err)
{
	char *absolute = realpath(dir, NULL);
	char *copy = kf_strdup(absolute ? absolute : dir);
	char *above = NULL, *parent;
	enum kf_code code;
	const char *name;

	parent = split(copy, &name);
	if (absolute)
		code = check_present(dir, absolute, parent, err);
	else
		code = check_absent(dir, name, parent, &above, err);
	if (!code)
		code = try_to_make(above ? above : parent, name, err);
	free(above);
	free(parent);
	free(copy);
	free(absolute);
	return code;
}

/* Readable for whom its owner's umask allows. */
static enum kf_code open_to_readers(const struct kf_temporary *made,
				    struct kf_err *err)
{
	mode_t mask = umask(0);

	umask(mask);
	if (fchmod(made->fd, 0777 & ~mask))
		return kf_fail_errno(err, "cannot change %s", made->path);
	return KF_OK;
}

enum kf_code kf_export_place_make(const char *dir, char **absolute,
				  struct kf_temporary *made,
				  struct kf_err *err)
{
	char *known = realpath(dir, NULL);
	char *copy = kf_strdup(known ? known : dir), *parent, *prefix;
	char *parent_absolute = NULL;
	const char *name;
	enum kf_code code;

	*absolute = NULL;
	*made = (struct kf_temporary) { .fd = -1 };
	parent = split(copy, &name);
	prefix = kf_format("%s.", name);
	code = kf_mkdir_p(parent, err);
	if (code)
		goto out;
	parent_absolute = realpath(parent, NULL);
	if (!parent_absolute) {
		code = kf_fail_errno(err, "cannot find %s", parent);
		goto out;
	}
	kf_temporaries_sweep(parent_absolute, prefix);
	*absolute = kf_path_join(parent_absolute, name);
	code = kf_temporary_folder(*absolute, made, err);
	if (!code)
		code = open_to_readers(made, err);
out:
	free(parent_absolute);
	free(prefix);
	free(parent);
	free(copy);
	free(known);
	return code;
}
