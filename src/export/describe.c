/* Bundle and program -> the JSON that templates see. */
#include "export/internal.h"

#include <ctype.h>
#include <math.h>

#define TEXT_BYTES	(64u << 10)

/* --- texts --------------------------------------------------------------- */

/* As a string of C, quotes and all. */
static json_t *literal(const char *prefix, const char *name)
{
	struct kf_buf text = { .max = TEXT_BYTES };
	json_t *value;

	kf_buf_printf(&text, "\"%s", prefix);
	for (const char *c = name; *c; c++) {
		if (*c == '"' || *c == '\\' || iscntrl((unsigned char)*c))
			kf_buf_printf(&text, "\\%03o", (unsigned char)*c);
		else
			kf_buf_add(&text, c, 1);
	}
	kf_buf_puts(&text, "\"");
	value = json_string(kf_buf_str(&text));
	kf_buf_release(&text);
	return value;
}

static json_t *upper(const char *ident)
{
	char *text = kf_strdup(ident);
	json_t *value;

	for (char *c = text; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	value = json_string(text);
	free(text);
	return value;
}

/* As the text of a comment, which it does not end. */
static json_t *comment(const char *text)
{
	struct kf_buf out = { .max = TEXT_BYTES };
	json_t *value;

	for (const char *c = text; *c; c++) {
		kf_buf_add(&out, iscntrl((unsigned char)*c) ? "?" : c, 1);
		if (*c == '*' && c[1] == '/')
			kf_buf_puts(&out, " ");
	}
	value = kf_json_string(kf_buf_str(&out), out.len);
	kf_buf_release(&out);
	return value;
}

/* --- tensors ------------------------------------------------------------- */

struct type { const char *c, *contract, *safe; double tolerance; };

static const struct type types[] = {
	[KF_DTYPE_NONE] = { "void", "KF_DTYPE_NONE", "", 0 },
	[KF_BOOL] = { "uint8_t", "KF_BOOL", "BOOL", 0 },
	[KF_U8] = { "uint8_t", "KF_U8", "U8", 0 },
	[KF_I8] = { "int8_t", "KF_I8", "I8", 0 },
	[KF_I16] = { "int16_t", "KF_I16", "I16", 0 },
	[KF_I32] = { "int32_t", "KF_I32", "I32", 0 },
	[KF_I64] = { "int64_t", "KF_I64", "I64", 0 },
	[KF_F16] = { "uint16_t", "KF_F16", "F16", 2e-2 },
	[KF_BF16] = { "uint16_t", "KF_BF16", "BF16", 5e-2 },
	[KF_F32] = { "float", "KF_F32", "F32", 1e-3 },
	[KF_F64] = { "double", "KF_F64", "F64", 1e-6 },
};

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *tensor(const struct kf_tensor_info *t, const char *example,
		      json_t *taken)
{
	const struct type *type = &types[t->dtype];
	bool none = t->dtype == KF_DTYPE_NONE;
	char *ident = none ? kf_strdup("none")
			   : kf_export_tensor_ident(t->name, taken);
	char *text;
	json_t *o = json_object(), *shape = json_array();

	for (int i = 0; i < t->rank; i++)
		json_array_append_new(shape,
				      json_integer((json_int_t)t->shape[i]));
	set(o, "name", json_string(t->name));
	set(o, "id", json_string(ident));
	set(o, "ID", upper(ident));
	set(o, "literal", literal("", t->name));
	set(o, "example", literal(example, t->name));
	set(o, "label", comment(t->name));
	set(o, "none", json_boolean(none));
	set(o, "structural", json_boolean(t->structural));
	set(o, "dtype", json_string(none ? "none" : kf_dtype_name(t->dtype)));
	set(o, "ctype", json_string(type->c));
	set(o, "kf_dtype", json_string(type->contract));
	set(o, "safe", json_string(type->safe));
	set(o, "rank", json_integer(t->rank));
	set(o, "shape", shape);
	set(o, "numel", json_integer((json_int_t)t->numel));
	set(o, "bytes", json_integer((json_int_t)t->bytes));
	text = kf_format("%g", type->tolerance);
	set(o, "tolerance", json_string(text));
	free(text);
	set(o, "fill", json_string("0.0"));
	set(o, "comment", json_string(""));
	free(ident);
	return o;
}

/* The smallest value that was seen in each input stands for inputs in the call
 * at creation: an index or a divisor among them keeps a value that it can
 * have. */
static void set_fill(json_t *t, const json_t *info)
{
	const json_t *domain = json_object_get(info, "domain");
	double least = kf_json_real(domain, "min", 0);
	char *text;

	if (json_is_integer(json_object_get(domain, "min")))
		least = (double)kf_json_int(domain, "min", 0);
	text = kf_format("%.17g%s", least,
			 floor(least) == least && fabs(least) < 1e15 ? ".0"
								     : "");
	set(t, "fill", json_string(text));
	free(text);
}

static json_t *inputs_of(const struct kf_bundle *b, json_t *taken,
			 json_int_t *given)
{
	const json_t *info = json_object_get(b->info, "inputs");
	json_t *list = json_array();

	for (size_t i = 0; i < b->in_count; i++) {
		json_t *t = tensor(&b->in[i], "inputs.", taken);

		set(t, "given", json_integer(*given));
		set_fill(t, json_array_get(info, i));
		if (b->in[i].dtype != KF_DTYPE_NONE)
			++*given;
		json_array_append_new(list, t);
	}
	return list;
}

static json_t *weights_of(const struct kf_bundle *b, json_t *taken)
{
	json_t *list = json_array();

	for (size_t i = 0; i < b->weight_count; i++) {
		json_t *t = tensor(&b->weight[i], "", taken);

		set(t, "comment", json_string("a weight"));
		json_array_append_new(list, t);
	}
	return list;
}

static json_t *outputs_of(const struct kf_bundle *b, json_t *taken)
{
	json_t *list = json_array();

	for (size_t i = 0; i < b->out_count; i++) {
		json_t *t = tensor(&b->out[i], "expected.", taken);

		set(t, "comment", json_string("written, every element"));
		json_array_append_new(list, t);
	}
	return list;
}

static enum kf_code scalars_of(const struct kf_bundle *b, json_t **out,
			       struct kf_err *err)
{
	const json_t *info = json_object_get(b->info, "scalars");

	*out = json_array();
	for (size_t i = 0; i < b->scalar_count; i++) {
		const struct kf_scalar_info *s = &b->scalar[i];
		char kind[2] = { s->kind, '\0' };
		char *f = kf_format("%.17g%s", s->f,
				    floor(s->f) == s->f && fabs(s->f) < 1e15 ?
					    ".0" : "");
		json_t *o = json_object();

		set(o, "name", json_string(kf_json_str(
			json_array_get(info, i), "name", "")));
		set(o, "kind", json_string(kind));
		set(o, "i", json_integer((json_int_t)s->i));
		set(o, "f", json_string(f));
		set(o, "value", s->kind == 'f' ? json_real(s->f) :
				s->kind == 'b' ? json_boolean(s->i != 0)
					       : json_integer(
						       (json_int_t)s->i));
		set(o, "text", json_string(f));
		free(f);
		json_array_append_new(*out, o);
		if (!isfinite(s->f))
			return kf_fail(err, KF_E_INPUT, "number %zu among the "
				       "inputs is not finite, and cannot be "
				       "exported", i + 1);
	}
	return KF_OK;
}

/* --- how it is compiled -------------------------------------------------- */

static bool in_list(const char *word, char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i], word) == 0)
			return true;
	return false;
}

