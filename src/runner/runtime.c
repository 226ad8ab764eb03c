/*
 * Some runtime libraries set themselves up on first use by means that a loaded
 * program does not have. They are the system's, not the candidate's: so they
 * are set up here, before the filter is installed, if the artefact names them.
 */
#include "runner/runner.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_MAX_BYTES 64u

/* The file name that begins like this among the artefact's strings, such as
 * "libomp.so.5"; false if there is none. */
static bool find_name(const char *bytes, size_t len, const char *library,
		      char name[NAME_MAX_BYTES])
{
	const char *at = memmem(bytes, len, library, strlen(library));
	size_t size;

	if (!at)
		return false;
	size = strnlen(at, (size_t)(bytes + len - at));
	if (size >= NAME_MAX_BYTES || memchr(at, '/', size))
		return false;
	memcpy(name, at, size);
	name[size] = '\0';
	return true;
}

/* A name that no library has is the loader's business, later. */
static void set_up(const char *name, const char *start)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
	void *symbol = library ? dlsym(library, start) : NULL;
	int (*function)(void);

	if (!symbol)
		return;
	memcpy(&function, &symbol, sizeof(function));
	(void)function();
}

enum kf_code kf_runner_start_runtimes(const struct kf_driver *driver,
				      const char *artefact_path,
				      struct kf_err *err)
{
	const struct kf_runtime *r = driver->runtime;
	int fd = open(artefact_path, O_RDONLY | O_CLOEXEC);
	char name[NAME_MAX_BYTES];
	enum kf_code code = KF_OK;
	struct stat st;
	char *bytes;

	if (fd < 0 || fstat(fd, &st) || st.st_size <= 0) {
		code = kf_fail_errno(err, "cannot read the program");
		goto out;
	}
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED) {
		code = kf_fail_errno(err, "cannot map the program");
		goto out;
	}
	for (; r && r->library; r++)
		if (find_name(bytes, (size_t)st.st_size, r->library, name))
			set_up(name, r->start);
	munmap(bytes, (size_t)st.st_size);
out:
	if (fd >= 0)
		close(fd);
	return code;
}
