/* Where this installation's files are. */
#include <unistd.h>

#include "base/base.h"
#include "platform/platform.h"

#define LEVELS	5	/* folders above the executable that are looked at */
#define RUNNER	"kforge-runner"

/* The folder of this executable; NULL if the system does not say. */
static char *executable_folder(void)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (len <= 0)
		return NULL;
	path[len] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	return kf_strdup(path[0] ? path : "/");
}

static bool is_home(const char *folder)
{
	char *contract = kf_path_join(folder, "include/kforge/program.h");
	char *platforms = kf_path_join(folder, "platforms");
	bool good = kf_path_exists(contract) && kf_path_is_dir(platforms);

	free(platforms);
	free(contract);
	return good;
}

/* What makes a folder, or one below it, the one looked for. Caller frees. */
static char *home_at(const char *folder)
{
	char *share = kf_path_join(folder, "share/kforge");

	if (is_home(share))
		return share;
	free(share);
	return is_home(folder) ? kf_strdup(folder) : NULL;
}

static char *runner_at(const char *folder)
{
	static const char *const place[] = {
		RUNNER, "libexec/kforge/" RUNNER, "lib/kforge/" RUNNER,
	};

	for (size_t i = 0; i < KF_COUNT(place); i++) {
		char *path = kf_path_join(folder, place[i]);

		if (access(path, X_OK) == 0 && !kf_path_is_dir(path))
			return path;
		free(path);
	}
	return NULL;
}

/* Asks of the executable's folder and of those above it, nearest first. */
static char *search_upwards(char *(*at)(const char *folder))
{
	char *folder = executable_folder();
	char *found = NULL;

	for (int level = 0; folder && level < LEVELS && !found; level++) {
		char *slash = strrchr(folder, '/');

		found = at(folder);
		if (!slash || slash == folder)
			break;
		*slash = '\0';
	}
	free(folder);
	return found;
}

char *kf_home(struct kf_err *err)
{
	const char *asked = getenv("KFORGE_HOME");
	char *found;

	if (asked && asked[0]) {
		found = realpath(asked, NULL);
		if (found && is_home(found))
			return found;
		free(found);
		kf_fail(err, KF_E_UNAVAIL, "KFORGE_HOME is %s, which holds no "
			"platforms/ and include/kforge/program.h; unset it, or "
			"name the folder that does", asked);
		return NULL;
	}
	found = search_upwards(home_at);
	if (!found)
		kf_fail(err, KF_E_UNAVAIL, "cannot find kforge's data folder "
			"from the executable; set KFORGE_HOME to the folder "
			"that holds platforms/ and include/");
	return found;
}

char *kf_runner_path(struct kf_err *err)
{
	char *found = search_upwards(runner_at);

	if (!found)
		kf_fail(err, KF_E_UNAVAIL, "cannot find " RUNNER " beside "
			"the executable; build or install it there");
	return found;
}