/* The platform's command in parts: what makefiles say by themselves (names,
 * -shared, the folder of headers) goes, flags of the linker and of this
 * machine are told apart. */
static void set_flags(json_t *o, const struct kf_export_request *req)
{
	const struct kf_platform *p = req->platform;
	json_t *program = json_array(), *link = json_array();
	struct kf_buf machine = { .max = TEXT_BYTES };

	for (size_t i = 0; p->command[i]; i++) {
		const char *word = p->command[i];

		if (strcmp(word, "-o") == 0 || strcmp(word, "-I") == 0) {
			i += p->command[i + 1] != NULL;
			continue;
		}
		if (strchr(word, '{') || strcmp(word, "-shared") == 0)
			continue;
		if (in_list(word, p->machine_flag, p->machine_flag_count))
			kf_buf_printf(&machine, "%s%s", machine.len ? " " : "",
				      word);
		else if (!strncmp(word, "-l", 2) || !strncmp(word, "-Wl,", 4))
			json_array_append_new(link, json_string(word));
		else
			json_array_append_new(program, json_string(word));
	}
	set(o, "program_flags", program);
	set(o, "link_flags", link);
	set(o, "march", json_string(req->portable ? ""
						  : kf_buf_str(&machine)));
	kf_buf_release(&machine);
}

