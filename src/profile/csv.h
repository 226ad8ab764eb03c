/*
 * csv.h - lines of comma-separated values, with quotes as RFC 4180 has them.
 * Pure; for the readers of this folder.
 */
#ifndef KF_PROFILE_CSV_H
#define KF_PROFILE_CSV_H

#include "base/base.h"

#define KF_CSV_FIELDS	512u
#define KF_CSV_LINE	(64u << 10)	/* longer lines are cut */

/* One line, taken apart. {0} is an empty one. */
struct kf_csv {
	char *line;			/* owned; fields lie in it */
	const char *field[KF_CSV_FIELDS];
	size_t count;
};
void kf_csv_release(struct kf_csv *csv);

/* The next line of text from *at on, which moves on; false at the end. A
 * quoted field may hold line ends. separator '\0': the whole line is one field,
 * and quotes mean nothing. */
bool kf_csv_next(struct kf_csv *csv, const char *text, size_t len, size_t *at,
		 char separator);
/* The column of that name, KF_CSV_FIELDS if there is none. */
size_t kf_csv_column(const struct kf_csv *header, const char *name);
/* The field of that column, "" if the line has none. */
const char *kf_csv_field(const struct kf_csv *csv, size_t column);
/* A number as tools write it: "1,234.5", "12.5%", with spaces around. false for
 * what is none: "n/a", "nan", "<not counted>", "". */
bool kf_csv_number(const char *field, double *value);

#endif
