/*
 * What drivers of two-part programs share: where things lie on a device, what
 * guards tell, and functions that run in a process of their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those first */
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "platform/apart.h"
#include "platform/twopart.h"

#define ALIGN	512u
#define MEMORY	(1u << 20)

/* --- layout --------------------------------------------------------------- */

static _Alignas(4096) unsigned char inputs[3 * 4096], outputs[3 * 4096];

static struct kf_tensor tensor(void *data, int64_t count)
{
	return (struct kf_tensor) { .size = sizeof(struct kf_tensor),
		.dtype = data ? KF_F32 : KF_DTYPE_NONE, .rank = data ? 1 : 0,
		.data = data, .shape = { data ? count : 0 } };
}

/* Inputs x and none, weight w behind x, output y. */
static enum kf_code find_tensors(const struct kf_shared_memory *m,
				 struct kf_twopart_tensors *out)
{
	const struct kf_tensor in[] = { tensor(inputs, 100),
					tensor(NULL, 0) };
	const struct kf_tensor weight = tensor(inputs + 4096, 10);
	const struct kf_tensor y = tensor(outputs + 4096, 100);
	const struct kf_call call = { .size = sizeof(call), .in_count = 2,
		.weight_count = 1, .out_count = 1, .in = in,
		.weight = &weight, .out = &y };

	return kf_twopart_find_tensors(m, &call, ALIGN, out, NULL);
}

static const struct kf_shared_memory shared = {
	.inputs = inputs, .inputs_bytes = sizeof(inputs),
	.outputs = outputs, .outputs_bytes = sizeof(outputs),
};

static void test_tensors_are_found(void **state)
{
	struct kf_twopart_tensors t;

	(void)state;
	assert_int_equal(find_tensors(&shared, &t), KF_OK);
	assert_int_equal(t.in[0], 0);
	assert_true(t.in[1] == UINT64_MAX);
	assert_int_equal(t.weight[0], 4096);
	assert_int_equal(t.out[0], 4096);
	assert_int_equal(t.bytes.in_bytes[0], 400);
	assert_int_equal(t.bytes.in_bytes[1], 0);
	assert_int_equal(t.bytes.weight_bytes[0], 40);
	assert_int_equal(t.weights_from, 4096);
	kf_twopart_tensors_release(&t);
}

static void test_tensors_must_lie_in_shared_memory(void **state)
{
	struct kf_shared_memory m = shared;
	struct kf_twopart_tensors t;

	(void)state;
	m.outputs_bytes = 4096 + 399;
	assert_int_equal(find_tensors(&m, &t), KF_E_INPUT);
	kf_twopart_tensors_release(&t);
	m = shared;
	m.inputs = inputs + 1;
	assert_int_equal(find_tensors(&m, &t), KF_E_INPUT);
	kf_twopart_tensors_release(&t);
	m = shared;
	m.inputs_bytes = 4096;
	assert_int_equal(find_tensors(&m, &t), KF_E_INPUT);
	kf_twopart_tensors_release(&t);
}

/* kf_prepare: weight 0, kf_keep 5 of 100 bytes, kf_temp of 9000; kf_forward:
 * input 0, output 0, kf_keep 5, two kf_temps. */
static struct kf_plan_buffer before[] = {
	{ KF_PLAN_WEIGHT, 0, 40 }, { KF_PLAN_KEEP, 5, 100 },
	{ KF_PLAN_TEMP, 0, 9000 },
};
static struct kf_plan_buffer during[] = {
	{ KF_PLAN_IN, 0, 400 }, { KF_PLAN_OUT, 0, 400 },
	{ KF_PLAN_KEEP, 5, 60 }, { KF_PLAN_TEMP, 0, 700 },
	{ KF_PLAN_TEMP, 1, 0 },
};
static const struct kf_plans plans = {
	.has_prepare = true,
	.prepare = { .buffer = before, .buffer_count = KF_COUNT(before) },
	.forward = { .buffer = during, .buffer_count = KF_COUNT(during) },
};

