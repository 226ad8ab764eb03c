/* kforge-runner: see runner.h. Started by kforge, not by people. */
#include "runner/runner.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parallel.h"

static const struct {
	const char *name;
	/* No code of a candidate's is in the process when it ends. */
	bool clean;
	enum kf_code (*run)(int argc, const char *const *argv,
			    struct kf_err *err);
} modes[] = {
	{ "build", false, kf_runner_build },
	{ "host", false, kf_runner_host },
	{ "record", false, kf_runner_record },
	{ "device", true, kf_runner_device },
	{ "free", false, kf_runner_free },
};

/* Those that are there: the supervisor makes what is used, and much of large
 * tensors never is. */
static void take_pages(int fd, unsigned char *data, off_t bytes, bool writable)
{
	off_t from = lseek(fd, 0, SEEK_DATA);

	while (from >= 0 && from < bytes) {
		off_t to = lseek(fd, from, SEEK_HOLE);

		if (to <= from)
			break;
		kf_parallel_make_pages(data + from, (size_t)(to - from),
				       writable);
		from = lseek(fd, to, SEEK_DATA);
	}
}

void *kf_runner_map(int fd, bool writable, uint64_t *bytes,
		    struct kf_err *err)
{
	struct stat st;
	void *data;

	*bytes = 0;
	if (fstat(fd, &st) || st.st_size <= 0) {
		kf_fail_errno(err, "descriptor %d holds no shared memory", fd);
		return NULL;
	}
	data = mmap(NULL, (size_t)st.st_size,
		    writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
		    fd, 0);
	if (data == MAP_FAILED) {
		kf_fail_errno(err, "cannot map descriptor %d", fd);
		return NULL;
	}
	take_pages(fd, data, st.st_size, writable);
	*bytes = (uint64_t)st.st_size;
	return data;
}

int main(int argc, char **argv)
{
	struct kf_err err = { 0 };

	for (size_t i = 0; argc > 1 && i < KF_COUNT(modes); i++) {
		enum kf_code code;

		if (strcmp(argv[1], modes[i].name) != 0)
			continue;
		code = modes[i].run(argc - 2, (const char *const *)argv + 2,
				    &err);
		if (code)
			fprintf(stderr, "kforge-runner %s: %s\n", argv[1],
				err.text);
		fflush(NULL);
		/* Profilers finish their files when a process exits. */
		if (!code && modes[i].clean)
			return 0;
		/* Not exit: a program that was loaded may have left handlers
		 * and destructors behind. */
		_exit((int)code);
	}
	fprintf(stderr, "kforge-runner is started by kforge, with one of:");
	for (size_t i = 0; i < KF_COUNT(modes); i++)
		fprintf(stderr, " %s", modes[i].name);
	fprintf(stderr, "\n");
	return KF_E_INPUT;
}
