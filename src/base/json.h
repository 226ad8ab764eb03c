/*
 * json.h - a thin layer over jansson: reading with one clear sentence on
 * failure, writing durably, and getters that never crash on a wrong type.
 * Ownership: json_t is reference-counted as jansson has it; getters borrow.
 */
#ifndef KF_JSON_H
#define KF_JSON_H

#include <jansson.h>

#include "base/base.h"

/* Rejects duplicate keys; what names the text in the error sentence. */
enum kf_code kf_json_parse(const char *text, size_t len, const char *what,
			   json_t **out, struct kf_err *err);
enum kf_code kf_json_read(const char *path, json_t **out, struct kf_err *err);
/* Indented, keys in insertion order, final newline, by kf_file_write. */
enum kf_code kf_json_write(const char *path, const json_t *value,
			   struct kf_err *err);
/* Compact text; caller frees. */
char *kf_json_text(const json_t *value);

/* Members by name: the default when absent or of another type. */
const char *kf_json_str(const json_t *object, const char *key,
			const char *otherwise);
int64_t kf_json_int(const json_t *object, const char *key, int64_t otherwise);
double kf_json_real(const json_t *object, const char *key, double otherwise);
bool kf_json_bool(const json_t *object, const char *key, bool otherwise);
/* A finite real, else JSON null (JSON has no NaN). New reference. */
json_t *kf_json_number(double value);
/* A string made valid UTF-8 first. New reference. */
json_t *kf_json_string(const char *bytes, size_t len);

#endif
