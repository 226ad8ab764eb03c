#include "problem/python_place.h"

#include <unistd.h>

void kf_python_place_env_take(struct kf_python_place *place, char *text)
{
	place->env = kf_realloc(place->env, (place->env_count + 2) *
				sizeof(place->env[0]));
	place->env[place->env_count++] = text;
	place->env[place->env_count] = NULL;
}

static void add_env(struct kf_python_place *place, const char *text)
{
	kf_python_place_env_take(place, kf_strdup(text));
}

/* Some machines' BLAS picks a kernel that crashes unless it is told better. */
static void pass_blas_settings(struct kf_python_place *place)
{
	for (char **e = environ; *e; e++)
		if (strncmp(*e, "OPENBLAS_", 9) == 0 &&
		    strncmp(*e, "OPENBLAS_NUM_THREADS=", 21) != 0)
			add_env(place, *e);
}

/* Threads that wait by spinning take the processors from whoever is measured
 * next. OpenBLAS would do so for 2^26 cycles after each product; 2^20 keeps
 * its threads awake within a call. What only makes bundles need not spin. */
static void set_waiting(struct kf_python_place *place, bool passive)
{
	if (!getenv("OPENBLAS_THREAD_TIMEOUT"))
		add_env(place, "OPENBLAS_THREAD_TIMEOUT=20");
	if (passive)
		add_env(place, "OMP_WAIT_POLICY=PASSIVE");
}

static void set_env(struct kf_python_place *place,
		    const struct kf_python_place_spec *spec)
{
	static const char *const counts[] = {
		"OMP", "MKL", "OPENBLAS", "NUMEXPR",
	};
	/* The allocator keeps what is freed: whether it gives a result's pages
	 * back, to fault them in again in the next call, hangs on what lies
	 * behind them, and made eager calls up to four times slower in one
	 * process than in another. The fast case is the baseline. */
	static const char *const fixed[] = {
		"MALLOC_MMAP_THRESHOLD_=33554432",
		"MALLOC_TRIM_THRESHOLD_=4294967296",
		"HOME=/tmp", "LANG=C.UTF-8",
		"USER=nobody",	/* torch 2 asks for one, by name */
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0",
		"PYTHONNOUSERSITE=1",
	};

	for (size_t i = 0; i < KF_COUNT(fixed); i++)
		add_env(place, fixed[i]);
	/* Where pip puts programs such as ninja. */
	kf_python_place_env_take(place, kf_format(
		"PATH=/usr/bin:/bin:%.*s",
		(int)(strrchr(spec->python->program, '/') -
		      spec->python->program), spec->python->program));
	kf_python_place_env_take(place, kf_format("PYTHONPATH=%s",
						  spec->python->search));
	for (size_t i = 0; i < KF_COUNT(counts); i++)
		kf_python_place_env_take(place, kf_format(
			"%s_NUM_THREADS=%u", counts[i], spec->threads));
	pass_blas_settings(place);
}

static void add_variable(void *place, const char *variable)
{
	add_env(place, variable);
}

/* What the device's driver needs, and PyTorch to see that device. */
static void add_device(struct kf_python_place *place,
		       const struct kf_python_place_spec *spec)
{
	const struct kf_driver *driver = spec->platform->driver;

	driver->torch_env(spec->device_id, add_variable, place);
	if (driver->paths)
		driver->paths(KF_DRIVER_RUNNER, kf_binds_path, &place->binds);
}

char *kf_python_code_folder(struct kf_err *err)
{
	char *home = kf_home(err);
	char *path, *folder;

	if (!home)
		return NULL;
	path = kf_path_join(home, "python");
	folder = realpath(path, NULL);
	if (!folder)
		kf_fail(err, KF_E_UNAVAIL, "cannot find folder %s", path);
	free(path);
	free(home);
	return folder;
}

enum kf_code kf_python_place_open(const struct kf_python_place_spec *spec,
				  struct kf_python_place *out,
				  struct kf_err *err)
{
	const struct kf_python *python = spec->python;
	bool device = spec->platform && spec->platform->driver->torch_device;

	*out = (struct kf_python_place) { .env_count = 0 };
	out->code_folder = kf_python_code_folder(err);
	if (!out->code_folder)
		return KF_E_UNAVAIL;
	set_env(out, spec);
	set_waiting(out, spec->passive);
	if (device || spec->toolchain)
		kf_binds_toolchain(&out->binds);
	if (device)
		add_device(out, spec);
	for (size_t i = 0; i < python->folder_count; i++)
		kf_binds_add(&out->binds, python->folder[i], NULL, false,
			     true);
	kf_binds_add(&out->binds, out->code_folder, NULL, false, false);
	return KF_OK;
}

void kf_python_place_release(struct kf_python_place *place)
{
	for (size_t i = 0; i < place->env_count; i++)
		free(place->env[i]);
	free(place->env);
	kf_binds_release(&place->binds);
	free(place->code_folder);
	*place = (struct kf_python_place) { 0 };
}