static void assert_place(const struct kf_twopart_place *p,
			 enum kf_twopart_arena arena, uint64_t offset,
			 uint64_t bytes)
{
	assert_int_equal(p->arena, arena);
	assert_int_equal(p->offset, offset);
	assert_int_equal(p->bytes, bytes);
}

/* Blocks do not meet, guards are wide enough, and all is aligned. */
static void assert_apart(const struct kf_twopart_blocks *blocks,
			 uint64_t arena_bytes)
{
	uint64_t end = 0;

	assert_int_equal(blocks->block[0].bytes, 0);
	for (size_t i = 0; i < blocks->count; i++) {
		const struct kf_twopart_block *b = &blocks->block[i];

		assert_int_equal(b->offset, end);
		assert_int_equal(b->offset % ALIGN, 0);
		assert_true(b->guard_end - b->offset - b->bytes >=
			    KF_TWOPART_GUARD);
		end = b->guard_end;
	}
	assert_true(end <= arena_bytes);
}

static void test_blocks_have_guards(void **state)
{
	struct kf_twopart_tensors t;
	struct kf_twopart_layout l;
	char why[256];

	(void)state;
	assert_int_equal(find_tensors(&shared, &t), KF_OK);
	assert_true(kf_twopart_lay_out(&plans, &t, ALIGN, MEMORY, &l, why));
	assert_place(&l.prepare[0], KF_TWOPART_INPUTS, 4096, 40);
	assert_place(&l.prepare[1], KF_TWOPART_KEPT, 4096, 100);
	assert_place(&l.prepare[2], KF_TWOPART_SCRATCH, 4096, 9000);
	assert_place(&l.forward[0], KF_TWOPART_INPUTS, 0, 400);
	assert_place(&l.forward[1], KF_TWOPART_OUTPUTS, 4096, 400);
	assert_place(&l.forward[2], KF_TWOPART_KEPT, 4096, 60);
	assert_place(&l.forward[3], KF_TWOPART_SCRATCH, 4096, 700);
	assert_int_equal(l.forward[4].bytes, 0);
	assert_int_equal(l.kept.count, 2);
	assert_int_equal(l.forward_temp.count, 3);
	assert_apart(&l.kept, l.arena_bytes[KF_TWOPART_KEPT]);
	assert_apart(&l.prepare_temp, l.arena_bytes[KF_TWOPART_SCRATCH]);
	assert_apart(&l.forward_temp, l.arena_bytes[KF_TWOPART_SCRATCH]);
	assert_int_equal(l.arena_bytes[KF_TWOPART_INPUTS], sizeof(inputs));
	assert_int_equal(l.arena_bytes[KF_TWOPART_OUTPUTS], sizeof(outputs));
	kf_twopart_layout_release(&l);
	kf_twopart_tensors_release(&t);
}

static void test_plans_of_other_tensors_are_refused(void **state)
{
	struct kf_twopart_tensors t;
	struct kf_twopart_layout l;
	char why[256];

	(void)state;
	assert_int_equal(find_tensors(&shared, &t), KF_OK);
	assert_false(kf_twopart_lay_out(&plans, &t, ALIGN, 9000, &l, why));
	assert_true(why[0]);
	kf_twopart_layout_release(&l);
	t.bytes.weight_count = 0;
	assert_false(kf_twopart_lay_out(&plans, &t, ALIGN, MEMORY, &l, why));
	assert_non_null(strstr(why, "weight 0"));
	kf_twopart_layout_release(&l);
	kf_twopart_tensors_release(&t);
}

