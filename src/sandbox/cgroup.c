#include "sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/cgroup_place.h"

#define TRIES_MAX 10000		/* names taken by boxes of this process */
#define POLL_NS (KF_NS_PER_MS / 2)
#define REMOVE_TRIES 10000u	/* to remove a group whose last process dies */
#define PROC_BYTES (1u << 20)

enum role { MEMORY, TASKS, CPU, ROLES };

/* What the files of a hierarchy are called. */
struct version {
	const char *controller[ROLES];	/* NULL: version 2, one tree */
	const char *memory_max, *swap_max, *swap_max_value;
	const char *peak, *kills;
	const char *cpu, *cpu_key;
	uint64_t cpu_unit_ns;
	const char *kill;		/* NULL: only by walking cgroup.procs */
};

static const struct version versions[] = {
	{
		.memory_max = "memory.max",
		.swap_max = "memory.swap.max",
		.swap_max_value = "0",
		.peak = "memory.peak",
		.kills = "memory.events",
		.cpu = "cpu.stat",
		.cpu_key = "usage_usec ",
		.cpu_unit_ns = 1000,
		.kill = "cgroup.kill",
	},
	{
		.controller = { "memory", "pids", "cpuacct" },
		.memory_max = "memory.limit_in_bytes",
		.swap_max = "memory.memsw.limit_in_bytes",
		.peak = "memory.max_usage_in_bytes",
		.kills = "memory.oom_control",
		.cpu = "cpuacct.usage",
		.cpu_key = "",
		.cpu_unit_ns = 1,
	},
};

struct kf_cgroup {
	const struct version *version;
	char *dir[ROLES];	/* owned; version 2: only the first is set */
	int cpu_fd;		/* kept open: it is read often */
};

static const char *dir_of(const struct kf_cgroup *cgroup, enum role role)
{
	return cgroup->dir[cgroup->version->controller[0] ? role : 0];
}

