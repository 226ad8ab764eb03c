/* make, and what it made, in the builder's sandbox. */
#include "export/internal.h"

#include "evaluate/build.h"
#include "evaluate/place.h"

#define FOLDER		"/export"
#define LIBRARY_PATH	"LD_LIBRARY_PATH="
#define OUTPUT_MAX	(64u << 10)

enum kf_code kf_export_find_make(char **out, struct kf_err *err)
{
	*out = kf_proc_which("make");
	if (!*out)
		return kf_fail(err, KF_E_UNAVAIL, "there is no make on PATH: "
			       "install it; exporting builds a library");
	return KF_OK;
}

/* Argument words, with the programs that they stand for. */
static enum kf_code find_words(const struct kf_export_command *command,
			       char *compiler, const char *words[],
			       size_t max, char **owned, struct kf_err *err)
{
	enum kf_code code;
	size_t count = 0;

	for (; command->argv[count]; count++) {
		if (count + 1 >= max)
			return kf_fail(err, KF_E_LIMIT, "too many arguments");
		words[count] = command->argv[count];
		if (strcmp(words[count], "{make}") == 0) {
			code = kf_export_find_make(owned, err);
			if (code)
				return code;
			words[count] = *owned;
		} else if (strcmp(words[count], "{compiler}") == 0) {
			words[count] = compiler;
		}
	}
	words[count] = NULL;
	return KF_OK;
}

static enum kf_code say_why(const struct kf_outcome *o, struct kf_err *err)
{
	if (o->end == KF_END_CANCELED)
		return kf_fail(err, KF_E_CANCELED, "stopped");
	return kf_fail(err, KF_E_UNAVAIL, "the export's build did not end by "
		       "itself (%s): %.300s", o->detail[0] ? o->detail
		       : kf_end_name(o->end), kf_buf_str(&o->errout));
}

/* The loader looks in the export first, then where the driver says. */
static void look_here_too(struct kf_place_env *env)
{
	for (size_t i = 0; i < env->count; i++) {
		char *word = env->word[i];

		if (strncmp(word, LIBRARY_PATH, strlen(LIBRARY_PATH)) != 0)
			continue;
		env->word[i] = kf_format(LIBRARY_PATH FOLDER ":%s",
					 word + strlen(LIBRARY_PATH));
		free(word);
		return;
	}
}

static void set_variable(struct kf_place_env *env, const char *word)
{
	size_t len = strcspn(word, "=") + 1, i = 0;

	while (i < env->count && strncmp(env->word[i], word, len) != 0)
		i++;
	if (i == env->count) {
		env->word = kf_realloc(env->word, (env->count + 2) *
				       sizeof(env->word[0]));
		env->word[env->count++] = NULL;
		env->word[env->count] = NULL;
	}
	free(env->word[i]);
	env->word[i] = kf_strdup(word);
}

/* A tool outside the system's folders: all of PREFIX for PREFIX/bin/TOOL, where
 * its parts are, by its name and by that of what links lead to. */
static void bind_tool(struct kf_binds *binds, const char *tool)
{
	char *prefix = kf_strdup(tool), *real;
	char *slash = strrchr(prefix, '/');

	if (kf_binds_cover(binds, tool) || !slash)
		goto out;
	*slash = '\0';
	slash = strrchr(prefix, '/');
	if (!slash || slash == prefix)
		goto out;
	*slash = '\0';
	real = realpath(prefix, NULL);
	if (real) {
		kf_binds_add(binds, real, prefix, false, true);
		kf_binds_add(binds, real, NULL, false, true);
	}
	free(real);
out:
	free(prefix);
}

/* Who computes on a device disturbs who times there. */
static enum kf_code share(const struct kf_export_command *command,
			  struct kf_lock *out, struct kf_err *err)
{
	const struct kf_export_request *req = command->req;
	uint64_t waited_ns;

	if (!command->on_device || !req->wait || !req->wait->lock_path ||
	    !kf_driver_on_device(req->platform->driver,
				 req->device->in_process))
		return KF_OK;
	return kf_device_share(req->wait, out, &waited_ns, err);
}

enum kf_code kf_export_run(const struct kf_export_command *command,
			   struct kf_buf *output, bool *good,
			   struct kf_err *err)
{
	/* The example looks for its library beside itself, and where there is
	 * no /proc the loader cannot tell where that is. */
	static const char *const own[] = { "PATH=/usr/local/bin:/usr/bin:/bin",
					   "LC_ALL=C", "TMPDIR=/tmp",
					   LIBRARY_PATH, NULL };
	const struct kf_export_request *req = command->req;
	struct kf_outcome outcome = { 0 };
	struct kf_lock shared = { 0 };
	const struct kf_driver *driver = req->platform->driver;
	struct kf_place_env env = { 0 };
	struct kf_binds binds = { 0 };
	char *compiler, *make = NULL, *cc = NULL;
	const char *words[16];
	struct kf_sandbox_spec spec = {
		.profile = command->tool ? KF_SANDBOX_TOOL :
			command->on_device ? KF_SANDBOX_DEVICE :
			KF_SANDBOX_BUILDER,
		.tier_min = req->tier_min,
		.argv = words,
		.cwd = FOLDER,
		.limits = *command->limits,
		.output_max = OUTPUT_MAX,
		.cancel = req->cancel,
	};
	enum kf_code code = KF_E_UNAVAIL;

	*good = false;
	kf_place_env_init(&env, driver, own);
	look_here_too(&env);
	for (size_t i = 0; command->env && command->env[i]; i++)
		set_variable(&env, command->env[i]);
	spec.env = (const char *const *)env.word;
	compiler = kf_build_toolchain(req->platform, &binds, err);
	if (!compiler)
		goto out;
	if (command->on_device)
		kf_place_paths(driver, KF_DRIVER_RUNNER, &binds);
	if (command->tool)
		bind_tool(&binds, command->tool);
	kf_binds_add(&binds, command->dir, FOLDER, command->writable, false);
	cc = kf_format("CC=%s%s%s", compiler, command->flags ? " " : "",
		       command->flags ? command->flags : "");
	code = find_words(command, cc, words, KF_COUNT(words), &make, err);
	if (code)
		goto out;
	spec.bind = binds.bind;
	spec.bind_count = binds.count;
	code = share(command, &shared, err);
	if (!code)
		code = kf_sandbox_run(&spec, &outcome, err);
	kf_lock_release(&shared);
	if (code)
		goto out;
	kf_utf8_clean(kf_buf_str(&outcome.errout), outcome.errout.len, output);
	kf_utf8_clean(kf_buf_str(&outcome.out), outcome.out.len, output);
	if (outcome.end == KF_END_EXITED)
		*good = outcome.exit_code == 0;
	else
		code = say_why(&outcome, err);
out:
	kf_outcome_release(&outcome);
	kf_binds_release(&binds);
	kf_place_env_release(&env);
	free(compiler);
	free(make);
	free(cc);
	return code;
}

enum kf_code kf_export_make(const struct kf_export_command *command,
			    const char *failed, struct kf_err *err)
{
	struct kf_buf words = { .max = OUTPUT_MAX };
	enum kf_code code;
	bool good;

	code = kf_export_run(command, &words, &good, err);
	if (!code && !good)
		code = kf_fail(err, KF_E_UNAVAIL, "%s: %.400s", failed,
			       kf_buf_str(&words));
	kf_buf_release(&words);
	return code;
}