static void test_guards_tell_what_was_written(void **state)
{
	const struct kf_twopart_block block[] = {
		{ 0, 0, 4096, 0 }, { 4096, 100, 9000, 7 },
	};
	struct kf_twopart_blocks blocks = {
		(struct kf_twopart_block *)(uintptr_t)block, 2
	};
	unsigned char guard[64];
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(guard); i++)
		guard[i] = (unsigned char)(KF_TWOPART_GUARD_PATTERN >>
					   i % 2 * 8);
	assert_int_equal(kf_twopart_guard_changed(guard, 100, sizeof(guard)),
			 sizeof(guard));
	assert_int_equal(kf_twopart_guard_changed(guard + 1, 101, 63), 63);
	assert_int_equal(kf_twopart_guard_changed(guard, 101, 64), 0);
	for (size_t i = 32; i < 34; i++) {	/* what scratch is filled with */
		unsigned char was = guard[i];

		guard[i] = KF_TWOPART_PATTERN;
		assert_int_equal(kf_twopart_guard_changed(guard, 0, 64), i);
		guard[i] = was;
	}
	kf_twopart_guard_words(KF_TWOPART_KEPT, &blocks, 1, 33, text);
	assert_string_equal(text, "a kernel wrote 33 bytes behind the end of "
			    "kf_keep 7, which has 100 bytes");
	kf_twopart_guard_words(KF_TWOPART_SCRATCH, &blocks, 0, 33, text);
	assert_string_equal(text, "a kernel wrote in front of the first block "
			    "of kf_temp");
}

/* --- load ----------------------------------------------------------------- */

