#include "evaluate/python_side.h"

enum kf_code kf_python_side_open(const struct kf_python_side_spec *spec,
				 struct kf_python_side *out,
				 struct kf_err *err)
{
	struct kf_python_place_spec where = {
		.python = &out->python,
		.platform = spec->platform,
		.device_id = spec->device_id,
		.threads = spec->threads ? spec->threads : 1,
		.passive = spec->passive,
		.toolchain = true,
	};
	enum kf_code code;
	char *cache = NULL;

	*out = (struct kf_python_side) { .problem_path = NULL };
	if (!spec->platform->driver->python)
		return KF_OK;
	code = kf_cache_folder(spec->cache_path, &cache, err);
	if (!code)
		code = kf_python_probe(spec->python, cache, &out->python, err);
	if (!code)
		code = kf_python_place_open(&where, &out->place, err);
	if (!code) {
		out->script_path = kf_path_join(out->place.code_folder,
						"candidate.py");
		out->problem_path = kf_path_join(spec->folder, "problem.py");
		code = kf_file_write_scratch(out->problem_path, spec->problem,
					     strlen(spec->problem), err);
	}
	free(cache);
	return code;
}

void kf_python_side_release(struct kf_python_side *side)
{
	kf_python_place_release(&side->place);
	kf_python_release(&side->python);
	free(side->problem_path);
	free(side->script_path);
	*side = (struct kf_python_side) { .problem_path = NULL };
}
