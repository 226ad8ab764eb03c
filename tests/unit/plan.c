/* plan.c - launch lists come back as they were written, and nothing else is
 * read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "platform/plan.h"

/* --- one of everything --------------------------------------------------- */

static void add_buffer(struct kf_plan *p, enum kf_plan_memory memory,
		       uint32_t index, uint64_t bytes)
{
	p->buffer = kf_realloc(p->buffer, (p->buffer_count + 1) *
			       sizeof(p->buffer[0]));
	p->buffer[p->buffer_count++] = (struct kf_plan_buffer) {
		memory, index, bytes,
	};
}

static struct kf_plan_op *add_op(struct kf_plan *p, enum kf_plan_op_kind kind)
{
	struct kf_plan_op *op;

	p->op = kf_realloc(p->op, (p->op_count + 1) * sizeof(p->op[0]));
	op = &p->op[p->op_count++];
	*op = (struct kf_plan_op) { .kind = kind };
	return op;
}

static struct kf_plan_op *add_launch(struct kf_plan *p, const char *kernel)
{
	struct kf_plan_op *op = add_op(p, KF_PLAN_LAUNCH);

	op->kernel = kf_strdup(kernel);
	for (int i = 0; i < 3; i++)
		op->grid[i] = op->group[i] = i + 1;
	return op;
}

static struct kf_plan_arg *add_arg(struct kf_plan_op *op,
				   enum kf_arg_kind kind, uint32_t bytes)
{
	struct kf_plan_arg *arg;

	op->arg = kf_realloc(op->arg, (op->arg_count + 1) *
			     sizeof(op->arg[0]));
	arg = &op->arg[op->arg_count++];
	*arg = (struct kf_plan_arg) { .kind = kind, .bytes = bytes };
	return arg;
}

static void set_int(struct kf_plan_arg *arg, uint64_t value)
{
	memcpy(arg->value, &value, arg->bytes);
}

static void add_map(struct kf_plan_op *op)
{
	struct kf_plan_arg *arg = add_arg(op, KF_ARG_TENSOR_MAP,
					  KF_PLAN_MAP_BYTES);
	const struct kf_tensor_map map = {
		.size = sizeof(map), .dtype = KF_F16, .rank = 2,
		.swizzle = 2, .dim = { 8, 4 }, .stride = { 0, 16 },
		.box = { 8, 2 }, .element_stride = { 1, 1 },
	};

	arg->map = kf_alloc(sizeof(map));
	*arg->map = map;
}

/* Operations of kf_forward, in order. */
enum { ALL, NOTHING, FILL, COPY };
/* Arguments of the first. */
enum { AT, NUMBER, REAL, STRUCT, LOCAL, MAP };

static void make_forward(struct kf_plan *p)
{
	struct kf_plan_op *op;
	double real = -0.5;

	add_buffer(p, KF_PLAN_IN, 0, 64);
	add_buffer(p, KF_PLAN_OUT, 0, 64);
	add_buffer(p, KF_PLAN_KEEP, 2, 128);
	add_buffer(p, KF_PLAN_TEMP, 0, 300);
	op = add_launch(p, "all_of_them");
	op->cluster[0] = op->cluster[1] = op->cluster[2] = 2;
	op->shared_bytes = 1024;
	op->cooperative = true;
	add_arg(op, KF_ARG_BUFFER, 8)->place =
		(struct kf_plan_place) { 0, 16 };
	set_int(add_arg(op, KF_ARG_INT, 4), 0xfffffffb);
	memcpy(add_arg(op, KF_ARG_FLOAT, 8)->value, &real, 8);
	add_arg(op, KF_ARG_BYTES, 3)->data =
		(unsigned char *)kf_strdup("ab");
	add_arg(op, KF_ARG_LOCAL, 96);
	add_map(op);
	add_launch(p, "nothing")->dependent = true;
	op = add_op(p, KF_PLAN_FILL);
	op->to = (struct kf_plan_place) { 3, 8 };
	op->value = 0x1234;
	op->width = 2;
	op->bytes = 292;
	op = add_op(p, KF_PLAN_COPY);
	op->to = (struct kf_plan_place) { 1, 0 };
	op->from = (struct kf_plan_place) { 0, 32 };
	op->bytes = 32;
}

static struct kf_plans make_plans(void)
{
	struct kf_plans plans = { .has_prepare = true };
	struct kf_plan_op *op;

