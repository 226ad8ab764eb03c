#include "problem/bundle_use.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define GONE ".gone"		/* after a key: being removed */
#define KEY_DIGITS 32
#define POLL_NS (10 * KF_NS_PER_MS)

struct entry {
	char *path;		/* owned */
	uint64_t bytes;
	struct timespec used;
};

struct list {
	struct entry *entry;	/* owned */
	size_t count, room;
	uint64_t bytes;
};

/* Of a cache that may only be read a lock can be shared all the same. */
static int open_used(const char *entry)
{
	char *path = kf_format("%s.used", entry);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0 && (errno == EACCES || errno == EROFS))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	return fd;
}

int kf_bundle_use(const char *entry, const volatile int *cancel)
{
	int fd = open_used(entry);

	while (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB)) {
		if ((errno == EWOULDBLOCK || errno == EINTR) &&
		    !(cancel && *cancel)) {
			kf_sleep_ns(POLL_NS);
			continue;
		}
		close(fd);
		return -1;
	}
	if (fd >= 0)
		(void)futimens(fd, NULL);
	return fd;
}

/* Of one from before there were such files: its own. */
static struct timespec used_at(const char *entry)
{
	char *path = kf_format("%s.used", entry);
	struct stat st = { 0 };

	if (stat(path, &st))
		(void)stat(entry, &st);
	free(path);
	return st.st_mtim;
}

/* A folder of our own whose name is a key and then end. */
static bool is_entry(const char *path, const char *name, const char *end)
{
	struct stat st;

	return strspn(name, "0123456789abcdef") == KEY_DIGITS &&
		strcmp(name + KEY_DIGITS, end) == 0 &&
		lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
		st.st_uid == geteuid();
}

static void add(struct list *list, const char *folder, const char *name)
{
	char *path = kf_path_join(folder, name);
	struct entry *e;

	if (is_entry(path, name, GONE))	/* whoever removed it was killed */
		(void)kf_remove_tree(path, NULL);
	if (!is_entry(path, name, "")) {
		free(path);
		return;
	}
	if (list->count == list->room) {
		list->room = list->room ? 2 * list->room : 64;
		list->entry = kf_realloc(list->entry, list->room *
					 sizeof(list->entry[0]));
	}
	e = &list->entry[list->count++];
	*e = (struct entry) {
		.path = path, .bytes = kf_folder_bytes(path, NULL),
		.used = used_at(path),
	};
	list->bytes += e->bytes;
}

static void find_all(const char *folder, struct list *list)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	*list = (struct list) { 0 };
	while (d && (e = readdir(d)) != NULL)
		add(list, folder, e->d_name);
	if (d)
		closedir(d);
}

static int by_time(const void *a, const void *b)
{
	const struct timespec *x = &((const struct entry *)a)->used;
	const struct timespec *y = &((const struct entry *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* False if somebody uses it, or it cannot be removed. */
static bool remove_entry(const char *entry)
{
	char *gone = kf_format("%s" GONE, entry);
	int fd = open_used(entry);
	bool removed = false;

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		removed = rename(entry, gone) == 0 &&
			kf_remove_tree(gone, NULL) == KF_OK;
	if (fd >= 0)
		close(fd);
	free(gone);
	return removed;
}

static void release(struct list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->entry[i].path);
	free(list->entry);
}

/* Until they take no more than so many bytes and, each that goes making room,
 * no more than what is free. */
static unsigned trim(struct list *list, uint64_t bytes, uint64_t free_bytes)
{
	unsigned count = 0;

	if (list->count)
		qsort(list->entry, list->count, sizeof(list->entry[0]),
		      by_time);
	for (size_t i = 0; i < list->count; i++) {
		const struct entry *e = &list->entry[i];

		if (list->bytes <= bytes && list->bytes <= free_bytes)
			break;
		if (!remove_entry(e->path))
			continue;
		list->bytes -= e->bytes;
		if (free_bytes < UINT64_MAX)
			free_bytes += e->bytes;
		count++;
	}
	return count;
}

unsigned kf_bundle_trim_to(const char *folder, uint64_t bytes,
			   uint64_t free_bytes, uint64_t *removed_bytes)
{
	char *path = kf_path_join(folder, "trim.lock");
	struct kf_lock lock = { 0 };
	unsigned count = 0;
	struct list list;

	/* One at a time: two would each make room for both. */
	*removed_bytes = 0;
	if (kf_lock_try(path, &lock, NULL) || !lock.held)
		goto out;
	find_all(folder, &list);
	*removed_bytes = list.bytes;
	count = trim(&list, bytes, free_bytes);
	*removed_bytes -= list.bytes;
	release(&list);
out:
	kf_lock_release(&lock);
	free(path);
	return count;
}

void kf_bundle_trim(const char *folder, const struct kf_log *log)
{
	struct statvfs fs;
	uint64_t bytes;
	unsigned count;

	if (statvfs(folder, &fs))
		return;
	count = kf_bundle_trim_to(folder, UINT64_MAX,
				  (uint64_t)fs.f_bavail * fs.f_frsize, &bytes);
	if (count)
		kf_logf(log, KF_LOG_INFO, "bundles took more of the disk than "
			"was free: removed the %u used longest ago, %.1f GB",
			count, (double)bytes / 1e9);
}
