/*
 * PTX of ours is loaded afresh for each call, so that no program can have had a
 * part in it; to assemble it takes twenty times as long as to load it.
 */
#include "platform/cuda/cuda.h"

static void assemble(const struct kf_cuda_api *api, struct kf_cuda_code *code,
		     const char *ptx)
{
	size_t bytes = 0;
	int result;

	code->tried = true;
	if (!api->link_create || !api->link_add || !api->link_complete ||
	    !api->link_destroy)
		return;
	result = api->link_create(0, NULL, NULL, &code->link);
	if (result) {
		code->link = NULL;
		return;
	}
	result = api->link_add(code->link, KF_CUDA_INPUT_PTX,
			       (void *)(uintptr_t)ptx, strlen(ptx) + 1,
			       "kforge", 0, NULL, NULL);
	if (!result)
		result = api->link_complete(code->link, &code->image, &bytes);
	if (result)
		code->image = NULL;
}

int kf_cuda_code_load(const struct kf_cuda_api *api, struct kf_cuda_code *code,
		      const char *ptx, void **module)
{
	if (!code->tried)
		assemble(api, code, ptx);
	return api->module_load(module, code->image ? code->image : ptx);
}

void kf_cuda_code_release(const struct kf_cuda_api *api,
			  struct kf_cuda_code *code)
{
	if (code->link)
		api->link_destroy(code->link);
	*code = (struct kf_cuda_code) { .tried = false };
}
