/* The files of a bundle. */
#include <math.h>

#include "cproblem/maker.h"
#include "evaluate/compare.h"
#include "problem/bundle_load.h"

/* --- tensors ------------------------------------------------------------- */

void kf_named_take(struct kf_named *list, char *name, enum kf_dtype dtype,
		   const struct kf_tensor_info *info, const void *data)
{
	struct kf_safe_tensor *t;

	list->at = kf_realloc(list->at, (list->count + 1) *
			      sizeof(list->at[0]));
	t = &list->at[list->count++];
	*t = (struct kf_safe_tensor) {
		.name = name, .dtype = dtype, .rank = info->rank, .data = data,
	};
	memcpy(t->shape, info->shape, sizeof(t->shape));
}

/* prefix.0, prefix.1 ... of those that are there; as: NONE, their own type. */
static void take_all(struct kf_named *list, const char *prefix,
		     const struct kf_ctensors *tensors, enum kf_dtype as,
		     void *const *data)
{
	for (size_t i = 0; i < tensors->count; i++)
		if (data[i])
			kf_named_take(list, kf_format("%s.%zu", prefix, i),
				      as ? as : tensors->at[i].info.dtype,
				      &tensors->at[i].info, data[i]);
}

enum kf_code kf_maker_write(const struct kf_maker *m, const char *folder,
			    const char *name, struct kf_named *list,
			    struct kf_err *err)
{
	char *path = kf_format("%s/%s/%s.safetensors", m->out_folder, folder,
			       name);
	enum kf_code code = kf_safetensors_write(path, list->at, list->count,
						 err);

	for (size_t i = 0; i < list->count; i++)
		free((char *)(uintptr_t)list->at[i].name);
	free(list->at);
	*list = (struct kf_named) { 0 };
	free(path);
	return code;
}

enum kf_code kf_maker_write_weights(const struct kf_maker *m,
				    struct kf_err *err)
{
	const struct kf_ctensors *weight = &m->problem.weight;
	struct kf_named list = { 0 };

	for (size_t i = 0; i < weight->count; i++)
		kf_named_take(&list, kf_strdup(weight->at[i].info.name),
			      weight->at[i].info.dtype, &weight->at[i].info,
			      m->weight[i]);
	return kf_maker_write(m, "inputs", "weights", &list, err);
}

enum kf_code kf_maker_write_case(const struct kf_maker *m, const char *prefix,
				 size_t number, void *const *in,
				 void *const *weight,
				 const struct kf_answer *answer,
				 struct kf_err *err)
{
	const struct kf_cproblem *p = &m->problem;
	struct kf_named data = { 0 }, values = { 0 };
	char name[32];
	enum kf_code code;

	snprintf(name, sizeof(name), "%s-%02zu", prefix, number);
	take_all(&data, "in", &p->in, KF_DTYPE_NONE, in);
	if (weight)
		take_all(&data, "weight", &p->weight, KF_DTYPE_NONE, weight);
	code = kf_maker_write(m, "inputs", name, &data, err);
	if (code)
		return code;
	take_all(&values, "expect", &p->out, KF_DTYPE_NONE, answer->expect);
	take_all(&values, "exact", &p->out, KF_F64, (void **)answer->exact);
	take_all(&values, "react", &p->out, KF_F32, (void **)answer->react);
	take_all(&values, "noise", &p->out, KF_F32, (void **)answer->noise);
	for (int k = 0; k < KF_PRECISIONS; k++)
		if (answer->rounded[k])
			take_all(&values, kf_precision_name[k], &p->out,
				 KF_F32, (void **)answer->rounded[k]);
	return kf_maker_write(m, "oracle", name, &values, err);
}

/* --- bundle.json --------------------------------------------------------- */

static json_t *describe(const struct kf_tensor_info *info)
{
	json_t *shape = json_array();

	for (int i = 0; i < info->rank; i++)
		json_array_append_new(shape, json_integer(info->shape[i]));
	return json_pack("{s:s, s:s, s:o}", "name", info->name, "dtype",
			 kf_dtype_name(info->dtype), "shape", shape);
}

