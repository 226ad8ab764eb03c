/* Which libraries did the work, by the names of what ran. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those first */
#include <cmocka.h>

#include "evaluate/libraries.h"

static void test_each_name_gives_its_library(void **state)
{
	static const struct {
		const char *line;
		bool on_device;
		const char *library;	/* NULL: none */
	} rows[] = {
		{ "kernel ampere_sgemm_128x64_nn", true, "cuBLAS" },
		{ "kernel void cutlass::Kernel2<cutlass_80_simt_sgemm_"
		  "256x128_8x4_tn_align1>(Params)", true, "cuBLAS" },
		{ "kernel _ZN7cutlass7Kernel2I61cutlass_80_wmma_tensorop_bf16_"
		  "s161616gemm_bf16_32x32_64x1EEvNT_6ParamsE", true,
		  "cuBLAS" },
		{ "kernel nvjet_hsh_128x256_64x4_1x2_h_bz_TNT", true,
		  "cuBLAS" },
		{ "kernel void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_"
		  "128x64_16x6_nn_align4>(...)", true, "cuBLAS" },
		{ "kernel _ZN7cutlass7Kernel2I52cutlass_80_tensorop_s1688gemm_"
		  "128x64_16x6_nn_align4EEvNT_6ParamsE", true, "cuBLAS" },
		{ "kernel sm80_xmma_fprop_implicit_gemm_tf32f32", true,
		  "cuDNN" },
		{ "kernel void cudnn::winograd::generateWinogradTilesKernel",
		  true, "cuDNN" },
		{ "kernel void regular_fft<256u, EPT<8u>>(...)", true,
		  "cuFFT" },
		{ "kernel _Z11regular_fftILj256EEv", true, "cuFFT" },
		{ "kernel regular_fft", true, NULL },
		{ "kernel my_sgemm_kernel", true, NULL },
		{ "kernel void cutlass::Kernel<MyGemm>(...)", true, NULL },
		{ "kernel void at::native::vectorized_elementwise_kernel<4>",
		  true, NULL },
		{ "operator aten::mm", true, "cuBLAS" },
		{ "operator aten::mm", false, "the processor's BLAS" },
		{ "operator aten::mkldnn_convolution", false, "oneDNN" },
		{ "operator aten::mkldnn_convolution", true, NULL },
		{ "operator aten::_fft_r2c", true, "cuFFT" },
		{ "operator aten::mm_like", true, NULL },
		{ "operator aten::add", false, NULL },
		{ "library libcudnn_ops.so.9", true, "cuDNN" },
		{ "library libopenblas.so.0", false, "OpenBLAS" },
		{ "library libcuda.so.1", true, NULL },
		{ "library program.so", true, NULL },
		{ "something libcublas.so", true, NULL },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		json_t *json = kf_libraries_of(rows[i].line, rows[i].on_device,
					       KF_LIBRARIES_ALLOW);
		json_t *used = json_object_get(json, "used");

		assert_int_equal(json_array_size(used),
				 rows[i].library != NULL);
		if (rows[i].library)
			assert_string_equal(kf_json_str(json_array_get(used,
				0), "name", ""), rows[i].library);
		assert_true(json_is_null(json_object_get(json, "unseen")));
		json_decref(json);
	}
}

static void test_a_library_is_named_once_by_what_showed_it_first(void **state)
{
	struct kf_buf words = { .max = 1024 };
	json_t *json = kf_libraries_of("kernel nvjet_a\nkernel nvjet_b\n"
				       "operator aten::addmm\n"
				       "library libcufft.so.12\n"
				       "unseen a call has too many\n"
				       "unseen again\n", true,
				       KF_LIBRARIES_REFUSE);

	(void)state;
	assert_string_equal(kf_json_str(json, "rule", ""), "refuse");
	kf_libraries_words(json, &words);
	assert_string_equal(kf_buf_str(&words), "cuBLAS (kernel nvjet_a), "
		"cuFFT (library libcufft.so.12); what else ran cannot be "
		"seen: a call has too many");
	kf_buf_release(&words);
	json_decref(json);
}

static void test_what_nobody_looked_at_is_not_told(void **state)
{
	struct kf_buf words = { .max = 1024 };
	json_t *none = kf_libraries_of("", false, KF_LIBRARIES_ALLOW);
	json_t *unseen = kf_libraries_of("unseen it is late", false,
					 KF_LIBRARIES_ALLOW);

	(void)state;
	kf_libraries_words(NULL, &words);
	assert_int_equal(words.len, 0);
	kf_libraries_words(none, &words);
	kf_buf_puts(&words, ", ");
	kf_libraries_words(unseen, &words);
	assert_string_equal(kf_buf_str(&words), "none, unknown; what else ran "
			    "cannot be seen: it is late");
	kf_buf_release(&words);
	json_decref(unseen);
	json_decref(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_name_gives_its_library),
		cmocka_unit_test(
			test_a_library_is_named_once_by_what_showed_it_first),
		cmocka_unit_test(test_what_nobody_looked_at_is_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