	add_buffer(&plans.prepare, KF_PLAN_WEIGHT, 1, 40);
	add_buffer(&plans.prepare, KF_PLAN_KEEP, 2, 128);
	op = add_launch(&plans.prepare, "turn");
	add_arg(op, KF_ARG_BUFFER, 8);
	add_arg(op, KF_ARG_BUFFER, 8)->place.buffer = 1;
	make_forward(&plans.forward);
	plans.forward.rc = -3;
	snprintf(plans.forward.mistake, sizeof(plans.forward.mistake),
		 "call 5 of kf_forward: something");
	return plans;
}

static struct kf_buf write_plans(const struct kf_plans *plans)
{
	struct kf_buf bytes = { .max = 1u << 20 };

	kf_plans_write(plans, &bytes);
	return bytes;
}

/* Exactly as many bytes as there are, for sanitizers to see. */
static enum kf_code read_exactly(const char *bytes, size_t len,
				 struct kf_plans *out, struct kf_err *err)
{
	char *copy = kf_alloc(len);
	enum kf_code code;

	memcpy(copy, bytes, len);
	code = kf_plans_read(copy, len, out, err);
	free(copy);
	return code;
}

/* --- there and back ------------------------------------------------------ */

static void test_plans_come_back_as_they_were_written(void **state)
{
	struct kf_plans plans = make_plans(), back;
	struct kf_buf bytes = write_plans(&plans), again;
	struct kf_err err = { 0 };
	char why[256];

	(void)state;
	if (read_exactly(bytes.data, bytes.len, &back, &err))
		fail_msg("%s", err.text);
	assert_true(kf_plans_equal(&plans, &back, why));
	assert_string_equal(why, "");
	assert_int_equal(back.forward.rc, -3);
	assert_string_equal(back.forward.mistake, plans.forward.mistake);
	again = write_plans(&back);
	assert_int_equal(again.len, bytes.len);
	assert_memory_equal(again.data, bytes.data, bytes.len);
	kf_buf_release(&again);
	kf_buf_release(&bytes);
	kf_plans_release(&back);
	kf_plans_release(&plans);
}

static void test_what_is_cut_off_is_refused(void **state)
{
	struct kf_plans plans = make_plans(), back;
	struct kf_buf bytes = write_plans(&plans);

	(void)state;
	for (size_t len = 0; len < bytes.len; len++) {
		assert_int_equal(read_exactly(bytes.data, len, &back, NULL),
				 KF_E_INPUT);
		assert_null(back.forward.op);
		assert_null(back.prepare.op);
	}
	kf_buf_release(&bytes);
	kf_plans_release(&plans);
}

/* What is read is what would be written: there is one form of each. */
static void test_a_changed_byte_is_refused_or_means_something_else(void **state)
{
	struct kf_plans plans = make_plans(), back;
	struct kf_buf bytes = write_plans(&plans);
	char why[256];

	(void)state;
	for (size_t i = 0; i < bytes.len; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			struct kf_buf again;

			bytes.data[i] = (char)(bytes.data[i] ^ (1 << bit));
			if (!read_exactly(bytes.data, bytes.len, &back,
					  NULL)) {
				again = write_plans(&back);
				assert_int_equal(again.len, bytes.len);
				assert_memory_equal(again.data, bytes.data,
						    bytes.len);
				assert_false(kf_plans_equal(&plans, &back,
							    why));
				kf_buf_release(&again);
			}
			kf_plans_release(&back);
			bytes.data[i] = (char)(bytes.data[i] ^ (1 << bit));
		}
	}
	kf_buf_release(&bytes);
	kf_plans_release(&plans);
}

/* --- refusals ------------------------------------------------------------ */

#define CHANGE(name, ...) \
	static void name(struct kf_plans *p) \
	{ \
		struct kf_plan *f = &p->forward; \
		(void)f; \
		__VA_ARGS__; \
	}