static json_t *describe_inputs(const struct kf_maker *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->problem.in.count; i++) {
		json_t *entry = describe(&m->problem.in.at[i].info);

		json_object_set(entry, "domain",
				json_array_get(m->domain, i));
		json_object_set_new(entry, "matters",
				    json_boolean(m->in_matters[i]));
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *describe_weights(const struct kf_maker *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->problem.weight.count; i++) {
		const struct kf_tensor_info *info =
			&m->problem.weight.at[i].info;
		json_t *entry = describe(info);

		json_object_set_new(entry, "kind", json_string("weight"));
		json_object_set_new(entry, "structural",
				    json_boolean(info->structural));
		json_object_set_new(entry, "matters",
				    json_boolean(m->weight_matters[i]));
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *describe_outputs(const struct kf_maker *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->problem.out.count; i++)
		json_array_append_new(list, describe(
			&m->problem.out.at[i].info));
	return list;
}

static json_t *describe_scalars(const struct kf_maker *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->problem.scalar_count; i++) {
		const struct kf_scalar_info *s = &m->problem.scalar[i];
		const char kind[2] = { s->kind, '\0' };

		json_array_append_new(list, json_pack("{s:s, s:s, s:o}",
			"name", m->problem.scalar_name[i], "kind", kind,
			"value", s->kind == 'f' ? json_real(s->f) :
			json_integer(s->i)));
	}
	return list;
}

static json_t *bundle_info(const struct kf_maker *m, uint64_t took_ns)
{
	const struct kf_cproblem *p = &m->problem;
	json_t *info = json_object();

	json_object_set_new(info, "format", json_integer(KF_BUNDLE_FORMAT));
	json_object_set_new(info, "compiler", m->real.artefact.compiler ?
			    json_string(m->real.artefact.compiler) :
			    json_null());
	json_object_set_new(info, "inputs", describe_inputs(m));
	json_object_set_new(info, "scalars", describe_scalars(m));
	json_object_set_new(info, "weights", describe_weights(m));
	json_object_set_new(info, "outputs", describe_outputs(m));
	json_object_set_new(info, "operations", isnan(p->operations) ?
			    json_null() : json_pack("{s:f}", "total",
						    p->operations));
	json_object_set_new(info, "bytes", json_real((double)(
			    kf_ctensors_bytes(&p->in) +
			    kf_ctensors_bytes(&p->weight) +
			    kf_ctensors_bytes(&p->out))));
	json_object_set_new(info, "float64", json_string("kf_real"));
	json_object_set_new(info, "perturbed_runs",
			    json_integer(m->oracle.runs));
	json_object_set_new(info, "step", json_real(KF_ORACLE_STEP));
	json_object_set(info, "sets", m->kinds);
	json_object_set(info, "dropped", m->dropped);
	if (m->condensed)
		json_object_set(info, "condensed", m->condensed);
	json_object_set_new(info, "stock",
			    json_integer((json_int_t)m->stock_count));
	json_object_set(info, "notes", m->notes);
	json_object_set_new(info, "took_s", json_real((double)took_ns / 1e9));
	return info;
}

static enum kf_code write_json_take(const struct kf_maker *m,
				    const char *name, json_t *value,
				    struct kf_err *err)
{
	char *path = kf_path_join(m->out_folder, name);
	enum kf_code code = kf_json_write(path, value, err);

	json_decref(value);
	free(path);
	return code;
}

enum kf_code kf_maker_write_info(const struct kf_maker *m, uint64_t took_ns,
				 struct kf_err *err)
{
	enum kf_code code = write_json_take(m, "oracle/seeds.json",
		json_pack("{s:O, s:O}", "sets", m->sets, "stock", m->stock),
		err);

	return code ? code : write_json_take(m, "public/bundle.json",
					     bundle_info(m, took_ns), err);
}
