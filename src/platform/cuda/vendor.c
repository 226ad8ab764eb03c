/*
 * NVIDIA's libraries for programs that have host code of their own: such a
 * program is linked with those that it uses (CUTLASS is headers alone: nvcc is
 * told their folder), and its sandbox shows them all. Whether it may use them
 * is asked when it has run (evaluate/libraries.h).
 * And the toolkit, for programs in Python with CUDA inside.
 */
#include "platform/cuda/cuda.h"

#include <glob.h>

static const char *const library[] = {
	"cublas", "cublasLt", "cudnn", "cufft", "cusparse", "cusolver",
	"curand",
};

/* What these open by themselves. */
static const char *const beside[] = {
	"libcublas*.so*", "libcudnn*.so*", "libcufft*.so*", "libcusparse*.so*",
	"libcusolver*.so*", "libcurand*.so*", "libnvJitLink*.so*",
};

/* And of the system; its loader has them in one of these folders. */
static const char of_system[] =
	"/{lib,usr/lib}{/x86_64-linux-gnu,/aarch64-linux-gnu,64}/"
	"{libutil.so.1,libgcc_s.so.1,libstdc++.so.6,libz.so.1}";

static void cut_name(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
}

static void add_take(kf_driver_env_fn *add, void *arg, char *word)
{
	add(arg, word);
	free(word);
}

void kf_cuda_link_words(kf_driver_env_fn *add, void *arg)
{
	char *cutlass = kf_cuda_cutlass_folder();

	if (cutlass)
		add_take(add, arg, kf_format("-I%s", cutlass));
	free(cutlass);
	for (size_t i = 0; i < KF_COUNT(library); i++) {
		char *name = kf_format("lib%s.so", library[i]);
		char *found = kf_cuda_toolkit_library(name);
		char *path = found ? realpath(found, NULL) : NULL;

		if (path) {
			cut_name(path);
			add(arg, "-Xlinker");
			add_take(add, arg, kf_format("--as-needed,-rpath,%s",
						     path));
			add_take(add, arg, kf_format("-L%s", path));
			add_take(add, arg, kf_format("-l%s", library[i]));
		}
		free(path);
		free(found);
		free(name);
	}
}

static void show_all(const char *pattern, kf_driver_path_fn *add, void *arg)
{
	glob_t found = { 0 };

	if (glob(pattern, GLOB_BRACE, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			add(arg, found.gl_pathv[i], false);
	globfree(&found);
}

/* All of a kind that lie beside this file. */
static void show_take(char *path, const char *pattern, kf_driver_path_fn *add,
		      void *arg)
{
	char *all;

	if (!path)
		return;
	cut_name(path);
	all = kf_path_join(path, pattern);
	show_all(all, add, arg);
	free(all);
	free(path);
}

/* A toolkit's name may be a link to a folder with a number: by both. */
static void show(const char *pattern, kf_driver_path_fn *add, void *arg)
{
	char *path = kf_cuda_toolkit_library(pattern);

	show_take(path ? realpath(path, NULL) : NULL, pattern, add, arg);
	show_take(path, pattern, add, arg);
}

void kf_cuda_watch_paths(kf_driver_path_fn *add, void *arg)
{
	const char *named = getenv(KF_CUDA_CUPTI_VARIABLE);

	if (named && named[0])
		add(arg, named, false);
	show("libcupti*.so*", add, arg);
	show_all(of_system, add, arg);
}

void kf_cuda_free_paths(enum kf_driver_place place, kf_driver_path_fn *add,
			void *arg)
{
	char *cutlass = place == KF_DRIVER_BUILDER ? kf_cuda_cutlass_folder() :
		NULL;

	kf_cuda_paths(place, add, arg);
	if (cutlass)	/* also where there is no NVRTC, which has it too */
		add(arg, cutlass, false);
	free(cutlass);
	if (place == KF_DRIVER_RUNNER)	/* what ran there is always asked */
		kf_cuda_watch_paths(add, arg);
	for (size_t i = 0; i < KF_COUNT(beside); i++)
		show(beside[i], add, arg);
	show_all(of_system, add, arg);
}

/* The toolkit that has nvcc, under its own name; NULL: there is none, or its
 * parts lie in the system's folders. Caller frees. */
static char *toolkit(void)
{
	char *found = kf_cuda_compiler_path("nvcc"), *folder, *part;

	if (!found)
		found = kf_proc_which("nvcc");
	folder = found ? realpath(found, NULL) : NULL;
	free(found);
	if (!folder)
		return NULL;
	cut_name(folder);
	cut_name(folder);
	part = kf_path_join(folder, "nvvm");
	if (!kf_path_is_dir(part)) {
		free(folder);
		folder = NULL;
	}
	free(part);
	return folder;
}

static void show_as(const char *name, const char *folder,
		    kf_driver_path_fn *add, void *arg)
{
	char *real = name ? realpath(name, NULL) : NULL;

	if (real && strcmp(real, folder) == 0 && strcmp(name, folder) != 0)
		add(arg, name, false);
	free(real);
}

void kf_cuda_module_paths(enum kf_driver_place place, kf_driver_path_fn *add,
			  void *arg)
{
	char *folder = place == KF_DRIVER_BUILDER ? toolkit() : NULL;

	if (folder) {
		add(arg, folder, false);
		show_as(getenv("CUDA_HOME"), folder, add, arg);
		show_as(getenv("CUDA_PATH"), folder, add, arg);
		show_as("/usr/local/cuda", folder, add, arg);
	}
	free(folder);
	kf_cuda_paths(place, add, arg);
}

void kf_cuda_module_env(const char *device_id, kf_driver_env_fn *add,
			void *arg)
{
	char *folder = toolkit();

	kf_cuda_torch_env(device_id, add, arg);
	if (folder)
		add_take(add, arg, kf_format("CUDA_HOME=%s", folder));
	free(folder);
}
