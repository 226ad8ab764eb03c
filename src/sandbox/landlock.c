#include "sandbox/weak.h"
#include "base/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel's interface, stated here because headers lag behind kernels:
 * linux/landlock.h of one system knows half of another's. */
struct ruleset {
	uint64_t fs, net, scoped;
};

struct rule {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

#define VERSION_FLAG 1u
#define RULE_BENEATH 1

#define FS_EXECUTE (1u << 0)
#define FS_WRITE_FILE (1u << 1)
#define FS_READ_FILE (1u << 2)
#define FS_READ_DIR (1u << 3)
#define FS_TRUNCATE (1u << 14)
#define FS_IOCTL_DEV (1u << 15)
#define FS_FILE (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | \
		 FS_IOCTL_DEV)		/* what may be said of a file */
#define FS_LOOK (FS_EXECUTE | FS_READ_FILE | FS_READ_DIR)
/* Device nodes, sockets: even a writable folder gets none. */
#define FS_MAKE_SPECIAL (1u << 6 | 1u << 9 | 1u << 11)

/* What each version of the interface can restrict, from ABI 1 on. */
static const struct {
	uint64_t fs, net, scoped;
	size_t size;
} abis[] = {
	{ (1u << 13) - 1, 0, 0, 8 },
	{ (1u << 14) - 1, 0, 0, 8 },
	{ (1u << 15) - 1, 0, 0, 8 },
	{ (1u << 15) - 1, 3, 0, 16 },		/* TCP */
	{ (1u << 16) - 1, 3, 0, 16 },
	{ (1u << 16) - 1, 3, 3, 24 },		/* sockets, signals */
};

int kf_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION_FLAG);

	return abi > 0 ? (int)abi : 0;
}

/* An absent path is skipped if optional. */
static enum kf_code allow(int ruleset, const char *path, uint64_t allowed,
			  bool optional, struct kf_err *err)
{
	struct rule rule = { .allowed = allowed };
	enum kf_code code = KF_OK;
	struct stat st;

	rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.parent_fd < 0)
		return optional ? KF_OK
				: kf_fail_errno(err, "cannot open %s", path);
	if (fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed &= FS_FILE;
	if (syscall(SYS_landlock_add_rule, ruleset, RULE_BENEATH, &rule, 0))
		code = kf_fail_errno(err, "cannot allow %s", path);
	close(rule.parent_fd);
	return code;
}

static enum kf_code allow_profile(int ruleset,
				  const struct kf_sandbox_spec *spec,
				  struct kf_err *err)
{
	/* Of /proc only what is about the machine: processes' folders would
	 * show the supervisor's environment. */
	static const char *const facts[] = {
		"/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
	};
	const char *const *device = kf_profile_devices(spec->profile);
	enum kf_code code = KF_OK;

	for (; !code && *device; device++)
		code = allow(ruleset, *device, FS_READ_FILE | FS_WRITE_FILE,
			     true, err);
	for (size_t i = 0; !code && kf_sandbox_has_proc(spec) &&
	     i < KF_COUNT(facts); i++)
		code = allow(ruleset, facts[i], FS_READ_FILE, true, err);
	return code;
}

int kf_landlock_new(const struct kf_sandbox_spec *spec, const char *tmp_path,
		    struct kf_err *err)
{
	size_t abi = (size_t)kf_landlock_abi();
	struct ruleset attr;
	uint64_t change;
	enum kf_code code;
	int fd;

	if (!abi)
		return -1;
	if (abi > KF_COUNT(abis))
		abi = KF_COUNT(abis);
	attr = (struct ruleset) {
		abis[abi - 1].fs, abis[abi - 1].net, abis[abi - 1].scoped
	};
	change = attr.fs & ~(uint64_t)FS_MAKE_SPECIAL;
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr,
			  abis[abi - 1].size, 0);
	if (fd < 0) {
		kf_fail_errno(err, "cannot restrict files by Landlock");
		return -1;
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	code = allow(fd, tmp_path, change, false, err);
	if (!code)
		code = allow_profile(fd, spec, err);
	for (size_t i = 0; !code && i < spec->bind_count; i++) {
		const struct kf_bind *b = &spec->bind[i];

		if (!kf_bind_is_proc(b))
			code = allow(fd, b->source, b->writable ? change :
				     FS_LOOK, b->optional, err);
	}
	if (!code)
		return fd;
	close(fd);
	return -1;
}
