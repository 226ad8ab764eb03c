#include <sys/utsname.h>

#include "problem/kind.h"
#include "problem/reference.h"

#define FORMAT 4

/* The processor by its name; what else decides a time is in the key too. */
static void device_name(char out[128])
{
	struct utsname about;
	char line[256];
	FILE *f;

	snprintf(out, 128, "%s", uname(&about) ? "unknown" : about.machine);
	f = fopen("/proc/cpuinfo", "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *value = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || !value)
			continue;
		value += 1 + strspn(value + 1, " \t");
		snprintf(out, 128, "%.*s", (int)strcspn(value, "\n"), value);
		break;
	}
	if (f)
		fclose(f);
}

/* What a time belongs to, and the file that keeps it; the caller frees both,
 * also on failure. */
static enum kf_code find_entry(const struct kf_problem_spec *spec,
			       const struct kf_problem *problem,
			       json_t **about, char **path,
			       struct kf_err *err)
{
	char device[128], hash[KF_HASH_HEX];
	char *cache, *folder = NULL, *text = NULL;
	const char *driver = "";
	enum kf_code code = kf_cache_folder(spec->cache_path, &cache, err);

	*about = NULL;
	*path = NULL;
	if (code)
		goto out;
	if (kf_problem_on_device(spec))
		driver = spec->device_driver ? spec->device_driver : "";
	if (kf_problem_on_device(spec))
		snprintf(device, sizeof(device), "%s", spec->device_name);
	else
		device_name(device);
	*about = json_pack("{s:i, s:s, s:s, s:s, s:i, s:s, s:s}",
			   "format", FORMAT, "problem", problem->hash,
			   "device", device, "driver", driver, "threads",
			   (int)spec->threads, "baseline",
			   kf_problem_baseline(problem->kind),
			   "precision", "as declared");
	if (*about)
		code = kf_problem_tables[problem->kind]->describe(spec, *about,
								  err);
	if (code)
		goto out;
	if (!*about) {
		code = kf_fail(err, KF_E_INPUT, "the processor's name is not "
			       "UTF-8");
		goto out;
	}
	text = kf_json_text(*about);
	kf_hash_hex(text, strlen(text), hash);
	folder = kf_path_join(cache, "baselines");
	code = kf_mkdir_p(folder, err);
	if (!code)
		*path = kf_format("%s/%.32s.json", folder, hash);
out:
	free(folder);
	free(text);
	free(cache);
	return code;
}

bool kf_baseline_stored(const struct kf_problem_spec *spec,
			const struct kf_problem *problem,
			uint64_t *time_ns_median, char measured_at[32],
			json_t **told)
{
	json_t *about, *kept = NULL;
	int64_t time_ns = 0;
	char *path;

	*time_ns_median = 0;
	*told = NULL;
	measured_at[0] = '\0';
	if (find_entry(spec, problem, &about, &path, NULL) == KF_OK &&
	    kf_path_exists(path) && kf_json_read(path, &kept, NULL) == KF_OK) {
		time_ns = kf_json_int(kept, "time_ns_median", 0);
		snprintf(measured_at, 32, "%s",
			 kf_json_str(kept, "measured_at", ""));
	}
	if (time_ns > 0) {
		*time_ns_median = (uint64_t)time_ns;
		*told = json_incref(json_object_get(kept, "about"));
	}
	json_decref(kept);
	json_decref(about);
	free(path);
	return time_ns > 0;
}

enum kf_code kf_baseline_store(const struct kf_problem_spec *spec,
			       const struct kf_problem *problem,
			       uint64_t time_ns_median, const json_t *told,
			       struct kf_err *err)
{
	json_t *about;
	char *path;
	enum kf_code code;
	char now[32];

	if (kf_json_str(told, "compile_error", NULL))
		return KF_OK;
	code = find_entry(spec, problem, &about, &path, err);
	if (!code) {
		kf_time_iso(now);
		json_object_set_new(about, "time_ns_median",
				    json_integer((json_int_t)time_ns_median));
		json_object_set_new(about, "measured_at", json_string(now));
		if (told)
			json_object_set_new(about, "about",
					    json_deep_copy(told));
		code = kf_json_write(path, about, err);
	}
	json_decref(about);
	free(path);
	return code;
}