CHANGE(no_kernel, f->op[ALL].kernel[0] = '\0')
CHANGE(digit_first, f->op[ALL].kernel[0] = '7')
CHANGE(template, f->op[ALL].kernel[3] = '<')
CHANGE(new_line, f->op[ALL].kernel[3] = '\n')
CHANGE(grid_zero, f->op[ALL].grid[2] = 0)
CHANGE(grid_large, f->op[ALL].grid[0] = (INT64_C(1) << 31) + 1)
CHANGE(group_negative, f->op[ALL].group[1] = -1)
CHANGE(cluster_half, f->op[ALL].cluster[1] = 0)
CHANGE(shared_negative, f->op[ALL].shared_bytes = -1)
CHANGE(shared_large, f->op[ALL].shared_bytes = INT64_C(1) << 31)
CHANGE(kind_none, f->op[ALL].arg[AT].kind = KF_ARG_NONE)
CHANGE(kind_high, f->op[ALL].arg[LOCAL].kind = (enum kf_arg_kind)7)
CHANGE(buffer_width, f->op[ALL].arg[AT].bytes = 4)
CHANGE(buffer_number, f->op[ALL].arg[AT].place.buffer = 4)
CHANGE(buffer_offset, f->op[ALL].arg[AT].place.offset = 65)
CHANGE(number_width, f->op[ALL].arg[NUMBER].bytes = 3)
CHANGE(real_width, f->op[ALL].arg[REAL].bytes = 2)
CHANGE(struct_empty, f->op[ALL].arg[STRUCT].bytes = 0)
CHANGE(local_empty, f->op[ALL].arg[LOCAL].bytes = 0)
CHANGE(map_width, f->op[ALL].arg[MAP].bytes = 64)
CHANGE(map_rank, f->op[ALL].arg[MAP].map->rank = 0)
CHANGE(map_dtype, f->op[ALL].arg[MAP].map->dtype = 11)
CHANGE(map_dim, f->op[ALL].arg[MAP].map->dim[1] = 5)
CHANGE(map_dim_zero, f->op[ALL].arg[MAP].map->dim[0] = 0)
CHANGE(map_stride, f->op[ALL].arg[MAP].map->stride[1] = 0)
CHANGE(map_interleave, f->op[ALL].arg[MAP].map->interleave = 1)
CHANGE(fill_width, f->op[FILL].width = 3)
CHANGE(fill_value, f->op[FILL].value = 0x10000)
CHANGE(fill_odd, f->op[FILL].bytes = 291)
CHANGE(fill_crooked, f->op[FILL].to.offset = 7)
CHANGE(fill_nothing, f->op[FILL].bytes = 0)
CHANGE(fill_behind, f->op[FILL].bytes = 294)
CHANGE(fill_input, f->op[FILL].to = (struct kf_plan_place) { 0 };
       f->op[FILL].bytes = 2)
CHANGE(fill_kept, f->op[FILL].to = (struct kf_plan_place) { 2, 0 };
       f->op[FILL].bytes = 2)
CHANGE(copy_nothing, f->op[COPY].bytes = 0)
CHANGE(copy_behind, f->op[COPY].bytes = 33)
CHANGE(copy_overlap, f->op[COPY].from = (struct kf_plan_place) { 1, 31 })
CHANGE(op_unknown, f->op[COPY].kind = (enum kf_plan_op_kind)4)
CHANGE(memory_unknown, f->buffer[3].memory = (enum kf_plan_memory)6)
CHANGE(memory_twice, f->buffer[3] = f->buffer[1])
CHANGE(slot_high, f->buffer[2].index = 16)
CHANGE(kept_larger, f->buffer[2].bytes = 129)
CHANGE(kept_unknown, f->buffer[2].index = 3)
CHANGE(kept_without_prepare, p->has_prepare = false)
CHANGE(input_in_prepare, p->prepare.buffer[0].memory = KF_PLAN_IN)
CHANGE(output_in_prepare, p->prepare.buffer[0].memory = KF_PLAN_OUT)
CHANGE(mistake_bytes, f->mistake[2] = '\t')

