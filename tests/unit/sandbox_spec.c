/* What the sandbox makes of a spec before anything is started. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/filter.h>

#include "sandbox/bwrap.h"
#include "sandbox/elf.h"
#include "sandbox/weak.h"

static const char *const program[] = { "/bin/true", NULL };

static struct kf_sandbox_spec good_spec(void)
{
	return (struct kf_sandbox_spec) {
		.profile = KF_SANDBOX_HOST,
		.tier_min = KF_TIER_MEDIUM,
		.argv = program,
		.limits = { 1u << 20, KF_NS_PER_S, KF_NS_PER_S, 1u << 20, 4,
			    KF_SANDBOX_FD_MIN },
		.output_max = 16,
	};
}

static void refused(const struct kf_sandbox_spec *spec, const char *word)
{
	struct kf_sandbox *box = NULL;
	struct kf_err err = { 0 };
	enum kf_code code = kf_sandbox_start(spec, &box, &err);

	assert_true(code == KF_E_INPUT || code == KF_E_LIMIT);
	assert_null(box);
	if (!strstr(err.text, word))
		fail_msg("'%s' does not say '%s'", err.text, word);
}

static void test_every_limit_must_be_set(void **state)
{
	(void)state;
	for (size_t i = 0; i < 6; i++) {
		struct kf_sandbox_spec spec = good_spec();
		uint64_t *wide[] = { &spec.limits.memory_bytes,
				     &spec.limits.cpu_ns,
				     &spec.limits.wall_ns,
				     &spec.limits.file_bytes };

		if (i < 4)
			*wide[i] = 0;
		else if (i == 4)
			spec.limits.processes = 0;
		else
			spec.limits.descriptors = 0;
		refused(&spec, i < 5 ? "limit" : "descriptors");
	}
}

static void test_malformed_specs_are_refused(void **state)
{
	static const char *const nameless[] = { "=x", NULL };
	static const char *const valueless[] = { "PATH", NULL };
	static const char *const nothing[] = { NULL };
	static const struct kf_bind relative = { .source = "lib",
						  .target = "/lib" };
	static const struct kf_bind nowhere = { .source = "/lib",
						 .target = "lib" };
	static const struct kf_fd_pass low = { 5, 2 }, high = { 5, 5000 };
	static const struct kf_fd_pass closed = { -1, 3 };
	const struct kf_fd_pass *passes[] = { &low, &high, &closed };
	struct kf_sandbox_spec spec = good_spec();

	(void)state;
	spec.argv = nothing;
	refused(&spec, "program");
	spec = good_spec();
	spec.env = nameless;
	refused(&spec, "NAME=value");
	spec.env = valueless;
	refused(&spec, "NAME=value");
	spec = good_spec();
	spec.bind = &relative;
	spec.bind_count = 1;
	refused(&spec, "absolute");
	spec.bind = &nowhere;
	refused(&spec, "absolute");
	for (size_t i = 0; i < KF_COUNT(passes); i++) {
		spec = good_spec();
		spec.fd = passes[i];
		spec.fd_count = 1;
		refused(&spec, "descriptor");
	}
	spec.fd_count = KF_SANDBOX_FD_PASS_MAX + 1;
	refused(&spec, "descriptors");
}

static void test_weak_paths_follow_the_binds(void **state)
{
	static const struct kf_bind bind[] = {
		{ .source = "/srv/u/job", .target = "/job" },
		{ .source = "/srv/u/out", .target = "/job/out",
		  .writable = true },
		{ .source = "/usr/bin" },
	};
	static const struct { const char *text, *want; } rows[] = {
		{ "/job", "/srv/u/job" },
		{ "/job/program.c", "/srv/u/job/program.c" },
		{ "/job/out/a.so", "/srv/u/out/a.so" },
		{ "/jobs", "/jobs" },
		{ "/usr/bin/cc", "/usr/bin/cc" },
		{ "--output=/job/out/a", "--output=/srv/u/out/a" },
		{ "/tmp/x", "/var/private/x" },
		{ "TMPDIR=/tmp", "TMPDIR=/var/private" },
		{ "/job/a=/tmp/b", "/srv/u/job/a=/tmp/b" },
		{ "job", "job" },
		{ "", "" },
	};
	struct kf_sandbox_spec spec = { .bind = bind,
					.bind_count = KF_COUNT(bind) };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char *got = kf_weak_path(&spec, "/var/private", rows[i].text);

		assert_string_equal(got, rows[i].want);
		free(got);
	}
}

static bool has(const struct kf_words *words, const char *first,
		const char *second)
{
	for (size_t i = 0; i + 1 < words->count; i++)
		if (strcmp(words->word[i], first) == 0 &&
		    (!second || strcmp(words->word[i + 1], second) == 0))
			return true;
	return false;
}

static void test_every_profile_is_closed(void **state)
{
	static const struct kf_bind bind[] = {
		{ .source = "/srv/x", .target = "/x", .writable = true,
		  .optional = true },
		{ .source = "/dev/dri", .writable = true, .optional = true,
		  .device = true },
	};
	static const char *const env[] = { "A=b=c", NULL };
	static const struct kf_bwrap_fds fds = { 8, 9 };

	(void)state;
	for (int p = KF_SANDBOX_BUILDER; p < KF_SANDBOX_PROFILES; p++) {
		struct kf_sandbox_spec spec = good_spec();
		struct kf_words words = { 0 };

		spec.profile = (enum kf_sandbox_profile)p;
		spec.bind = bind;
		spec.bind_count = KF_COUNT(bind);
		spec.env = env;
		kf_bwrap_command(&spec, "/usr/bin/bwrap", &fds, &words);
		assert_true(has(&words, "--unshare-all", NULL));
		assert_true(has(&words, "--clearenv", NULL));
		assert_true(has(&words, "--die-with-parent", NULL));
		assert_true(has(&words, "--new-session", NULL));
		assert_true(has(&words, "--cap-drop", "ALL"));
		assert_true(has(&words, "--uid", "65534"));
		assert_true(has(&words, "--remount-ro", "/"));
		assert_true(has(&words, "--size", "1048576"));
		assert_true(has(&words, "--seccomp", "9"));
		assert_true(has(&words, "--json-status-fd", "8"));
		assert_true(has(&words, "--bind-try", "/srv/x"));
		assert_true(has(&words, "--dev-bind-try", "/dev/dri"));
		assert_true(has(&words, "A", "b=c"));
		assert_false(has(&words, "--share-net", NULL));
		assert_false(has(&words, "--dev", NULL));
		assert_false(has(&words, "--as-pid-1", NULL));
		assert_int_equal(has(&words, "--proc", "/proc"),
				 p == KF_SANDBOX_REFERENCE ||
				 p == KF_SANDBOX_DEVICE ||
				 p == KF_SANDBOX_PYTHON ||
				 p == KF_SANDBOX_TOOL);
		assert_string_equal(words.word[words.count - 1], "/bin/true");
		kf_words_release(&words);
		spec.first = true;
		kf_bwrap_command(&spec, "/usr/bin/bwrap", &fds, &words);
		assert_true(has(&words, "--as-pid-1", NULL));
		kf_words_release(&words);
	}
}

static void test_binds_keep_their_order_and_strings(void **state)
{
	char source[] = "/a", target[] = "/t";
	struct kf_binds binds = { 0 };

	(void)state;
	kf_binds_add(&binds, source, NULL, false, false);
	kf_binds_add(&binds, source, target, true, true);
	source[1] = target[1] = 'x';
	assert_int_equal(binds.count, 2);
	assert_string_equal(binds.bind[0].target, "/a");
	assert_false(binds.bind[0].writable || binds.bind[0].optional);
	assert_string_equal(binds.bind[1].source, "/a");
	assert_string_equal(binds.bind[1].target, "/t");
	assert_true(binds.bind[1].writable && binds.bind[1].optional);
	kf_binds_release(&binds);
	kf_binds_release(&binds);
}

/* A dozen mounts of files that a mounted folder has cost time and show
 * nothing. */
