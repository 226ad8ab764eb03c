/* Where a control group may be made: from texts of /proc of other machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/cgroup_place.h"

/* Version 1: a folder and a mount for each controller. */
static const char legacy[] =
	"22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
	"31 22 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
	"33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup "
	"rw,cpu,cpuacct\n"
	"36 31 0:33 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup "
	"rw,memory\n"
	"37 31 0:34 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
static const char legacy_groups[] =
	"5:memory:/user.slice\n"
	"3:cpu,cpuacct:/a/b\n"
	"1:name=systemd:/user.slice\n"
	"0::/user.slice/session-1.scope\n";

/* Version 2 as systemd mounts it. */
static const char unified[] =
	"25 30 0:23 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 "
	"rw,nsdelegate,memory_recursiveprot\n";
static const char unified_groups[] =
	"0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope\n";

/* A container that sees its own part of version 1 only. */
static const char part[] =
	"40 39 0:33 /docker/0123 /sys/fs/cgroup/memory ro - cgroup cgroup "
	"rw,memory\n";

static void test_own_group_is_found(void **state)
{
	static const struct {
		const char *what, *mounts, *groups, *controller, *dir;
		size_t mount;
	} rows[] = {
		{ "memory", legacy, legacy_groups, "memory", "/sys/fs/cgroup/memory/user.slice", 21 },
		{ "one of two", legacy, legacy_groups, "cpuacct", "/sys/fs/cgroup/cpu,cpuacct/a/b", 26 },
		{ "not mounted", legacy, legacy_groups, "pids", NULL, 0 },
		{ "a part of a name", legacy, legacy_groups, "mem", NULL, 0 },
		{ "version 2 of a mixed system", legacy, legacy_groups, NULL, "/sys/fs/cgroup/unified/user.slice/session-1.scope", 22 },
		{ "version 2", unified, unified_groups, NULL, "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope", 14 },
		{ "version 2, root", unified, "0::/\n", NULL, "/sys/fs/cgroup", 14 },
		{ "no version 1 under version 2", unified, unified_groups, "memory", NULL, 0 },
		{ "part, at its root", part, "5:memory:/docker/0123\n", "memory", "/sys/fs/cgroup/memory", 21 },
		{ "part, below", part, "5:memory:/docker/0123/x\n", "memory", "/sys/fs/cgroup/memory/x", 21 },
		{ "part, another's", part, "5:memory:/docker/4567\n", "memory", NULL, 0 },
		{ "above the namespace", unified, "0::/../up\n", NULL, NULL, 0 },
		{ "nothing", "", "", "memory", NULL, 0 },
		{ "no final newline", part, "5:memory:/docker/0123/x", "memory", "/sys/fs/cgroup/memory/x", 21 },
		{ "half a line", "40 39 0:33 /\n", "0::\n::", NULL, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		size_t mount = 0;
		char *dir = kf_cgroup_own(rows[i].mounts, rows[i].groups,
					  rows[i].controller, &mount);

		if (!rows[i].dir && dir)
			fail_msg("%s: found %s", rows[i].what, dir);
		if (rows[i].dir && !dir)
			fail_msg("%s: not found", rows[i].what);
		if (dir) {
			assert_string_equal(dir, rows[i].dir);
			assert_int_equal(mount, rows[i].mount);
		}
		free(dir);
	}
}

static void make_dir(const char *parent, const char *name, char **out)
{
	*out = kf_path_join(parent, name);
	assert_int_equal(mkdir(*out, 0755), 0);
}

/* Plain folders stand for groups: rmdir is the same call. */
static void test_only_the_dead_of_here_are_swept(void **state)
{
	char dir[] = "/tmp/kforge-test-XXXXXX";
	char *own = kf_cgroup_prefix();
	char *living_name = kf_format("%s0", own);
	char *dead_name, *restarted_name, *foreign_name;
	char *living, *dead, *restarted, *foreign, *other, *longer;
	unsigned long ns, started;
	int pid;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(sscanf(own, "kforge-%lu-%d-%lu-", &ns, &pid,
				&started), 3);
	assert_int_equal(pid, getpid());
	assert_true(started > 0);
	dead_name = kf_format("kforge-%lu-%d-%lu-3", ns, 1 << 30, started);
	restarted_name = kf_format("kforge-%lu-%d-%lu-0", ns, pid,
				   started - 1);
	foreign_name = kf_format("kforge-%lu-%d-%lu-0", ns + 1, 1 << 30,
				 started);
	make_dir(dir, living_name, &living);
	make_dir(dir, dead_name, &dead);
	make_dir(dir, restarted_name, &restarted);
	make_dir(dir, foreign_name, &foreign);
	make_dir(dir, "kforge-notes", &other);
	make_dir(dir, "system.slice", &longer);
	kf_cgroup_sweep(dir);
	assert_true(kf_path_exists(living));
	assert_false(kf_path_exists(dead));
	assert_false(kf_path_exists(restarted));
	assert_true(kf_path_exists(foreign));
	assert_true(kf_path_exists(other));
	assert_true(kf_path_exists(longer));
	assert_int_equal(kf_remove_tree(dir, NULL), KF_OK);
	free(own);
	free(living_name);
	free(dead_name);
	free(restarted_name);
	free(foreign_name);
	free(living);
	free(dead);
	free(restarted);
	free(foreign);
	free(other);
	free(longer);
}

static void test_sweeping_nowhere_is_harmless(void **state)
{
	(void)state;
	kf_cgroup_sweep("/no/such/folder");
	assert_int_equal(kf_cgroup_kill_once("/no/such/folder"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_group_is_found),
		cmocka_unit_test(test_only_the_dead_of_here_are_swept),
		cmocka_unit_test(test_sweeping_nowhere_is_harmless),
	};

	return cmocka_run_group_tests_name("sandbox_cgroup", tests, NULL,
					   NULL);
}