static void test_what_cannot_be_is_refused(void **state)
{
	static const struct {
		void (*change)(struct kf_plans *plans);
		const char *says;
	} rows[] = {
		{ no_kernel, "names no kernel" },
		{ digit_first, "C identifier" },
		{ template, "C identifier" },
		{ new_line, "not printable" },
		{ grid_zero, "grid.z is 0" },
		{ grid_large, "grid.x" },
		{ group_negative, "group.y is -1" },
		{ cluster_half, "cluster.y" },
		{ shared_negative, "shared bytes" },
		{ shared_large, "shared bytes" },
		{ kind_none, "argument 1" },
		{ kind_high, "argument 5: its kind is unknown" },
		{ buffer_width, "argument 1" },
		{ buffer_number, "argument 1: buffer 4, of 4" },
		{ buffer_offset, "byte 65 of input 0, which has 64" },
		{ number_width, "argument 2" },
		{ real_width, "argument 3" },
		{ struct_empty, "argument 4" },
		{ local_empty, "argument 5" },
		{ map_width, "argument 6" },
		{ map_rank, "rank 0" },
		{ map_dtype, "dtype 11" },
		{ map_dim, "80 bytes from byte 0 of input 0" },
		{ map_dim_zero, "dim[0]" },
		{ map_stride, "stride[1]" },
		{ map_interleave, "interleave 1" },
		{ fill_width, "elements of 3 bytes" },
		{ fill_value, "wider than its elements" },
		{ fill_odd, "whole elements" },
		{ fill_crooked, "whole elements" },
		{ fill_nothing, "whole elements" },
		{ fill_behind, "call 3 of kf_forward, a fill, to: 294" },
		{ fill_input, "input 0: inputs and weights are only read" },
		{ fill_kept, "kf_keep 2" },
		{ copy_nothing, "a copy of nothing" },
		{ copy_behind, "33 bytes" },
		{ copy_overlap, "overlap" },
		{ op_unknown, "unknown operation 4" },
		{ memory_unknown, "a buffer in it" },
		{ memory_twice, "a buffer in it" },
		{ slot_high, "a buffer in it" },
		{ kept_larger, "kept memory" },
		{ kept_unknown, "kept memory" },
		{ kept_without_prepare, "kept memory" },
		{ input_in_prepare, "a buffer in it" },
		{ output_in_prepare, "a buffer in it" },
		{ mistake_bytes, "not printable" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_plans plans = make_plans(), back;
		struct kf_buf bytes;
		struct kf_err err = { 0 };

		rows[i].change(&plans);
		bytes = write_plans(&plans);
		if (read_exactly(bytes.data, bytes.len, &back, &err) !=
		    KF_E_INPUT || !strstr(err.text, rows[i].says))
			fail_msg("row %zu, %s: %s", i, rows[i].says, err.text);
		assert_null(back.forward.op);
		kf_buf_release(&bytes);
		plans.has_prepare = true;
		kf_plans_release(&plans);
	}
}

static void test_heads_of_other_kinds_are_refused(void **state)
{
	static const struct {
		size_t at;
		unsigned char value;
		const char *says;
	} rows[] = {
		{ 0, 0, "it is none" },
		{ 4, 2, "another version" },
		{ 8, 2, "whether there is a kf_prepare" },
	};
	struct kf_plans plans = make_plans(), back;
	struct kf_buf bytes = write_plans(&plans);
	struct kf_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char was = bytes.data[rows[i].at];

		bytes.data[rows[i].at] = (char)rows[i].value;
		err.text[0] = '\0';
		assert_int_equal(kf_plans_read(bytes.data, bytes.len, &back,
					       &err), KF_E_INPUT);
		assert_non_null(strstr(err.text, rows[i].says));
		bytes.data[rows[i].at] = was;
	}
	kf_buf_add(&bytes, "", 1);
	assert_int_equal(kf_plans_read(bytes.data, bytes.len, &back, &err),
			 KF_E_INPUT);
	assert_non_null(strstr(err.text, "something follows"));
	assert_int_equal(kf_plans_read(bytes.data, KF_PLAN_BYTES_MAX + 1u,
				       &back, &err), KF_E_INPUT);
	assert_non_null(strstr(err.text, "at most"));
	kf_buf_release(&bytes);
	kf_plans_release(&plans);
}

