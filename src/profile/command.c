/* A tool's words, and tools that users name by them. */
#include "profile/ncu.h"
#include "profile/profiler.h"

bool kf_profiler_uses(const char *const *command, const char *placeholder)
{
	for (; command && *command; command++)
		if (strstr(*command, placeholder))
			return true;
	return false;
}

void kf_profiler_words_release(struct kf_profiler_words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->word[i]);
	free(words->word);
	*words = (struct kf_profiler_words) { 0 };
}

static void add_take(struct kf_profiler_words *words, char *word)
{
	words->word = kf_realloc(words->word, (words->count + 2) *
				 sizeof(words->word[0]));
	words->word[words->count++] = word;
	words->word[words->count] = NULL;
}

static char *metric_names(void)
{
	struct kf_buf names = { .max = 8192 };

	for (size_t i = 0; i < kf_ncu_metric_count; i++)
		if (kf_ncu_metrics[i].chosen)
			kf_buf_printf(&names, "%s%s", names.len ? "," : "",
				      kf_ncu_metrics[i].tool);
	return names.data;
}

/* The first placeholder in word by its value; true if there was one. */
static bool replace(char **word, const char *placeholder, const char *value)
{
	char *at = strstr(*word, placeholder), *now;

	if (!at)
		return false;
	now = kf_format("%.*s%s%s", (int)(at - *word), *word,
			value ? value : "", at + strlen(placeholder));
	free(*word);
	*word = now;
	return true;
}

void kf_profiler_expand(const char *const *command,
			const struct kf_profiler_values *v,
			struct kf_profiler_words *out)
{
	char *metrics = metric_names(), *pid = kf_format("%d", (int)v->pid);
	const struct { const char *placeholder, *value; } rows[] = {
		{ "{out}", v->out }, { "{pid}", pid },
		{ "{control}", v->control }, { "{metrics}", metrics },
		{ "{report}", v->report },
	};

	*out = (struct kf_profiler_words) { 0 };
	for (; *command; command++) {
		char *word;

		if (strcmp(*command, "{run}") == 0)
			continue;
		word = kf_strdup(*command);
		for (size_t i = 0; i < KF_COUNT(rows); i++)
			replace(&word, rows[i].placeholder, rows[i].value);
		add_take(out, word);
	}
	free(pid);
	free(metrics);
}

/* --- command:WORDS -------------------------------------------------------- */

static void split(const char *text, struct kf_profiler_words *out)
{
	while (*text) {
		size_t len;

		text += strspn(text, " \t");
		len = strcspn(text, " \t");
		if (len)
			add_take(out, kf_strndup(text, len));
		text += len;
	}
}

enum kf_code kf_profiler_of_command(const char *text, struct kf_profiler *out,
				    struct kf_profiler_words *words,
				    struct kf_err *err)
{
	const char *const *command;

	*words = (struct kf_profiler_words) { 0 };
	split(text, words);
	command = (const char *const *)words->word;
	*out = (struct kf_profiler) {
		.abi = KF_PROFILER_ABI,
		.name = "command",
		.title = "a command of the user's",
		.one_part = true,
		.two_part = true,
		.free = true,
		.command = command,
		.install = "put it on PATH, or give its path",
		.read = kf_read_table,
		/* The device runner hears of a tool behind where it times. */
		.trace = kf_profiler_uses(command, "{run}"),
		.call_count = 5,
		.slower = 100,
	};
	if (!words->count || (!kf_profiler_uses(command, "{run}") ==
			      !kf_profiler_uses(command, "{pid}")))
		return kf_fail(err, KF_E_INPUT, "a profiler command:WORDS uses "
			       "{run}, where the program's own command goes, "
			       "or {pid}, its process: 'command:%.200s' does "
			       "not use one of the two", text);
	if (kf_profiler_uses(command, "{run}") &&
	    strcmp(words->word[words->count - 1], "{run}") != 0)
		return kf_fail(err, KF_E_INPUT, "{run} must be the last word "
			       "of 'command:%.200s'", text);
	return KF_OK;
}
