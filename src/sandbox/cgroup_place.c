#include "sandbox/cgroup_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* The n-th field (from 0) of a line, separated by single spaces. */
static const char *field(const char *line, unsigned n, size_t *len)
{
	for (; n; n--) {
		line += strcspn(line, " \n");
		if (*line != ' ')
			return NULL;
		line++;
	}
	*len = strcspn(line, " \n");
	return line;
}

static bool equals(const char *text, size_t len, const char *want)
{
	return strlen(want) == len && memcmp(text, want, len) == 0;
}

/* Is want one of the comma-separated words? */
static bool listed(const char *words, size_t len, const char *want)
{
	while (len) {
		size_t word = 0;

		while (word < len && words[word] != ',')
			word++;
		if (equals(words, word, want))
			return true;
		if (word < len)
			word++;
		words += word;
		len -= word;
	}
	return false;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : line;
}

/* The mountinfo line that mounts the controller's hierarchy. */
static const char *find_mount(const char *mountinfo, const char *controller)
{
	const char *line, *dash, *type, *options;
	size_t len = 0;

	for (line = mountinfo; *line; line = next_line(line)) {
		dash = strstr(line, " - ");
		if (!dash || dash > line + strcspn(line, "\n"))
			continue;
		type = field(dash + 3, 0, &len);
		if (!equals(type, len, controller ? "cgroup" : "cgroup2"))
			continue;
		if (!controller)
			return line;
		options = field(dash + 3, 2, &len);
		if (options && listed(options, len, controller))
			return line;
	}
	return NULL;
}

/* The path in /proc/self/cgroup: "4:memory:/path", "0::/path". */
static const char *find_path(const char *groups, const char *controller,
			     size_t *path_len)
{
	const char *line, *names, *path;

	for (line = groups; *line; line = next_line(line)) {
		size_t whole = strcspn(line, "\n");

		names = memchr(line, ':', whole);
		if (!names)
			continue;
		names++;
		path = memchr(names, ':', whole - (size_t)(names - line));
		if (!path)
			continue;
		if (controller ? !listed(names, (size_t)(path - names),
					 controller)
			       : path != names)
			continue;
		path++;
		*path_len = whole - (size_t)(path - line);
		return path;
	}
	return NULL;
}

char *kf_cgroup_own(const char *mountinfo, const char *groups,
		    const char *controller, size_t *mount)
{
	const char *line = find_mount(mountinfo, controller);
	size_t root_len = 0, point_len = 0, path_len = 0;
	const char *path = find_path(groups, controller, &path_len);
	const char *root = line ? field(line, 3, &root_len) : NULL;
	const char *point = line ? field(line, 4, &point_len) : NULL;

	if (!path || !root || !point)
		return NULL;
	/* In a container the mount may show only a part of the tree. */
	if (equals(root, root_len, "/"))
		root_len = 0;
	if (path_len < root_len || memcmp(path, root, root_len) != 0 ||
	    memmem(path, path_len, "/..", 3))
		return NULL;
	path += root_len;
	path_len -= root_len;
	if (path_len && path[path_len - 1] == '/')
		path_len--;
	if (mount)
		*mount = point_len;
	return kf_format("%.*s%.*s", (int)point_len, point, (int)path_len,
			 path);
}

/* Field 22 of /proc/PID/stat: with the pid it names a process for ever. */
static uint64_t start_time(pid_t pid)
{
	char path[64], text[1024];
	const char *at;
	uint64_t value = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (got <= 0)
		return 0;
	text[got] = '\0';
	at = strrchr(text, ')');	/* the name may hold anything */
	for (unsigned i = 2; at && i < 22; i++) {
		at = strchr(at, ' ');
		if (at)
			at++;
	}
	if (at && sscanf(at, "%lu", &value) != 1)
		value = 0;
	return value;
}

static unsigned long own_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (unsigned long)st.st_ino;
}

char *kf_cgroup_prefix(void)
{
	return kf_format("kforge-%lu-%d-%lu-", own_namespace(), (int)getpid(),
			 (unsigned long)start_time(getpid()));
}

size_t kf_cgroup_kill_once(const char *dir)
{
	char *path = kf_path_join(dir, "cgroup.procs");
	FILE *f = fopen(path, "re");
	size_t count = 0;
	int pid;

	while (f && fscanf(f, "%d", &pid) == 1)
		if (pid > 1) {	/* 0: a process of another pid namespace */
			kill(pid, SIGKILL);
			count++;
		}
	if (f)
		fclose(f);
	free(path);
	return count;
}

void kf_cgroup_sweep(const char *dir)
{
	unsigned long here = own_namespace(), ns, started;
	DIR *d = opendir(dir);
	struct dirent *e;
	unsigned counter;
	int pid;

	while (d && (e = readdir(d)) != NULL) {
		char *path;

		if (sscanf(e->d_name, "kforge-%lu-%d-%lu-%u", &ns, &pid,
			   &started, &counter) != 4 || ns != here || pid <= 0)
			continue;
		if (start_time(pid) == started)
			continue;
		path = kf_path_join(dir, e->d_name);
		kf_cgroup_kill_once(path);
		rmdir(path);	/* if it is not empty yet, next time */
		free(path);
	}
	if (d)
		closedir(d);
}
