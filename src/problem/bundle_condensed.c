/* bundle_condensed.c - the files of condensed bundles (docs/bundles.md),
 * believing nothing in them. */
#include "problem/bundle_condensed.h"

#include <math.h>

#define WINDOWS_MAX 4096

static enum kf_code fail_malformed(const struct kf_bundle_loader *l,
				   const char *name)
{
	return kf_fail(l->err, KF_E_INPUT, "bundle: tensor %s is malformed",
		       name);
}

/* A tensor of one or two axes; cols 0: of one. */
static enum kf_code find(const struct kf_bundle_loader *l,
			 const struct kf_safetensors *file, const char *prefix,
			 size_t i, enum kf_dtype dtype, int64_t rows,
			 int64_t cols, const void **out)
{
	struct kf_tensor_info info = {
		.rank = cols ? 2 : 1, .shape = { rows, cols },
	};
	char name[48];

	snprintf(name, sizeof(name), "%s.%zu", prefix, i);
	return kf_bundle_find(l, file, name, &info, dtype, out);
}

/* --- inputs --------------------------------------------------------------- */

static enum kf_code find_fresh(const struct kf_bundle_loader *l,
			       const struct kf_safetensors *file, size_t i,
			       int64_t numel, struct kf_fresh *out)
{
	const void *column, *row, *shift;
	enum kf_code code = find(l, file, "column", i, KF_F32, KF_CHUNK, 0,
				 &column);

	if (!code)
		code = find(l, file, "row", i, KF_F32, kf_chunks_of(numel), 0,
			    &row);
	if (!code)
		code = find(l, file, "shift", i, KF_F64, 1, 0, &shift);
	if (code)
		return code;
	*out = (struct kf_fresh) {
		.column = column, .row = row, .shift = *(const double *)shift,
	};
	return KF_OK;
}

enum kf_code kf_condensed_inputs(const struct kf_bundle_loader *l,
				 const struct kf_safetensors *file,
				 struct kf_case *c)
{
	const struct kf_bundle *b = l->bundle;
	enum kf_code code = KF_OK;

	c->fresh = kf_alloc((b->in_count + 1) * sizeof(c->fresh[0]));
	for (size_t i = 0; i < b->in_count && !code; i++) {
		const struct kf_tensor_info *info = &b->in[i];
		bool kept;
		char name[48];

		if (!info->dtype)
			continue;
		snprintf(name, sizeof(name), "in.%zu", i);
		kept = kf_safetensors_get(l->base, name);
		code = kf_bundle_find(l, kept ? l->base : file, name, info,
				      info->dtype, &c->in[i]);
		snprintf(name, sizeof(name), "column.%zu", i);
		if (!code && kept && info->dtype >= KF_F16 &&
		    kf_safetensors_get(file, name))
			code = find_fresh(l, file, i, info->numel,
					  &c->fresh[i]);
	}
	return code;
}

/* --- outputs -------------------------------------------------------------- */

static bool good_scales(const double *scale, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		if (!isfinite(scale[i]) || scale[i] < 0)
			return false;
	return true;
}

static enum kf_code find_sums(const struct kf_bundle_loader *l,
			      const struct kf_safetensors *file, size_t i,
			      struct kf_digest *out)
{
	const void *sums, *scale;
	enum kf_code code;

	out->chunk_count = kf_chunks_of(l->bundle->out[i].numel);
	code = find(l, file, "sums", i, KF_F64, out->chunk_count,
		    KF_CHUNK_SUMS, &sums);
	if (!code)
		code = find(l, file, "scale", i, KF_F64, out->chunk_count, 0,
			    &scale);
	if (code)
		return code;
	out->sums = sums;
	out->scale = scale;
	return good_scales(scale, out->chunk_count) ? KF_OK :
		fail_malformed(l, "scale");
}

/* How many windows there are, and how long they are, the file says. */
static enum kf_code find_windows(const struct kf_bundle_loader *l,
				 const struct kf_safetensors *file, size_t i,
				 struct kf_digest *out)
{
	const struct kf_safe_tensor *expect;
	const void *at;
	char name[48];
	enum kf_code code;

	snprintf(name, sizeof(name), "expect.%zu", i);
	expect = kf_safetensors_get(file, name);
	if (!expect || expect->rank != 2 || expect->shape[0] < 1 ||
	    expect->shape[0] > WINDOWS_MAX ||
	    expect->shape[1] > l->bundle->out[i].numel)
		return fail_malformed(l, name);
	out->window_count = expect->shape[0];
	out->window = expect->shape[1];
	code = find(l, file, "at", i, KF_I64, out->window_count, 0, &at);
	if (code)
		return code;
	out->at = at;
	for (int64_t w = 0; w < out->window_count; w++)
		if (out->at[w] < 0 ||
		    out->at[w] > l->bundle->out[i].numel - out->window)
			return fail_malformed(l, "at");
	return KF_OK;
}

/* The judge counts on windows that are the same for all cases. */
static bool same_windows(const struct kf_digest *a, const struct kf_digest *b)
{
	return a->window_count == b->window_count && a->window == b->window &&
	       memcmp(a->at, b->at, (size_t)a->window_count *
		      sizeof(a->at[0])) == 0;
}

enum kf_code kf_condensed_outputs(const struct kf_bundle_loader *l,
				  const struct kf_safetensors *file,
				  struct kf_case *c,
				  struct kf_tensor_info **window)
{
	const struct kf_bundle *b = l->bundle;
	struct kf_tensor_info form = {
		.rank = 2, .shape = { KF_CHUNK_SUMS, KF_CHUNK },
	};
	const void *signs;
	enum kf_code code = kf_bundle_find(l, file, "signs", &form, KF_I8,
					   &signs);

	c->digest = kf_alloc((b->out_count + 1) * sizeof(c->digest[0]));
	*window = kf_alloc((b->out_count + 1) * sizeof((*window)[0]));
	for (size_t i = 0; i < b->out_count && !code; i++) {
		struct kf_digest *d = &c->digest[i];

		d->signs = signs;
		code = find_sums(l, file, i, d);
		if (!code)
			code = find_windows(l, file, i, d);
		if (!code && !same_windows(d, &b->set[0].digest[i]))
			code = kf_fail(l->err, KF_E_INPUT, "bundle: the "
				       "windows of output %zu are not those of "
				       "the first set", i);
		(*window)[i] = (struct kf_tensor_info) {
			.dtype = b->out[i].dtype, .rank = 2,
			.shape = { d->window_count, d->window },
		};
	}
	return code;
}