/* Of two parts, the kernels' files and host.c, the last: what runs them. */
static void set_parts(json_t *o, const struct kf_export_request *req)
{
	const struct kf_platform *p = req->platform;
	const struct kf_candidate *candidate = req->candidate;
	const char *device = req->device ? req->device->name : "";
	json_t *files = json_array();

	for (size_t i = 0; i < candidate->file_count; i++)
		json_array_append_new(files,
				      json_string(candidate->file[i].name));
	set(o, "files", files);
	set(o, "source", json_string(
		candidate->file[candidate->file_count - 1].name));
	set(o, "two_part", json_boolean(p->driver->two_part));
	set(o, "runtime", p->export_runtime ? json_string(p->export_runtime)
					    : json_null());
	set(o, "code", json_string(p->export_binary ? "binary" : "text"));
	set(o, "device_memory", json_boolean(p->export_addresses));
	set(o, "torch_device", json_string(p->driver->torch_device ?
					   p->driver->torch_device : "cpu"));
	set(o, "judged_on", json_string(device));
	set(o, "judged_on_comment", comment(device));
	set(o, "judged_on_literal", literal("", device));
	set(o, "arch", json_string(req->device ? req->device->arch : ""));
}

static void set_program(json_t *o, const struct kf_export_request *req)
{
	const char *shape = req->problem->shape;
	char *name = kf_format("%s%s%s", req->problem->name, shape ? "_" : "",
			       shape ? shape : "");
	char *ident = kf_export_program_ident(name);
	char *library = kf_format("lib%s.so", ident);

	set(o, "kforge_export", json_integer(1));
	set(o, "kforge_version", json_string(KF_VERSION));
	set(o, "name", json_string(req->problem->name));
	set(o, "shape", shape ? json_string(shape) : json_null());
	set(o, "id", json_string(ident));
	set(o, "ID", upper(ident));
	set(o, "library", json_string(library));
	set(o, "platform", json_string(req->platform->name));
	set(o, "program", json_string(req->candidate->hash));
	set(o, "problem", json_string(req->problem->hash));
	set(o, "verified", json_boolean(req->verified));
	set(o, "verified_words", comment(req->verdict));
	set_flags(o, req);
	set_parts(o, req);
	free(library);
	free(ident);
	free(name);
}

enum kf_code kf_export_describe(const struct kf_export_request *req,
				json_t **out, struct kf_err *err)
{
	const struct kf_bundle *b = req->bundle;
	json_t *o = json_object(), *taken = json_object(), *scalars = NULL;
	json_int_t given = 0;
	char *own;
	enum kf_code code;

	set_program(o, req);
	/* A struct's member cannot have the struct's name in C++. */
	own = kf_format("%s_weights", kf_json_str(o, "id", ""));
	set(taken, own, json_true());
	free(own);
	set(o, "inputs", inputs_of(b, taken, &given));
	set(o, "in_given", json_integer(given));
	set(o, "weights", weights_of(b, taken));
	set(o, "outputs", outputs_of(b, taken));
	set(o, "out_count", json_integer((json_int_t)b->out_count));
	code = scalars_of(b, &scalars, err);
	set(o, "scalars", scalars);
	json_decref(taken);
	*out = o;
	return code;
}