/* A plan's numbers of things, each at its place in these little plans. */
static void test_more_than_there_may_be_is_refused(void **state)
{
	static const struct {
		size_t at;
		uint32_t count;
		const char *says;
	} rows[] = {
		{ 16, 256, "more of something" },	/* bytes of a text */
		{ 16, 200, "cut off" },
		{ 20, KF_PLAN_BUFFERS_MAX + 1, "more of something" },
		{ 20, KF_PLAN_BUFFERS_MAX, "cut off" },
		{ 24, KF_PLAN_OPS_MAX + 1, "more of something" },
		{ 24, KF_PLAN_OPS_MAX, "cut off" },
		{ 32, KF_PLAN_NAME_MAX + 1, "more of something" },
		{ 121, KF_PLAN_ARGS_MAX + 1, "more of something" },
		{ 121, KF_PLAN_ARGS_MAX, "cut off" },
	};
	struct kf_plans plans = { .has_prepare = false }, back;
	struct kf_buf bytes;

	(void)state;
	add_launch(&plans.forward, "k");
	bytes = write_plans(&plans);
	assert_int_equal(bytes.len, 125);
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_err err = { 0 };
		char was[4];

		memcpy(was, bytes.data + rows[i].at, 4);
		memcpy(bytes.data + rows[i].at, &rows[i].count, 4);
		if (read_exactly(bytes.data, bytes.len, &back, &err) !=
		    KF_E_INPUT || !strstr(err.text, rows[i].says))
			fail_msg("row %zu: %s", i, err.text);
		memcpy(bytes.data + rows[i].at, was, 4);
	}
	assert_int_equal(read_exactly(bytes.data, bytes.len, &back, NULL),
			 KF_OK);
	kf_plans_release(&back);
	kf_buf_release(&bytes);
	kf_plans_release(&plans);
}

/* --- are they the same? -------------------------------------------------- */

CHANGE(other_rc, f->rc = 1)
CHANGE(other_kernel, f->op[NOTHING].kernel[0] = 'N')
CHANGE(other_grid, f->op[NOTHING].grid[0] = 2)
CHANGE(other_group, f->op[NOTHING].group[0] = 2)
CHANGE(other_options, f->op[NOTHING].cooperative = true)
CHANGE(other_shared, f->op[NOTHING].shared_bytes = 16)
CHANGE(other_count, f->op[ALL].arg_count--; free(f->op[ALL].arg[MAP].map))
CHANGE(other_place, f->op[ALL].arg[AT].place.offset = 0)
CHANGE(other_number, set_int(&f->op[ALL].arg[NUMBER], 7))
CHANGE(other_struct, f->op[ALL].arg[STRUCT].data[1] = 'x')
CHANGE(other_local, f->op[ALL].arg[LOCAL].bytes = 97)
CHANGE(other_map, f->op[ALL].arg[MAP].map->box[0] = 4)
CHANGE(other_value, f->op[FILL].value = 1)
CHANGE(other_size, f->op[FILL].bytes = 2)
CHANGE(other_from, f->op[COPY].from.offset = 0)
CHANGE(one_less, f->op_count--)
CHANGE(other_buffer, f->buffer[3].bytes = 400)
CHANGE(other_mistake, f->mistake[0] = 'C')
CHANGE(other_prepare, p->prepare.op[0].grid[1] = 7)

static void test_the_first_difference_is_told(void **state)
{
	static const struct {
		void (*change)(struct kf_plans *plans);
		const char *says;
	} rows[] = {
		{ other_rc, "kf_forward: it returned -3 one time, 1" },
		{ other_kernel, "call 2 of kf_forward, a launch of nothing, the kernel" },
		{ other_grid, "call 2 of kf_forward, a launch of nothing, the grid" },
		{ other_group, "the group" },
		{ other_options, "the options" },
		{ other_shared, "the shared bytes" },
		{ other_count, "the number of arguments" },
		{ other_place, "a launch of all_of_them, argument 1" },
		{ other_number, "argument 2: its bits are 0xfffffffb one time, 0x7" },
		{ other_struct, "argument 4: byte 1 of its 3 differs" },
		{ other_local, "argument 5" },
		{ other_map, "argument 6" },
		{ other_value, "call 3 of kf_forward, a fill, the value" },
		{ other_size, "a fill, the size" },
		{ other_from, "call 4 of kf_forward, a copy, the place" },
		{ one_less, "kf_forward: 4 calls one time, 3 another" },
		{ other_buffer, "kf_forward: the size or the use of kf_temp 0" },
		{ other_mistake, "its mistake" },
		{ other_prepare, "call 1 of kf_prepare, a launch of turn, the grid" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_plans a = make_plans(), b = make_plans();
		char why[256];

		rows[i].change(&b);
		if (kf_plans_equal(&a, &b, why) || !strstr(why, rows[i].says))
			fail_msg("row %zu, %s: %s", i, rows[i].says, why);
		kf_plans_release(&a);
		kf_plans_release(&b);
	}
}

static void test_a_handle_as_a_number_is_told(void **state)
{
	struct kf_plans a = make_plans(), b = make_plans();
	char why[256];

	(void)state;
	a.forward.op[ALL].arg[NUMBER].bytes = 8;
	b.forward.op[ALL].arg[NUMBER].bytes = 8;
	set_int(&a.forward.op[ALL].arg[NUMBER], UINT64_C(0x8120101000000010));
	set_int(&b.forward.op[ALL].arg[NUMBER], UINT64_C(0xa340101000000010));
	assert_false(kf_plans_equal(&a, &b, why));
	assert_non_null(strstr(why, "a handle, passed as a number"));
	kf_plans_release(&a);
	kf_plans_release(&b);
}

/* --- against tensors ----------------------------------------------------- */

static void test_plans_are_checked_against_tensors(void **state)
{
	static const uint64_t in[] = { 64 }, weight[] = { 8, 40 };
	static const uint64_t out[] = { 64 }, small[] = { 8, 39 };
	/* 128 kept and 512 of scratch, in steps of 256: 256 + 512. */
	const struct {
		struct kf_plan_tensors tensors;
		const char *says;
	} rows[] = {
		{ { in, weight, out, 1, 2, 1, 768 }, NULL },
		{ { in, weight, out, 1, 2, 1, 767 }, "more than 767 bytes" },
		{ { in, weight, out, 0, 2, 1, 768 }, "there is no input 0" },
		{ { in, weight, out, 1, 1, 1, 768 }, "there is no weight 1" },
		{ { in, small, out, 1, 2, 1, 768 },
		  "weight 1 has 39 bytes, not 40" },
	};
	struct kf_plans plans = make_plans();
	char why[256];

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		bool good = kf_plans_check(&plans, &rows[i].tensors, why);

		if (good != !rows[i].says ||
		    (!good && !strstr(why, rows[i].says)))
			fail_msg("row %zu: %s", i, why);
	}
	kf_plans_release(&plans);
}

