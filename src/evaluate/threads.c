#include "evaluate/threads.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#define CACHED_MAX	128u	/* threads beyond it are opened at each look */
#define TEXT_BYTES	256u	/* holds the name and the state */

void kf_threads_init(struct kf_threads *threads, pid_t pid)
{
	char path[40];

	*threads = (struct kf_threads) { 0 };
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	if (pid)
		threads->dir = opendir(path);
}

static void close_files(struct kf_thread *thread)
{
	if (thread->stat_fd >= 0)
		close(thread->stat_fd);
	if (thread->schedstat_fd >= 0)
		close(thread->schedstat_fd);
}

void kf_threads_release(struct kf_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++)
		close_files(&threads->thread[i]);
	free(threads->thread);
	if (threads->dir)
		closedir(threads->dir);
	*threads = (struct kf_threads) { 0 };
}

static int open_file(const struct kf_threads *threads, const char *id,
		     const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%.20s/%s", id, name);
	return openat(dirfd(threads->dir), path, O_RDONLY | O_CLOEXEC);
}

/* What the file says now; "" once the thread has ended. */
static void read_file(int fd, char text[TEXT_BYTES + 1])
{
	ssize_t got = fd >= 0 ? pread(fd, text, TEXT_BYTES, 0) : 0;

	text[got > 0 ? got : 0] = '\0';
}

enum look { ENDED, STANDS, RUNS };

/* The state follows the name, which stands in brackets and may hold brackets
 * of its own. */
static enum look look(int stat_fd)
{
	char text[TEXT_BYTES + 1], *at;

	read_file(stat_fd, text);
	if (!text[0])
		return ENDED;
	at = strrchr(text, ')');
	return at && at[1] == ' ' && at[2] && strchr("TtZXx", at[2]) ?
	       STANDS : RUNS;
}

static struct kf_thread *find(struct kf_threads *threads, pid_t id)
{
	for (size_t i = 0; i < threads->count; i++)
		if (threads->thread[i].id == id)
			return &threads->thread[i];
	return NULL;
}

static void open_files(const struct kf_threads *threads, const char *name,
		       struct kf_thread *thread)
{
	thread->stat_fd = open_file(threads, name, "stat");
	thread->schedstat_fd = open_file(threads, name, "schedstat");
}

static struct kf_thread *add(struct kf_threads *threads, const char *name,
			     pid_t id)
{
	struct kf_thread *thread;

	if (threads->count == threads->room) {
		threads->room = threads->room ? 2 * threads->room : 8;
		threads->thread = kf_realloc(threads->thread, threads->room *
					     sizeof(threads->thread[0]));
	}
	thread = &threads->thread[threads->count++];
	*thread = (struct kf_thread) { .id = id };
	open_files(threads, name, thread);
	return thread;
}

/* One that is not kept open. */
static enum look look_once(const struct kf_threads *threads, const char *name)
{
	int fd = open_file(threads, name, "stat");
	enum look seen = look(fd);

	if (fd >= 0)
		close(fd);
	return seen;
}

static bool runs(struct kf_threads *threads, const char *name)
{
	struct kf_thread *thread;
	enum look seen;
	uint64_t id;

	if (!kf_parse_u64(name, &id))
		return false;		/* "." and ".." */
	thread = find(threads, (pid_t)id);
	if (!thread && threads->count == CACHED_MAX)
		return look_once(threads, name) == RUNS;
	if (!thread)
		thread = add(threads, name, (pid_t)id);
	thread->seen = true;
	seen = look(thread->stat_fd);
	if (seen == ENDED) {	/* another may have its number by now */
		close_files(thread);
		open_files(threads, name, thread);
		seen = look(thread->stat_fd);
	}
	return seen == RUNS;
}

static void forget_ended(struct kf_threads *threads)
{
	size_t kept = 0;

	for (size_t i = 0; i < threads->count; i++) {
		if (threads->thread[i].seen)
			threads->thread[kept++] = threads->thread[i];
		else
			close_files(&threads->thread[i]);
	}
	threads->count = kept;
}

/* A thread that is to stop makes no new ones, so one look at each is enough. */
bool kf_threads_stand(struct kf_threads *threads)
{
	struct dirent *entry;
	bool all = true;	/* every thread is looked at, to be known */

	if (!threads->dir)
		return true;
	for (size_t i = 0; i < threads->count; i++)
		threads->thread[i].seen = false;
	rewinddir(threads->dir);
	while ((entry = readdir(threads->dir)))
		all = !runs(threads, entry->d_name) && all;
	forget_ended(threads);
	return all;
}

uint64_t kf_threads_delay_ns(const struct kf_threads *threads)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < threads->count; i++) {
		char text[TEXT_BYTES + 1];
		uint64_t ran, waited;

		read_file(threads->thread[i].schedstat_fd, text);
		if (sscanf(text, "%" SCNu64 " %" SCNu64, &ran, &waited) == 2)
			sum += waited;
	}
	return sum;
}