static bool put(const char *dir, const char *name, const char *value)
{
	char *path = kf_path_join(dir, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t written = -1;
	int failure;

	/* Memory is reclaimed for some of them, until a signal comes. */
	while (fd >= 0 && (written = write(fd, value, strlen(value))) < 0 &&
	       errno == EINTR)
		;
	failure = errno;
	if (fd >= 0)
		close(fd);
	free(path);
	errno = failure;
	return written == (ssize_t)strlen(value);
}

static bool put_number(const char *dir, const char *name, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", (unsigned long)value);
	return put(dir, name, text);
}

/* The number after key (which ends in a space) at the start of a line; with
 * key "" the first number. 0 if there is none. */
static uint64_t number_after(const char *text, const char *key)
{
	unsigned long value = 0;

	for (const char *line = text; *line;) {
		if (strncmp(line, key, strlen(key)) == 0 &&
		    sscanf(line + strlen(key), "%lu", &value) == 1)
			return value;
		line += strcspn(line, "\n");
		line += *line != '\0';
	}
	return 0;
}

static uint64_t get(const char *dir, const char *name, const char *key)
{
	struct kf_buf text = { .max = 16384 };
	char *path = kf_path_join(dir, name);
	uint64_t value = 0;

	if (kf_file_read(path, &text, NULL) == KF_OK)
		value = number_after(kf_buf_str(&text), key);
	kf_buf_release(&text);
	free(path);
	return value;
}

static bool has_word(const char *dir, const char *name, const char *word)
{
	struct kf_buf text = { .max = 4096 };
	char *path = kf_path_join(dir, name);
	bool found = false;

	if (kf_file_read(path, &text, NULL) == KF_OK) {
		const char *at = kf_buf_str(&text);
		size_t len;

		for (; *at && !found; at += len + (at[len] != '\0')) {
			len = strcspn(at, " \n");
			found = len == strlen(word) &&
				memcmp(at, word, len) == 0;
		}
	}
	kf_buf_release(&text);
	free(path);
	return found;
}

/* Version 2: may groups in dir have the controllers we need? */
static bool delegates(const char *dir)
{
	static const char file[] = "cgroup.subtree_control";

	if (access(dir, W_OK))
		return false;
	if (has_word(dir, file, "memory") && has_word(dir, file, "pids"))
		return true;
	/* Refused where processes live in dir itself (but not in the root). */
	return put(dir, file, "+memory +pids") &&
	       has_word(dir, file, "memory") && has_word(dir, file, "pids");
}

/* Version 2: the nearest folder at or above our own in which we may work. A
 * process may not live beside its own child groups, so it is seldom our own. */
static char *find_parent(char *own, size_t mount)
{
	for (;;) {
		char *slash = strrchr(own, '/');

		if (delegates(own))
			return own;
		if (!slash || (size_t)(slash - own) < mount)
			break;
		*slash = '\0';
	}
	free(own);
	return NULL;
}

/* The folders in which to make a group, one for each hierarchy. */
static bool find_parents(const struct version *version, char *parent[ROLES])
{
	struct kf_buf mounts = { .max = PROC_BYTES };
	struct kf_buf groups = { .max = PROC_BYTES };
	bool found = false;
	size_t mount = 0;

	if (kf_file_read("/proc/self/mountinfo", &mounts, NULL) ||
	    kf_file_read("/proc/self/cgroup", &groups, NULL))
		goto out;
	for (size_t i = 0; i < ROLES; i++) {
		if (i && !version->controller[i])
			break;
		parent[i] = kf_cgroup_own(kf_buf_str(&mounts),
					  kf_buf_str(&groups),
					  version->controller[i], &mount);
		if (parent[i] && !version->controller[i])
			parent[i] = find_parent(parent[i], mount);
		found = parent[i] && access(parent[i], W_OK) == 0;
		if (!found)
			break;
	}
out:
	kf_buf_release(&mounts);
	kf_buf_release(&groups);
	return found;
}

/* Makes the folders under one free name. */
static bool make_dirs(struct kf_cgroup *cgroup, char *const parent[ROLES])
{
	char *prefix = kf_cgroup_prefix();
	bool made = false;

	for (unsigned n = 0; n < TRIES_MAX; n++) {
		char *name = kf_format("%s%u", prefix, n);

		cgroup->dir[0] = kf_path_join(parent[0], name);
		made = mkdir(cgroup->dir[0], 0755) == 0;
		for (size_t i = 1; made && i < ROLES && parent[i]; i++) {
			cgroup->dir[i] = kf_path_join(parent[i], name);
			made = mkdir(cgroup->dir[i], 0755) == 0 ||
				errno == EEXIST;
		}
		free(name);
		if (made || errno != EEXIST)
			break;
		free(cgroup->dir[0]);
		cgroup->dir[0] = NULL;
	}
	free(prefix);
	return made;
}

static bool set_limits(struct kf_cgroup *cgroup, uint64_t memory_bytes,
		       unsigned tasks)
{
	const struct version *v = cgroup->version;
	const char *dir = dir_of(cgroup, MEMORY);
	char *swap = kf_path_join(dir, v->swap_max);
	char *cpu = kf_path_join(dir_of(cgroup, CPU), v->cpu);
	bool good;

	good = put_number(dir, v->memory_max, memory_bytes) &&
	       put_number(dir_of(cgroup, TASKS), "pids.max", tasks);
	/* A kernel without swap accounting has no such file. */
	if (good && kf_path_exists(swap))
		good = v->swap_max_value
			? put(dir, v->swap_max, v->swap_max_value)
			: put_number(dir, v->swap_max, memory_bytes);
	cgroup->cpu_fd = open(cpu, O_RDONLY | O_CLOEXEC);
	free(swap);
	free(cpu);
	return good && cgroup->cpu_fd >= 0;
}

static struct kf_cgroup *try_version(const struct version *version,
				     uint64_t memory_bytes, unsigned tasks)
{
	struct kf_cgroup *cgroup = kf_alloc(sizeof(*cgroup));
	char *parent[ROLES] = { NULL };
	bool good;

	*cgroup = (struct kf_cgroup) { .version = version, .cpu_fd = -1 };
	good = find_parents(version, parent);
	for (size_t i = 0; good && i < ROLES && parent[i]; i++)
		kf_cgroup_sweep(parent[i]);
	good = good && make_dirs(cgroup, parent) &&
	       set_limits(cgroup, memory_bytes, tasks);
	for (size_t i = 0; i < ROLES; i++)
		free(parent[i]);
	if (good)
		return cgroup;
	kf_cgroup_free(cgroup);
	return NULL;
}

struct kf_cgroup *kf_cgroup_new(uint64_t memory_bytes, unsigned tasks,
				struct kf_buf *why)
{
	struct kf_cgroup *cgroup = NULL;

	for (size_t i = 0; !cgroup && i < KF_COUNT(versions); i++)
		cgroup = try_version(&versions[i], memory_bytes, tasks);
	if (!cgroup && why)
		kf_buf_puts(why, "no control group with memory and pids can "
			    "be made here; limits are kept by setrlimit and "
			    "by watching (try `systemd-run --user --scope "
			    "-p Delegate=yes kforge ...`)");
	return cgroup;
}

enum kf_code kf_cgroup_enter(const struct kf_cgroup *cgroup, pid_t pid,
			     struct kf_err *err)
{
	for (size_t i = 0; i < ROLES && cgroup->dir[i]; i++)
		if (!put_number(cgroup->dir[i], "cgroup.procs",
				(uint64_t)pid))
			return kf_fail_errno(err, "cannot enter the control "
					     "group %s", cgroup->dir[i]);
	return KF_OK;
}

uint64_t kf_cgroup_cpu_ns(const struct kf_cgroup *cgroup)
{
	char text[1024];
	ssize_t got = pread(cgroup->cpu_fd, text, sizeof(text) - 1, 0);

	if (got <= 0)
		return 0;
	text[got] = '\0';
	return number_after(text, cgroup->version->cpu_key) *
	       cgroup->version->cpu_unit_ns;
}

void kf_cgroup_read(const struct kf_cgroup *cgroup, struct kf_cgroup_use *use)
{
	const char *dir = dir_of(cgroup, MEMORY);

	use->cpu_ns = kf_cgroup_cpu_ns(cgroup);
	use->memory_bytes_peak = get(dir, cgroup->version->peak, "");
	use->memory_kills = get(dir, cgroup->version->kills, "oom_kill ");
}

bool kf_cgroup_kill(struct kf_cgroup *cgroup, uint64_t timeout_ns)
{
	uint64_t deadline_ns = kf_now_ns() + timeout_ns;
	const char *dir = dir_of(cgroup, TASKS);

	if (cgroup->version->kill)
		put(dir, cgroup->version->kill, "1");
	while (kf_cgroup_kill_once(dir)) {
		if (kf_now_ns() > deadline_ns)
			return false;
		kf_sleep_ns(POLL_NS);
	}
	return true;
}

/* A process that has just died may keep its group busy for a moment. */
static void remove_dir(const char *dir)
{
	for (unsigned i = 0; i < REMOVE_TRIES && rmdir(dir) &&
	     errno == EBUSY; i++)
		kf_sleep_ns(POLL_NS);
}

void kf_cgroup_free(struct kf_cgroup *cgroup)
{
	if (!cgroup)
		return;
	if (cgroup->cpu_fd >= 0)
		close(cgroup->cpu_fd);
	for (size_t i = 0; i < ROLES; i++) {
		if (cgroup->dir[i])
			remove_dir(cgroup->dir[i]);
		free(cgroup->dir[i]);
	}
	free(cgroup);
}