static void test_libraries_are_bound_once(void **state)
{
	struct kf_binds binds = { 0 };
	struct kf_err err = { 0 };
	size_t count;

	(void)state;
	assert_int_equal(kf_binds_runtime(&binds, &err), KF_OK);
	count = binds.count;
	assert_true(count > 2);
	assert_int_equal(kf_binds_runtime(&binds, &err), KF_OK);
	assert_int_equal(binds.count, count);
	kf_binds_release(&binds);
	kf_binds_toolchain(&binds);
	count = binds.count;
	assert_int_equal(kf_binds_runtime(&binds, &err), KF_OK);
	assert_int_equal(binds.count, count);
	kf_binds_release(&binds);
}

static void test_a_toolchain_is_read_only_and_small(void **state)
{
	static const char *const never[] = { "/", "/etc", "/home", "/root",
					     "/var", "/proc", "/usr",
					     "/dev", "/opt" };
	struct kf_binds binds = { 0 };

	(void)state;
	kf_binds_toolchain(&binds);
	for (size_t i = 0; i < binds.count; i++) {
		assert_false(binds.bind[i].writable);
		for (size_t k = 0; k < KF_COUNT(never); k++)
			assert_string_not_equal(binds.bind[i].source,
						never[k]);
	}
	kf_binds_release(&binds);
}

