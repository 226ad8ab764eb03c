#include "sandbox/usage.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROCESSES_MAX 65536
#define DEPTH_MAX 4096
#define NAME_MAX_KERNEL 15	/* TASK_COMM_LEN without its end */

struct process {
	pid_t pid, parent;
	uint64_t ticks;		/* its own and those of children it reaped */
	unsigned tasks;
	char state;		/* 'Z': has ended */
	bool inside;
};

struct table {
	struct process *row;	/* owned */
	size_t count, room;
};

static bool read_small(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, text, size - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

static bool read_stat(pid_t pid, struct process *out)
{
	unsigned long user, system, tasks;
	long child_user, child_system;
	char text[1024];
	const char *at;
	int parent;
	char state;

	if (!read_small(pid, "stat", text, sizeof(text)))
		return false;
	at = strrchr(text, ')');	/* the name may hold anything */
	if (!at || sscanf(at + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u"
			  " %lu %lu %ld %ld %*d %*d %lu", &state, &parent,
			  &user, &system, &child_user, &child_system,
			  &tasks) != 7)
		return false;
	*out = (struct process) {
		.pid = pid,
		.parent = parent,
		.ticks = user + system + (unsigned long)child_user +
			 (unsigned long)child_system,
		.tasks = (unsigned)tasks,
		.state = state,
	};
	return true;
}

static void read_all(struct table *table)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	uint64_t pid;

	*table = (struct table) { 0 };
	while (d && table->count < PROCESSES_MAX && (e = readdir(d)) != NULL) {
		if (!isdigit((unsigned char)e->d_name[0]) ||
		    !kf_parse_u64(e->d_name, &pid))
			continue;
		if (table->count == table->room) {
			table->room = table->room ? table->room * 2 : 256;
			table->row = kf_realloc(table->row, table->room *
						sizeof(table->row[0]));
		}
		if (read_stat((pid_t)pid, &table->row[table->count]))
			table->count++;
	}
	if (d)
		closedir(d);
}

static int by_pid(const void *a, const void *b)
{
	pid_t x = ((const struct process *)a)->pid;
	pid_t y = ((const struct process *)b)->pid;

	return (x > y) - (x < y);
}

/* The table was not read in one instant, so parents may form a circle. */
static bool descends(const struct table *table, const struct process *p,
		     pid_t root)
{
	for (unsigned i = 0; p && i < DEPTH_MAX; i++) {
		struct process key = { .pid = p->parent };

		if (p->inside || p->pid == root)
			return true;
		p = bsearch(&key, table->row, table->count,
			    sizeof(table->row[0]), by_pid);
	}
	return false;
}

/* Marks root and its descendants. A fork bomb makes long tables. */
static void mark(struct table *table, pid_t root)
{
	if (!table->count)
		return;
	qsort(table->row, table->count, sizeof(table->row[0]), by_pid);
	for (size_t i = 0; i < table->count; i++)
		table->row[i].inside = descends(table, &table->row[i], root);
}

static uint64_t kilobytes(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	unsigned long value = 0;

	if (at && sscanf(at + strlen(key), "%lu", &value) != 1)
		value = 0;
	return value;
}

static uint64_t memory_of(pid_t pid)
{
	char text[4096];

	if (!read_small(pid, "status", text, sizeof(text)))
		return 0;
	return 1024 * (kilobytes(text, "RssAnon:") +
		       kilobytes(text, "RssShmem:"));
}

void kf_usage_sample(struct kf_usage *usage, pid_t root)
{
	uint64_t tick_ns = KF_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	struct table table;
	uint64_t cpu_ns = 0;

	read_all(&table);
	mark(&table, root);
	usage->memory_bytes = 0;
	usage->tasks = 0;
	for (size_t i = 0; i < table.count; i++) {
		const struct process *p = &table.row[i];

		if (!p->inside)
			continue;
		/* root only keeps the others; it shares our own memory. */
		if (p->pid != root)
			usage->memory_bytes += memory_of(p->pid);
		usage->tasks += p->tasks;
		cpu_ns += p->ticks * tick_ns;
	}
	/* Time of the reaped can vanish from view, but never was unused. */
	if (cpu_ns > usage->cpu_ns)
		usage->cpu_ns = cpu_ns;
	if (usage->memory_bytes > usage->memory_bytes_peak)
		usage->memory_bytes_peak = usage->memory_bytes;
	free(table.row);
}

unsigned kf_usage_processes(pid_t root)
{
	struct table table;
	unsigned count = 0;

	read_all(&table);
	mark(&table, root);
	for (size_t i = 0; i < table.count; i++)
		count += table.row[i].inside && table.row[i].state != 'Z';
	free(table.row);
	return count;
}

size_t kf_usage_kill(pid_t root)
{
	struct table table;
	size_t count = 0;

	read_all(&table);
	mark(&table, root);
	for (size_t i = 0; i < table.count; i++)
		if (table.row[i].inside && table.row[i].pid != root) {
			kill(table.row[i].pid, SIGKILL);
			count++;
		}
	free(table.row);
	return count;
}

char *kf_usage_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return kf_strndup(name, strnlen(name, NAME_MAX_KERNEL));
}

void kf_usage_children(pid_t root,
		       void (*visit)(void *arg, pid_t child, const char *name),
		       void *arg)
{
	struct table table;

	read_all(&table);
	for (size_t i = 0; i < table.count; i++) {
		char name[64];

		if (table.row[i].parent != root ||
		    !read_small(table.row[i].pid, "comm", name, sizeof(name)))
			continue;
		name[strcspn(name, "\n")] = '\0';
		visit(arg, table.row[i].pid, name);
	}
	free(table.row);
}

unsigned kf_usage_tasks_of_user(void)
{
	struct table table;
	unsigned tasks = 0;

	read_all(&table);
	for (size_t i = 0; i < table.count; i++) {
		struct stat st;
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d",
			 (int)table.row[i].pid);
		if (stat(path, &st) == 0 && st.st_uid == getuid())
			tasks += table.row[i].tasks;
	}
	free(table.row);
	return tasks;
}
