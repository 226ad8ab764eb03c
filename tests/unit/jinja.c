/*
 * The template engine by itself: results, errors with their places, ceilings.
 * tests/conformance/jinja.py compares far more of it with Python's jinja2.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "prompt/jinja.h"

#define OUTPUT_BYTES (1u << 20)

static char *load(void *arg, const char *name)
{
	return kf_strdup(kf_json_str(arg, name, NULL));
}

static const char context_text[] =
	"{\"n\": 7, \"f\": 2.5, \"s\": \"hello\", \"yes\": true, \"nil\": null,"
	" \"xs\": [3, 1, 2], \"d\": {\"b\": 2, \"a\": 1}, \"u\": \"n\\u00e4h\","
	" \"rows\": [{\"k\": \"a\", \"v\": 1}, {\"k\": \"b\", \"v\": 2}]}";

static enum kf_code render_all(json_t *templates, const char *name,
			       struct kf_buf *out, struct kf_err *err)
{
	struct kf_jinja_loader loader = { load, templates };
	json_t *context = NULL;
	enum kf_code code;

	assert_int_equal(kf_json_parse(context_text, strlen(context_text),
				       "context", &context, err), KF_OK);
	code = kf_jinja_render(&loader, name, context, out, err);
	json_decref(context);
	return code;
}

static enum kf_code render(const char *text, struct kf_buf *out,
			   struct kf_err *err)
{
	json_t *templates = json_pack("{s:s}", "t", text);
	enum kf_code code = render_all(templates, "t", out, err);

	json_decref(templates);
	return code;
}

static void check(const char *text, const char *wanted)
{
	struct kf_buf out = { .max = OUTPUT_BYTES };
	struct kf_err err = { 0 };

	if (render(text, &out, &err))
		fail_msg("%s: %s", text, err.text);
	assert_string_equal(kf_buf_str(&out), wanted);
	kf_buf_release(&out);
}

static void check_fails(const char *text, enum kf_code code, const char *words)
{
	struct kf_buf out = { .max = OUTPUT_BYTES };
	struct kf_err err = { 0 };

	if (render(text, &out, &err) != code || !strstr(err.text, words))
		fail_msg("%s: %s (%s)", text, err.text,
			 kf_code_name(err.code));
	kf_buf_release(&out);
}

struct row { const char *text, *wanted; };

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check(rows[i].text, rows[i].wanted);
}

static void test_values_are_printed_as_python_prints_them(void **state)
{
	static const struct row rows[] = {
		{ "{{ n }} {{ f }} {{ yes }} {{ nil }}", "7 2.5 True None" },
		{ "{{ [1, 'a', \"it's\", none, 2.0] }}",
		  "[1, 'a', \"it's\", None, 2.0]" },
		{ "{{ d }} {{ (1,) }} {{ () }}", "{'b': 2, 'a': 1} (1,) ()" },
		{ "{{ 1e16 }} {{ 1e15 }} {{ 0.1 + 0.2 }} {{ 1e-5 }}",
		  "1e+16 1000000000000000.0 0.30000000000000004 1e-05" },
		{ "{{ ['\\n\\x00\\'\"'] }}", "['\\n\\x00\\'\"']" },
		{ "{{ 9223372036854775807 }}", "9223372036854775807" },
		{ "{{ range(1, 9, 2) }} {{ d.items() }}",
		  "range(1, 9, 2) dict_items([('b', 2), ('a', 1)])" },
	};

	(void)state;
	check_rows(rows, KF_COUNT(rows));
}

static void test_expressions(void **state)
{
	static const struct row rows[] = {
		{ "{{ 7 // -2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }}",
		  "-4 2 3.5 1024" },
		{ "{{ 1 < n <= 7 != 3 }} {{ 3 in xs and not 4 in xs }}",
		  "True True" },
		{ "{{ s[1:3] }} {{ xs[::-1] }} {{ u[1] }} {{ rows[1].k }}",
		  "el [2, 1, 3] \xc3\xa4 b" },
		{ "{{ 'a' ~ n ~ none }} {{ 'b' * 3 }} {{ xs + [9] }}",
		  "a7None bbb [3, 1, 2, 9]" },
		{ "{{ 'x' if n > 9 else 'y' }}{{ 'z' if n > 9 }}", "y" },
		{ "{{ '%05.1f|%-4s|%x' % (f, s[:2], 255) }}", "002.5|he  |ff" },
	};

	(void)state;
	check_rows(rows, KF_COUNT(rows));
}

static void test_statements(void **state)
{
	static const struct row rows[] = {
		{ "{% for x in xs if x != 1 %}{{ loop.index }}:{{ x }}"
		  "{{ ',' if not loop.last }}{% else %}none{% endfor %}",
		  "1:3,2:2" },
		{ "{% for k, v in d|dictsort %}{{ k }}{{ v }}{% endfor %}",
		  "a1b2" },
		{ "{% set ns = namespace(t=0) %}{% for x in xs %}"
		  "{% set ns.t = ns.t + x %}{% endfor %}{{ ns.t }}", "6" },
		{ "{% macro m(a, b=2) %}{{ a + b }}{% endmacro %}"
		  "{{ m(1) }}{{ m(1, b=3) }}", "34" },
		{ "{% macro m() %}<{{ caller('x') }}>{% endmacro %}"
		  "{% call(c) m() %}{{ c }}!{% endcall %}", "<x!>" },
		{ "{% filter upper %}a{{ s }}{% endfilter %}", "AHELLO" },
		{ "{% with a = 1 %}{{ a }}{% endwith %}{{ a is defined }}",
		  "1False" },
		{ "{% raw %}{{ x }}{% endraw %}{# gone #}", "{{ x }}" },
		{ "a  {%- if yes -%}  b  {%- endif %}  c\n", "ab  c" },
		{ "{% set x %}{{ s }}{% endset %}{{ x|length }}", "5" },
	};

	(void)state;
	check_rows(rows, KF_COUNT(rows));
}

static void test_filters_and_tests(void **state)
{
	static const struct row rows[] = {
		{ "{{ xs|sort(reverse=true)|join('-') }}", "3-2-1" },
		{ "{{ rows|map(attribute='v')|sum }}", "3" },
		{ "{{ rows|selectattr('v', 'gt', 1)|map(attribute='k')|list }}",
		  "['b']" },
		{ "{{ missing|default('d') }} {{ ''|default('e', true) }}",
		  "d e" },
		{ "{{ 'a\nb'|indent(2) }} {{ s|center(9) }}|",
		  "a\n  b   hello  |" },
		{ "{{ d|tojson }} {{ [1.5, none]|tojson }}",
		  "{\"a\": 1, \"b\": 2} [1.5, null]" },
		{ "{{ 2.5|round }} {{ 2.567|round(2) }} {{ '12'|int + 1 }}",
		  "2.0 2.57 13" },
		{ "{{ 'one two three'|wordwrap(7) }}", "one two\nthree" },
		{ "{{ 'one two three'|truncate(9, leeway=0) }}", "one..." },
		{ "{{ xs is sequence }} {{ 4 is even }} {{ n is in xs }}",
		  "True True False" },
	};

	(void)state;
	check_rows(rows, KF_COUNT(rows));
}

static void test_templates_work_together(void **state)
{
	json_t *templates = json_pack(
		"{s:s, s:s, s:s, s:s}",
		"base", "[{% block a %}base {{ n }}{% endblock %}]",
		"child", "{% extends 'base' %}{% block a %}{{ super() }}+"
			 "{% include 'part' %}{% endblock %}",
		"part", "{% import 'lib' as lib %}{{ lib.hi(s) }}"
			"{% include 'nope' ignore missing %}",
		"lib", "{% macro hi(x) %}hi {{ x }}{% endmacro %}");
	struct kf_buf out = { .max = OUTPUT_BYTES };
	struct kf_err err = { 0 };

	(void)state;
	assert_int_equal(render_all(templates, "child", &out, &err), KF_OK);
	assert_string_equal(kf_buf_str(&out), "[base 7+hi hello]");
	kf_buf_release(&out);
	json_decref(templates);
}

static void test_errors_name_file_and_line(void **state)
{
	static const struct row rows[] = {
		{ "a\nb {{ nme }}", "t:2: nme is undefined" },
		{ "{{ d.zz }}", "t:1: a dict has no attribute 'zz'" },
		{ "\n\n{% if n %}", "t:3: endif is missing" },
		{ "{{ n|nofilter }}", "t:1: no filter is called nofilter" },
		{ "\n{{ n is notest }}", "t:2: no test is called notest" },
		{ "{% unknown %}", "t:1: unknown tag unknown" },
		{ "{{ 'a", "t:1: a string has no end" },
		{ "{{ 1 + }}", "expected an expression, got '}}'" },
		{ "{{ 1 / 0 }}", "division by zero" },
		{ "{{ 9223372036854775807 + 1 }}", "64 bits" },
		{ "{{ 99999999999999999999 }}", "64 bits" },
		{ "{{ 'a' + 1 }}", "+ does not work between a str and a int" },
		{ "{% include 'zz' %}", "there is no template called zz" },
		{ "{{ xs|map('upper') }}", "add |list or |join" },
		{ "{% for a, b in xs %}{% endfor %}", "cannot be iterated" },
		{ "{% macro m(a) %}{{ a }}{% endmacro %}\n{{ m() }}",
		  "argument a was not given" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		check_fails(rows[i].text, KF_E_INPUT, rows[i].wanted);
}

static void test_an_error_in_an_included_template_names_that_one(void **state)
{
	json_t *templates = json_pack("{s:s, s:s}", "t", "{% include 'u' %}",
				      "u", "\n{% macro m() %}\n{{ nowhere }}"
				      "{% endmacro %}{{ m() }}");
	struct kf_buf out = { .max = OUTPUT_BYTES };
	struct kf_err err = { 0 };

	(void)state;
	assert_int_equal(render_all(templates, "t", &out, &err), KF_E_INPUT);
	assert_string_equal(err.text, "u:3: nowhere is undefined");
	kf_buf_release(&out);
	json_decref(templates);
}

static void test_nothing_runs_for_ever_or_grows_without_bound(void **state)
{
	static const struct row rows[] = {
		{ "{% for a in range(9999) %}{% for b in range(9999) %}"
		  "{% endfor %}{% endfor %}", "turns of loops" },
		{ "{% for a in range(999999999999) %}x{% endfor %}", "" },
		{ "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "deep" },
		{ "{% include 't' %}", "deep" },
		{ "{% extends 't' %}", "deep" },
		{ "{% import 't' as t %}", "deep" },
		{ "{{ 'x' * 999999999999 }}", "MiB" },
		{ "{{ [1] * 999999999999 }}", "" },
		{ "{{ 'x'|center(999999999999) }}", "MiB" },
		{ "{{ range(999999999999)|list }}", "items" },
		{ "{% set l = [1] %}{% for i in l %}{% set _ = l.append(i) %}"
		  "{% endfor %}", "" },
		{ "{% set ns = namespace(t='x') %}{% for i in range(99) %}"
		  "{% set ns.t = ns.t ~ ns.t %}{% endfor %}", "MiB" },
		{ "{% set l = [] %}{% set _ = l.append(l) %}{{ l }}", "deep" },
		{ "{{ '%999999999d' % 1 }}", "10000" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		check_fails(rows[i].text, KF_E_LIMIT, rows[i].wanted);
}

static void test_deep_nesting_of_a_text_is_a_limit(void **state)
{
	static const char *const piece[] = { "(", "[", "not ", "-", "{1:",
					     "1 if " };
	struct kf_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(piece); i++) {
		struct kf_buf text = { .max = OUTPUT_BYTES };
		struct kf_buf out = { .max = OUTPUT_BYTES };

		kf_buf_puts(&text, "{{ ");
		for (size_t k = 0; k < 20000; k++)
			kf_buf_puts(&text, piece[i]);
		assert_int_not_equal(render(kf_buf_str(&text), &out, &err),
				     KF_OK);
		kf_buf_release(&text);
		kf_buf_release(&out);
	}
}

static void test_the_ceiling_of_the_output_is_the_callers(void **state)
{
	struct kf_buf out = { .max = 10 };
	struct kf_err err = { 0 };

	(void)state;
	assert_int_equal(render("{{ s }}{{ s }}{{ s }}", &out, &err),
			 KF_E_LIMIT);
	kf_buf_release(&out);
}

static void test_names_keep_jinja2s_scopes(void **state)
{
	static const struct row rows[] = {
		{ "{% for x in xs %}{% set n = x %}{% endfor %}{{ n }}", "7" },
		{ "{% if yes %}{% set n = 1 %}{% endif %}{{ n }}", "1" },
		{ "{% set n = n + 1 %}{{ n }}", "8" },
		{ "{% set q = 3 %}{% macro m() %}{{ q }}{% endmacro %}"
		  "{% set q = 4 %}{{ m() }}", "4" },
		{ "{% set q = 3 %}{% block b %}{{ q }}{% endblock %}", "3" },
		{ "{% for x in xs %}{% block b scoped %}{{ x }}{% endblock %}"
		  "{% endfor %}", "312" },
	};

	(void)state;
	check_rows(rows, KF_COUNT(rows));
	/* Assigned later in the frame, so not the context's before. */
	check_fails("{% for x in xs %}{{ n }}{% endfor %}{% set n = 1 %}",
		    KF_E_INPUT, "n is undefined");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_are_printed_as_python_prints_them),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_statements),
		cmocka_unit_test(test_filters_and_tests),
		cmocka_unit_test(test_templates_work_together),
		cmocka_unit_test(test_errors_name_file_and_line),
		cmocka_unit_test(
			test_an_error_in_an_included_template_names_that_one),
		cmocka_unit_test(
			test_nothing_runs_for_ever_or_grows_without_bound),
		cmocka_unit_test(test_deep_nesting_of_a_text_is_a_limit),
		cmocka_unit_test(
			test_the_ceiling_of_the_output_is_the_callers),
		cmocka_unit_test(test_names_keep_jinja2s_scopes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