static void test_what_is_held_never_passes_its_limit(void **state)
{
	uint64_t held = 0;

	(void)state;
	assert_true(kf_plan_hold(&held, 1024, 1));
	assert_int_equal(held, 256);
	assert_true(kf_plan_hold(&held, 1024, 512));
	assert_false(kf_plan_hold(&held, 1024, 257));
	assert_false(kf_plan_hold(&held, 1024, UINT64_MAX));
	assert_int_equal(held, 768);
	assert_true(kf_plan_hold(&held, 1024, 256));
	assert_false(kf_plan_hold(&held, 1024, 1));
}

/* --- for the record ------------------------------------------------------ */

static void test_json_says_what_is_launched(void **state)
{
	struct kf_plans plans = make_plans();
	json_t *list = kf_plan_to_json(&plans.forward, 3);
	const json_t *all = json_array_get(list, ALL);
	char *fill = kf_json_text(json_array_get(list, FILL));
	char *map = kf_json_text(json_array_get(json_object_get(all, "args"),
						MAP));

	(void)state;
	assert_int_equal(json_array_size(list), 4);
	assert_string_equal(kf_json_str(all, "launch", ""), "all_of_them");
	assert_string_equal(fill, "{\"fill\":{\"buffer\":\"kf_temp 0\","
			    "\"offset\":8},\"value\":4660,\"width\":2,"
			    "\"bytes\":292}");
	assert_string_equal(map, "{\"buffer\":\"input 0\",\"map\":[8,4],"
			    "\"box\":[8,2],\"dtype\":\"float16\","
			    "\"swizzle\":2}");
	assert_int_equal(kf_json_int(json_array_get(list, 3), "more", 0), 1);
	free(map);
	free(fill);
	json_decref(list);
	kf_plans_release(&plans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plans_come_back_as_they_were_written),
		cmocka_unit_test(test_what_is_cut_off_is_refused),
		cmocka_unit_test(
			test_a_changed_byte_is_refused_or_means_something_else),
		cmocka_unit_test(test_what_cannot_be_is_refused),
		cmocka_unit_test(test_heads_of_other_kinds_are_refused),
		cmocka_unit_test(test_more_than_there_may_be_is_refused),
		cmocka_unit_test(test_the_first_difference_is_told),
		cmocka_unit_test(test_a_handle_as_a_number_is_told),
		cmocka_unit_test(test_plans_are_checked_against_tensors),
		cmocka_unit_test(test_what_is_held_never_passes_its_limit),
		cmocka_unit_test(test_json_says_what_is_launched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