/* In MiB: what is asked for, and what there is. */
static void test_room_is_the_device_s_own(void **state)
{
	static const struct {
		uint64_t scratch, kept, ours, piece;
		const char *words;	/* NULL: it fits */
	} rows[] = {
		{ 100, 100, 0, 0, NULL },
		{ 384, 400, 0, 400, NULL },
		{ 784, 0, 0, 0, NULL },
		{ 785, 0, 0, 0, "ask for 785 MiB; the card has 1024 MiB, of "
		  "which inputs, outputs and the device itself take 240" },
		{ 400, 385, 0, 0, "ask for 785 MiB" },
		{ 400, 384, 1, 0, "take 241" },
		{ 1, 0, 2000, 0, "ask for 1 MiB" },
		{ 401, 100, 0, 400, "ask for 401 MiB; the card gives 400 MiB "
		  "in one piece" },
		{ 100, 401, 0, 400, "in one piece" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		const struct kf_twopart_layout layout = { .arena_bytes = {
			200u << 20, 24u << 20, rows[i].scratch << 20,
			rows[i].kept << 20 } };
		const struct kf_twopart_room room = {
			"the card", UINT64_C(1) << 30, rows[i].ours << 20,
			rows[i].piece << 20 };
		char why[256] = "";

		assert_int_equal(kf_twopart_fits(&layout, &room, why),
				 !rows[i].words);
		if (rows[i].words && !strstr(why, rows[i].words))
			fail_msg("row %zu: %s", i, why);
	}
}

static void expect_trouble(const char *path, const char *words)
{
	struct kf_twopart t;
	struct kf_err err = { 0 };
	char refused[256];

	assert_int_equal(kf_twopart_read(path, &t, refused, &err), KF_E_IO);
	assert_string_equal(refused, "");
	assert_non_null(strstr(err.text, words));
	kf_twopart_release(&t);
}

static void test_what_is_no_pack_is_trouble_of_ours(void **state)
{
	struct kf_pack_part part[] = { { "device", "x", 1 },
				       { "plans", "rubbish", 7 } };
	char path[] = "/tmp/kforge-twopart-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	expect_trouble(path, "no pack");
	for (size_t count = 0; count < 2; count++) {
		assert_int_equal(kf_pack_write(path, part, count, NULL),
				 KF_OK);
		expect_trouble(path, count ? "\"plans\"" : "\"device\"");
	}
	assert_int_equal(kf_pack_write(path, part, 2, NULL), KF_OK);
	expect_trouble(path, "plans that cannot be read");
	unlink(path);
	expect_trouble(path, path);
}

/* --- apart ---------------------------------------------------------------- */

static void say_hello(void *arg, struct kf_buf *out)
{
	kf_buf_printf(out, "hello %s", (const char *)arg);
}

static void say_much(void *arg, struct kf_buf *out)
{
	char kib[1024];

	(void)arg;
	memset(kib, 'x', sizeof(kib));
	for (int i = 0; i < 4096; i++)
		kf_buf_add(out, kib, sizeof(kib));
}

static void crash(void *arg, struct kf_buf *out)
{
	(void)arg;
	kf_buf_puts(out, "never seen");
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
}

static void hang(void *arg, struct kf_buf *out)
{
	(void)arg;
	(void)out;
	for (;;)
		pause();
}

/* A grandchild that would hang for ever keeps nobody waiting. */
static void leave_one_behind(void *arg, struct kf_buf *out)
{
	if (fork() == 0)
		hang(arg, out);
	kf_buf_puts(out, "left");
}

/* One that is held by a driver lives on, and so would our locks. */
static void look_for_ours(void *arg, struct kf_buf *out)
{
	(void)arg;
	for (int fd = 5; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			kf_buf_printf(out, "%d is open", fd);
	kf_buf_puts(out, fcntl(3, F_GETFD) < 0 || fcntl(4, F_GETFD) < 0 ?
		    "its own are not" : ".");
}

static struct kf_apart_end run(kf_apart_fn *fn, uint64_t timeout_ns,
			       struct kf_buf *result)
{
	struct kf_apart_end end;
	struct kf_apart apart;
	char name[] = "you";

	assert_int_equal(kf_apart_start(fn, name, 8u << 20, &apart, NULL),
			 KF_OK);
	assert_int_equal(kf_apart_finish(&apart, timeout_ns, result, &end,
					 NULL), KF_OK);
	return end;
}

static void test_a_process_apart_answers(void **state)
{
	struct kf_buf result = { .max = 8u << 20 };
	struct kf_apart_end end = run(say_hello, 60 * KF_NS_PER_S, &result);

	(void)state;
	assert_false(end.timed_out);
	assert_int_equal(end.signal, 0);
	assert_string_equal(kf_buf_str(&result), "hello you");
	kf_buf_clear(&result);
	run(say_much, 60 * KF_NS_PER_S, &result);
	assert_int_equal(result.len, 4u << 20);
	kf_buf_release(&result);
}

static void test_a_process_apart_has_no_file_of_ours(void **state)
{
	struct kf_buf result = { .max = 1024 };
	int ours[2] = { dup(0), fcntl(0, F_DUPFD, 700) };

	(void)state;
	assert_true(ours[0] >= 0 && ours[1] >= 0);
	run(look_for_ours, 60 * KF_NS_PER_S, &result);
	assert_string_equal(kf_buf_str(&result), ".");
	kf_buf_release(&result);
	close(ours[0]);
	close(ours[1]);
}

static void test_crashes_and_hangs_apart_are_told(void **state)
{
	struct kf_buf result = { .max = 1024 };
	struct kf_apart_end end = run(crash, 60 * KF_NS_PER_S, &result);

	(void)state;
	assert_int_equal(end.signal, SIGSEGV);
	assert_false(end.timed_out);
	end = run(hang, 20 * KF_NS_PER_MS, &result);
	assert_true(end.timed_out);
	assert_int_equal(result.len, 0);
	kf_buf_release(&result);
}

static void test_an_answer_has_a_ceiling(void **state)
{
	struct kf_buf result = { .max = 1024 };
	struct kf_apart_end end;
	struct kf_apart apart;

	(void)state;
	assert_int_equal(kf_apart_start(say_much, NULL, 8u << 20, &apart,
					NULL), KF_OK);
	assert_int_equal(kf_apart_finish(&apart, 60 * KF_NS_PER_S, &result,
					 &end, NULL), KF_E_LIMIT);
	kf_buf_release(&result);
}

static void test_what_it_leaves_behind_is_not_waited_for(void **state)
{
	struct kf_buf result = { .max = 1024 };
	struct kf_apart_end end = run(leave_one_behind, 600 * KF_NS_PER_S,
				      &result);

	(void)state;
	assert_false(end.timed_out);
	assert_string_equal(kf_buf_str(&result), "left");
	kf_buf_release(&result);
}

/* --- a process that stays ------------------------------------------------- */

enum { ADD_ONE, CRASH, HANG };

static void count_up(void *arg, int question, void *answer)
{
	int *count = arg;

	if (question == CRASH)
		crash(NULL, NULL);
	if (question == HANG)
		hang(NULL, NULL);
	*(int *)answer += ++*count;
}

static struct kf_apart_line open_line(int first)
{
	struct kf_apart_line line;

	assert_int_equal(kf_apart_line_open("a library", count_up, &first,
					    sizeof(first), &line, NULL),
			 KF_OK);
	return line;
}

static void test_a_process_that_stays_remembers(void **state)
{
	struct kf_apart_line line = open_line(40);
	int answer = 0;

	(void)state;
	for (int i = 1; i < 3; i++) {
		assert_int_equal(kf_apart_line_ask(&line, ADD_ONE, &answer,
						   60 * KF_NS_PER_S, NULL),
				 KF_OK);
		assert_int_equal(answer, 40 + i);
	}
	kf_apart_line_close(&line);
	kf_apart_line_close(&line);	/* it is closed already */
}

static void test_crashes_and_hangs_of_one_that_stays_are_told(void **state)
{
	static const struct {
		int question;
		uint64_t timeout_ns;
		enum kf_code code;
		const char *words;
	} rows[] = {
		{ CRASH, 60 * KF_NS_PER_S, KF_E_UNAVAIL,
		  "a library crashed when it was asked" },
		{ HANG, 20 * KF_NS_PER_MS, KF_E_TIMEOUT,
		  "a library did not answer within 0.02 s: " },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_apart_line line = open_line(0);
		struct kf_err err = { 0 };
		int answer;

		assert_int_equal(kf_apart_line_ask(&line, rows[i].question,
						   &answer, rows[i].timeout_ns,
						   &err), rows[i].code);
		assert_ptr_equal(strstr(err.text, rows[i].words), err.text);
		kf_apart_line_close(&line);
	}
}

/* One that hangs and cannot be killed must not hold what others wait for. */
static void test_one_that_stays_holds_no_files_of_ours(void **state)
{
	struct kf_apart_line line;
	int held[2];

	(void)state;
	assert_int_equal(pipe(held), 0);
	line = open_line(0);
	close(held[1]);
	assert_true(kf_wait_readable(held[0], 60 * KF_NS_PER_S));
	kf_apart_line_close(&line);
	close(held[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tensors_are_found),
		cmocka_unit_test(test_tensors_must_lie_in_shared_memory),
		cmocka_unit_test(test_blocks_have_guards),
		cmocka_unit_test(test_plans_of_other_tensors_are_refused),
		cmocka_unit_test(test_guards_tell_what_was_written),
		cmocka_unit_test(test_room_is_the_device_s_own),
		cmocka_unit_test(test_what_is_no_pack_is_trouble_of_ours),
		cmocka_unit_test(test_a_process_apart_answers),
		cmocka_unit_test(test_a_process_apart_has_no_file_of_ours),
		cmocka_unit_test(test_crashes_and_hangs_apart_are_told),
		cmocka_unit_test(test_an_answer_has_a_ceiling),
		cmocka_unit_test(test_what_it_leaves_behind_is_not_waited_for),
		cmocka_unit_test(test_a_process_that_stays_remembers),
		cmocka_unit_test(
			test_crashes_and_hangs_of_one_that_stays_are_told),
		cmocka_unit_test(test_one_that_stays_holds_no_files_of_ours),
	};

	return cmocka_run_group_tests_name("twopart", tests, NULL, NULL);
}
