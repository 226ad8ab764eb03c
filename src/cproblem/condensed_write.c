/* The files of a condensed bundle, and how large they get. */
#include <math.h>

#include "cproblem/condensed.h"

/* --- files ---------------------------------------------------------------- */

static void take(struct kf_named *list, const char *prefix, size_t i,
		 enum kf_dtype dtype, int64_t rows, int64_t cols,
		 const void *data)
{
	struct kf_tensor_info info = {
		.rank = cols ? 2 : 1, .shape = { rows, cols },
	};

	if (data)
		kf_named_take(list, kf_format("%s.%zu", prefix, i), dtype,
			      &info, data);
}

enum kf_code kf_condensed_write_base(const struct kf_condenser *c,
				     struct kf_err *err)
{
	const struct kf_ctensors *in = &c->m->problem.in;
	struct kf_named list = { 0 };

	for (size_t i = 0; i < in->count; i++)
		if (kf_is_floating(&in->at[i]))
			kf_named_take(&list, kf_format("in.%zu", i),
				      in->at[i].info.dtype, &in->at[i].info,
				      c->base[i]);
	return kf_maker_write(c->m, "inputs", "base", &list, err);
}

static enum kf_code write_inputs(const struct kf_condenser *c,
				 const struct kf_sample *s, const char *name,
				 struct kf_err *err)
{
	const struct kf_cproblem *p = &c->m->problem;
	struct kf_named list = { 0 };

	for (size_t i = 0; i < p->in.count; i++) {
		const struct kf_tensor_info *info = &p->in.at[i].info;
		const struct kf_fresh *fresh = &s->fresh[i];

		if (s->other[i])
			kf_named_take(&list, kf_format("in.%zu", i),
				      info->dtype, info, s->other[i]);
		if (!fresh->column)
			continue;
		take(&list, "column", i, KF_F32, KF_CHUNK, 0, fresh->column);
		take(&list, "row", i, KF_F32, kf_chunks_of(info->numel), 0,
		     fresh->row);
		take(&list, "shift", i, KF_F64, 1, 0, &fresh->shift);
	}
	for (size_t i = 0; s->weight && i < p->weight.count; i++)
		kf_named_take(&list, kf_format("weight.%zu", i),
			      p->weight.at[i].info.dtype,
			      &p->weight.at[i].info, s->weight[i]);
	return kf_maker_write(c->m, "inputs", name, &list, err);
}

static enum kf_code write_outputs(const struct kf_condenser *c,
				  const struct kf_sample *s, const char *name,
				  struct kf_err *err)
{
	const struct kf_tensor_info signs = {
		.rank = 2, .shape = { KF_CHUNK_SUMS, KF_CHUNK },
	};
	struct kf_named list = { 0 };

	kf_named_take(&list, kf_strdup("signs"), KF_I8, &signs, s->signs);
	for (size_t i = 0; i < c->m->problem.out.count; i++) {
		const struct kf_tensor_info *info =
			&c->m->problem.out.at[i].info;
		const struct kf_sampled *o = &c->output[i];
		const struct kf_kept *k = &s->kept[i];
		int64_t chunks = kf_chunks_of(info->numel);

		take(&list, "sums", i, KF_F64, chunks, KF_CHUNK_SUMS, k->sums);
		take(&list, "scale", i, KF_F64, chunks, 0, k->scale);
		take(&list, "at", i, KF_I64, o->count, 0, o->at);
		take(&list, "expect", i, info->dtype, o->count, o->length,
		     k->expect);
		take(&list, "exact", i, KF_F64, o->count, o->length, k->exact);
		take(&list, "react", i, KF_F32, o->count, o->length, k->react);
		take(&list, "noise", i, KF_F32, o->count, o->length, k->noise);
	}
	return kf_maker_write(c->m, "oracle", name, &list, err);
}

enum kf_code kf_condensed_write_case(const struct kf_condenser *c,
				     const struct kf_sample *s, size_t number,
				     struct kf_err *err)
{
	char name[32];
	enum kf_code code;

	snprintf(name, sizeof(name), "%s-%02zu", s->stock ? "stock" : "set",
		 number);
	code = write_inputs(c, s, name, err);
	return code ? code : write_outputs(c, s, name, err);
}

json_t *kf_condensed_describe(const struct kf_condenser *c)
{
	json_t *counts = json_array(), *lengths = json_array();

	for (size_t i = 0; i < c->m->problem.out.count; i++) {
		json_array_append_new(counts,
				      json_integer(c->output[i].count));
		json_array_append_new(lengths,
				      json_integer(c->output[i].length));
	}
	return json_pack("{s:i, s:i, s:o, s:o, s:b, s:[s, s, s, o, s]}",
			 "chunk", KF_CHUNK, "sums", KF_CHUNK_SUMS,
			 "windows", counts, "window", lengths, "rows", 0,
			 "left_out", "set wide", "set small", "set tiny",
			 json_sprintf("perturbed runs beyond %u", c->runs),
			 "values of elements outside of the windows");
}

/* --- sizes ---------------------------------------------------------------- */

double kf_maker_condensed_bytes(const struct kf_maker *m)
{
	const struct kf_cproblem *p = &m->problem;
	double cases = KF_CONDENSED_SETS + (double)kf_condensed_stock(m);
	double each = 0;

	for (size_t i = 0; i < p->in.count; i++)
		each += kf_is_floating(&p->in.at[i]) ? 4.0 * KF_CHUNK + 4.0 *
			(double)kf_chunks_of(p->in.at[i].info.numel) :
			(double)p->in.at[i].info.bytes;
	for (size_t i = 0; i < p->out.count; i++) {
		double numel = (double)p->out.at[i].info.numel;

		each += 8.0 * (KF_CHUNK_SUMS + 1) *
			(double)kf_chunks_of(p->out.at[i].info.numel);
		each += 24 * fmin(numel, (double)(KF_WINDOWS * KF_WINDOW));
	}
	return (double)(kf_ctensors_bytes(&p->in) +
			2 * kf_ctensors_bytes(&p->weight)) + cases * each;
}

/* Inputs three times; outputs in their type twice and once in double, when both
 * forms are compared; in the worker of each form once, of double as large. */
double kf_maker_condensed_memory(const struct kf_maker *m)
{
	const struct kf_cproblem *p = &m->problem;
	double given = (double)(kf_ctensors_bytes(&p->in) +
				kf_ctensors_bytes(&p->weight));
	double out = (double)kf_ctensors_bytes(&p->out);

	return m->oracle.wide ? 6 * given + 7 * out : 4 * given + 4 * out;
}