static void test_loaders_are_read_from_programs(void **state)
{
	char *loader = kf_elf_loader("/proc/self/exe");

	(void)state;
	assert_non_null(loader);
	assert_int_equal(loader[0], '/');
	assert_int_equal(access(loader, X_OK), 0);
	free(loader);
	assert_null(kf_elf_loader("/no/such/file"));
	assert_null(kf_elf_loader("Makefile"));
	assert_null(kf_elf_loader("/dev/null"));
	assert_null(kf_elf_loader("/"));
}

static void test_filters_are_whole_programs(void **state)
{
	(void)state;
	for (int p = KF_SANDBOX_BUILDER; p < KF_SANDBOX_PROFILES; p++) {
		struct kf_err err = { 0 };
		int fd = kf_sandbox_filter_fd((enum kf_sandbox_profile)p, &err);
		struct stat st;

		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &st), 0);
		assert_true(st.st_size > 0);
		assert_int_equal(st.st_size % (off_t)sizeof(struct sock_filter),
				 0);
		assert_true((size_t)st.st_size / sizeof(struct sock_filter) <=
			    BPF_MAXINSNS);
		assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
		close(fd);
	}
}

static void test_system_calls_have_names(void **state)
{
	char name[48];

	(void)state;
	kf_sandbox_syscall_name(100000, name);
	assert_string_equal(name, "system call 100000");
	kf_sandbox_syscall_name(-1, name);
	assert_string_equal(name, "system call -1");
	kf_sandbox_syscall_name(0, name);
	assert_true(name[0] != '\0' && strlen(name) < sizeof(name));
}

static void test_ends_and_tiers_have_names(void **state)
{
	(void)state;
	for (int i = KF_END_NONE; i <= KF_END_CANCELED; i++)
		assert_true(kf_end_name((enum kf_end)i)[0] != '\0');
	assert_string_equal(kf_sandbox_tier_name(KF_TIER_STRONG), "strong");
	assert_string_equal(kf_sandbox_tier_name(KF_TIER_WEAK), "weak");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_limit_must_be_set),
		cmocka_unit_test(test_malformed_specs_are_refused),
		cmocka_unit_test(test_weak_paths_follow_the_binds),
		cmocka_unit_test(test_every_profile_is_closed),
		cmocka_unit_test(test_binds_keep_their_order_and_strings),
		cmocka_unit_test(test_libraries_are_bound_once),
		cmocka_unit_test(test_a_toolchain_is_read_only_and_small),
		cmocka_unit_test(test_loaders_are_read_from_programs),
		cmocka_unit_test(test_filters_are_whole_programs),
		cmocka_unit_test(test_system_calls_have_names),
		cmocka_unit_test(test_ends_and_tiers_have_names),
	};

	return cmocka_run_group_tests_name("sandbox_spec", tests, NULL, NULL);
}
