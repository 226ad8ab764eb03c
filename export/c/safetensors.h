/*
 * safetensors.h - reads tensors from a safetensors file, for the example: as
 * much of the format as kforge writes. Copy it, or use your own reader. Needs
 * posix_memalign (_POSIX_C_SOURCE).
 */
#ifndef SAFETENSORS_H
#define SAFETENSORS_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAFETENSORS_HEADER_MAX (16u << 20)

/* Behind the string or the bracketed value that begins here. */
static const char *safetensors_skip(const char *at)
{
	int depth = 0;

	for (; *at; at++) {
		if (*at == '"') {
			for (at++; *at && *at != '"'; at++)
				if (*at == '\\' && at[1])
					at++;
			if (!*at)
				return at;
		} else if (*at == '{' || *at == '[') {
			depth++;
		} else if (*at == '}' || *at == ']') {
			depth--;
		}
		if (depth <= 0)
			return at + 1;
	}
	return at;
}

/* The object that the header holds under this name, or NULL. */
static const char *safetensors_find(const char *header, const char *name)
{
	const char *at = strchr(header, '{');
	size_t len = strlen(name);

	while (at && *at) {
		const char *key = strchr(at + 1, '"'), *value;

		if (!key)
			break;
		value = safetensors_skip(key);
		value += strspn(value, " :");
		if (strncmp(key + 1, name, len) == 0 && key[len + 1] == '"')
			return *value == '{' ? value : NULL;
		at = safetensors_skip(value);
	}
	return NULL;
}

/* The header's text, and where the data begins. NULL if it is no such file.
 * The caller frees it. */
static char *safetensors_header(FILE *file, uint64_t *data_at)
{
	unsigned char size[8];
	uint64_t len = 0;
	char *text;
	int i;

	if (fread(size, 1, 8, file) != 8)
		return NULL;
	for (i = 7; i >= 0; i--)
		len = len << 8 | size[i];
	if (len > SAFETENSORS_HEADER_MAX)
		return NULL;
	text = (char *)malloc((size_t)len + 1);
	if (!text || fread(text, 1, (size_t)len, file) != len) {
		free(text);
		return NULL;
	}
	text[len] = '\0';
	*data_at = 8 + len;
	return text;
}

/* Memory of exactly that size, aligned to 256 bytes; NULL if there is none. What
 * looks for accesses beyond it can see them so. */
static void *safetensors_alloc(size_t bytes)
{
	void *data = NULL;

	return posix_memalign(&data, 256, bytes ? bytes : 1) ? NULL : data;
}

/*
 * One tensor in new memory, aligned to 256 bytes. dtype is the format's word
 * ("F32"); bytes is its size. NULL, with a sentence on standard error, if the
 * file does not hold just that. The caller frees it.
 */
static void *safetensors_load(const char *path, const char *name,
			      const char *dtype, size_t bytes)
{
	FILE *file = fopen(path, "rb");
	char *header = NULL, wanted[32];
	const char *found = NULL, *offsets, *why = "cannot be read";
	unsigned long long begin = 0, end = 0;
	uint64_t data_at = 0;
	void *data = NULL;

	if (file)
		header = safetensors_header(file, &data_at);
	if (!header)
		goto out;
	why = "holds no tensor of that name, type and size";
	found = safetensors_find(header, name);
	if (!found)
		goto out;
	header[safetensors_skip(found) - header] = '\0';
	snprintf(wanted, sizeof(wanted), "\"%s\"", dtype);
	offsets = strstr(found, "\"data_offsets\"");
	if (!strstr(found, wanted) || !offsets || !strchr(offsets, '[') ||
	    sscanf(strchr(offsets, '['), "[%llu,%llu", &begin, &end) != 2 ||
	    end - begin != bytes)
		goto out;
	why = "is cut short, or there is no memory";
	data = safetensors_alloc(bytes);
	if (data && (fseek(file, (long)(data_at + begin), SEEK_SET) ||
		     fread(data, 1, bytes, file) != bytes)) {
		free(data);
		data = NULL;
	}
out:
	if (!data)
		fprintf(stderr, "%s: %s (tensor %s)\n", path, why, name);
	free(header);
	if (file)
		fclose(file);
	return data;
}

static double safetensors_half(uint16_t bits)
{
	int exponent = bits >> 10 & 31;
	double fraction = bits & 1023;
	double value = exponent == 31 ? (fraction > 0 ? (double)NAN
						      : (double)INFINITY)
		     : exponent ? ldexp(1024 + fraction, exponent - 25)
				: ldexp(fraction, -24);

	return bits >> 15 ? -value : value;
}

static double safetensors_bfloat16(uint16_t bits)
{
	union { uint32_t bits; float value; } u;

	u.bits = (uint32_t)bits << 16;
	return (double)u.value;
}

/* Element i of a tensor of that dtype, the format's word; NAN for others. */
static double safetensors_value(const char *dtype, const void *data, int64_t i)
{
#define SAFETENSORS_IF(word, type, convert) \
	if (strcmp(dtype, word) == 0) \
		return convert(((const type *)data)[i])
	SAFETENSORS_IF("F32", float, (double));
	SAFETENSORS_IF("F64", double, (double));
	SAFETENSORS_IF("F16", uint16_t, safetensors_half);
	SAFETENSORS_IF("BF16", uint16_t, safetensors_bfloat16);
	SAFETENSORS_IF("BOOL", uint8_t, (double));
	SAFETENSORS_IF("U8", uint8_t, (double));
	SAFETENSORS_IF("I8", int8_t, (double));
	SAFETENSORS_IF("I16", int16_t, (double));
	SAFETENSORS_IF("I32", int32_t, (double));
	SAFETENSORS_IF("I64", int64_t, (double));
#undef SAFETENSORS_IF
	return (double)NAN;
}

/* Prints the largest difference. 1 if it is more than that part of the largest
 * expected value, or if one of the two is no number. */
static int safetensors_compare(const char *name, const char *dtype,
			       const void *got, const void *expected,
			       int64_t count, double tolerance)
{
	double most = 0, difference = 0;
	int wrong = 0;
	int64_t i;

	for (i = 0; i < count; i++) {
		double e = safetensors_value(dtype, expected, i);
		double g = safetensors_value(dtype, got, i);
		double d = fabs(g - e);

		if (isnan(e) != isnan(g))
			wrong = 1;
		if (fabs(e) > most && !isinf(e))
			most = fabs(e);
		/* Not where both are the same infinity. */
		if (d > difference)
			difference = d;
	}
	printf("%s[0] = %g; largest difference %.3g, largest value %.3g\n",
	       name, count ? safetensors_value(dtype, got, 0) : 0.0,
	       difference, most);
	return wrong || difference > tolerance * (most + 1e-30);
}

#endif
