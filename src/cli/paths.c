#include "cli/paths.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

#include "problem/problem.h"

#define PROBLEM_BYTES (1u << 20)
#define FOLDER_DEPTH_MAX 3

void kf_paths_release(struct kf_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->path[i]);
	free(paths->path);
	*paths = (struct kf_paths) { 0 };
}

void kf_paths_add_take(struct kf_paths *paths, char *path)
{
	paths->path = kf_realloc(paths->path, (paths->count + 1) *
				 sizeof(paths->path[0]));
	paths->path[paths->count++] = path;
}

char *kf_path_absolute(const char *path)
{
	char *resolved = realpath(path, NULL), *here;

	if (resolved || path[0] == '/')
		return resolved ? resolved : kf_strdup(path);
	here = realpath(".", NULL);		/* a file that is yet to come */
	resolved = here ? kf_path_join(here, path) : kf_strdup(path);
	free(here);
	return resolved;
}

/* Its folder; the files in it are no problems of their own. */
static bool is_c_problem(const char *path)
{
	return kf_path_is_dir(path) && kf_problem_kind_of(path) == KF_PROBLEM_C;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len >= n && strcmp(text + len - n, end) == 0;
}

static bool looks_like_problem(const char *path)
{
	struct kf_buf text = { .max = PROBLEM_BYTES };
	struct stat st;
	bool yes = stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		   kf_file_read(path, &text, NULL) == KF_OK &&
		   strstr(kf_buf_str(&text), "class Model") &&
		   strstr(kf_buf_str(&text), "get_inputs");

	kf_buf_release(&text);
	return yes;
}

static int by_version(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

static void add_folder(const char *dir, unsigned depth, struct kf_paths *out)
{
	struct dirent **entry = NULL;
	int count = scandir(dir, &entry, NULL, by_version);

	for (int i = 0; i < count; i++) {
		char *path = kf_path_join(dir, entry[i]->d_name);

		if (entry[i]->d_name[0] == '.' || out->count >= KF_PROBLEMS_MAX)
			free(path);
		else if (is_c_problem(path)) {
			kf_paths_add_take(out, kf_path_absolute(path));
			free(path);
		} else if (kf_path_is_dir(path)) {
			if (depth < FOLDER_DEPTH_MAX)
				add_folder(path, depth + 1, out);
			free(path);
		} else {
			if (ends_with(path, ".py") && looks_like_problem(path))
				kf_paths_add_take(out, kf_path_absolute(path));
			free(path);
		}
		free(entry[i]);
	}
	free(entry);
}

enum kf_code kf_paths_add_problems(struct kf_paths *out, const char *argument,
				   struct kf_err *err)
{
	size_t before = out->count;
	char *inner;

	if (!kf_path_exists(argument))
		return kf_fail(err, KF_E_INPUT, "there is no problem file %s",
			       argument);
	if (!kf_path_is_dir(argument) || is_c_problem(argument)) {
		kf_paths_add_take(out, kf_path_absolute(argument));
		return KF_OK;
	}
	inner = kf_path_join(argument, "KernelBench");
	add_folder(kf_path_is_dir(inner) ? inner : argument, 0, out);
	free(inner);
	if (out->count == before)
		return kf_fail(err, KF_E_INPUT, "no problem in folder %s: no "
			       ".py file there has class Model and "
			       "get_inputs(), and no folder problem.json",
			       argument);
	return KF_OK;
}
