/* "kernel axpb: 32 registers, 0 bytes of static shared memory, 0 bytes of
 * stack, spills 8 bytes and reads back 8": what builds say of kernels. */
#include "profile/read.h"

#include "profile/csv.h"

/* The number before these words in text; false if they are not there. */
static bool number_before(const char *text, const char *words, double *value)
{
	const char *at = strstr(text, words);
	char number[24];
	size_t len = 0;

	while (at && at > text && at[-1] >= '0' && at[-1] <= '9' && len < 20) {
		at--;
		len++;
	}
	if (!len)
		return false;
	snprintf(number, sizeof(number), "%.*s", (int)len, at);
	return kf_csv_number(number, value);
}

static void take_line(const char *line, struct kf_profile *out)
{
	static const struct { const char *words, *metric; } rows[] = {
		{ " registers", "registers" },
		{ " bytes of static shared memory", "shared_bytes" },
		{ " bytes of stack", "stack_bytes" },
		{ " bytes and reads back", "spill_bytes" },
	};
	const char *colon = strstr(line, ": ");
	char *name;
	double value;

	if (strncmp(line, "kernel ", 7) != 0 || !colon ||
	    !strstr(colon, " registers"))
		return;
	name = kf_strndup(line + 7, (size_t)(colon - line - 7));
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (number_before(colon, rows[i].words, &value))
			kf_metrics_add(&out->metrics, name, rows[i].metric,
				       value,
				       kf_metric_about(rows[i].metric)->unit);
	/* A compiler that tells of spills and names none has none. */
	if (strstr(colon, " bytes of stack") && !strstr(colon, ", spills "))
		kf_metrics_add(&out->metrics, name, "spill_bytes", 0, "byte");
	free(name);
}

void kf_read_compiler(const struct kf_profile_bytes *bytes,
		      struct kf_profile *out)
{
	struct kf_csv line = { 0 };
	size_t at = 0;

	while (kf_csv_next(&line, bytes->text, bytes->len, &at, '\0'))
		take_line(line.field[0], out);
	kf_csv_release(&line);
	out->end = out->metrics.count ? KF_PROFILE_GOOD : KF_PROFILE_EMPTY;
}
