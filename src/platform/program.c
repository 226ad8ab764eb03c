/* A program is a shared object with functions of known names. */
#include "platform/program.h"

#include <dlfcn.h>

#include "base/base.h"

/* ISO C has no cast from an object pointer to a function pointer. */
static kf_program_fn *function(void *object, const char *name)
{
	void *symbol = dlsym(object, name);
	kf_program_fn *fn;

	memcpy(&fn, &symbol, sizeof(fn));
	return fn;
}

/* The loader's words without the path of the artefact in front: it means
 * nothing to who wrote the program. */
static const char *without_path(const char *why, const char *path)
{
	size_t len = strlen(path);

	if (!why)
		return "unknown reason";
	if (strncmp(why, path, len) == 0 && why[len] == ':')
		why += len + 1 + strspn(why + len + 1, " ");
	return why;
}

void kf_program_load(const char *path, struct kf_program *out,
		     char refused[256])
{
	*out = (struct kf_program) { 0 };
	refused[0] = '\0';
	out->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!out->object) {
		snprintf(refused, 256, "the program cannot be loaded: %s",
			 without_path(dlerror(), path));
		return;
	}
	out->prepare = function(out->object, "kf_prepare");
	out->forward = function(out->object, "kf_forward");
	if (!out->forward)
		snprintf(refused, 256, "the program defines no function "
			 "kf_forward with C linkage");
}

void kf_program_unload(struct kf_program *program)
{
	if (program->object)
		dlclose(program->object);
	*program = (struct kf_program) { 0 };
}
