#include "evaluate/libraries.h"

#define RAN_BYTES	((size_t)256 << 10)	/* cleaned, it may be longer */
#define NAME_BYTES	256u

/* --- what is known by name ------------------------------------------------ */

/* Kernels, by a part of their name; the first row that fits. Names are plain
 * or mangled: '<' at a part's end is the beginning of template arguments. */
static const struct { const char *part, *library; } kernels[] = {
	{ "cudnn", "cuDNN" }, { "implicit_convolve_sgemm", "cuDNN" },
	{ "explicit_convolve_sgemm", "cuDNN" },
	{ "precomputed_convolve_sgemm", "cuDNN" },
	{ "convolve_common_engine", "cuDNN" }, { "xmma_fprop", "cuDNN" },
	{ "xmma_dgrad", "cuDNN" }, { "xmma_wgrad", "cuDNN" },
	{ "conv2d_grouped_direct_kernel", "cuDNN" },
	{ "RNN_blockPersist", "cuDNN" }, { "LSTM_elementWise_fp", "cuDNN" },
	{ "GRU_elementWise_fp", "cuDNN" },
	{ "cufft", "cuFFT" }, { "regular_fft<", "cuFFT" },
	{ "vector_fft<", "cuFFT" }, { "multi_bluestein_fft<", "cuFFT" },
	{ "regular_bluestein_fft<", "cuFFT" },
	{ "cusparse", "cuSPARSE" }, { "cusolver", "cuSOLVER" },
	{ "gen_sequenced<curand", "cuRAND" },
	{ "generate_seed_pseudo<", "cuRAND" },
	{ "cutensor", "cuTENSOR" }, { "magma_", "MAGMA" },
	{ "ncclDevKernel", "NCCL" }, { "ncclKernel", "NCCL" },
	{ "pytorch_flash::", "FlashAttention" },
	{ "fmha_cutlass", "PyTorch's own attention" },
	{ "cublas", "cuBLAS" }, { "nvjet_", "cuBLAS" },
	{ "xmma_gemm", "cuBLAS" }, { "splitKreduce_kernel<", "cuBLAS" },
	{ "gemmk1_kernel<", "cuBLAS" }, { "gemmSN_", "cuBLAS" },
	{ "gemv2T_kernel", "cuBLAS" }, { "gemv2N_kernel", "cuBLAS" },
	{ "gemvNSP_kernel", "cuBLAS" }, { "gemv1N_kernel", "cuBLAS" },
	{ "maxwell_sgemm_", "cuBLAS" }, { "volta_sgemm_", "cuBLAS" },
	{ "ampere_sgemm_", "cuBLAS" }, { "volta_dgemm_", "cuBLAS" },
	{ "ampere_dgemm_", "cuBLAS" }, { "_s884gemm_", "cuBLAS" },
	{ "_s1688gemm_", "cuBLAS" }, { "_s16816gemm_", "cuBLAS" },
	{ "_h1688gemm_", "cuBLAS" }, { "_h16816gemm_", "cuBLAS" },
	{ "_i16832gemm_", "cuBLAS" }, { "_d884gemm_", "cuBLAS" },
	/* CUTLASS's own are templates of its classes; these, by generation,
	 * are those that cuBLAS brings. */
	{ "cutlass_70_", "cuBLAS" }, { "cutlass_75_", "cuBLAS" },
	{ "cutlass_80_", "cuBLAS" }, { "cutlass_90_", "cuBLAS" },
	{ "cutlass_100_", "cuBLAS" }, { "cutlass3x_sm", "cuBLAS" },
};

/* Operators of PyTorch that call a library: on a device, on the processor.
 * NULL: there it is PyTorch's own code. */
#define BLAS	"cuBLAS", "the processor's BLAS"
#define LAPACK	"cuSOLVER", "the processor's LAPACK"
#define ONEDNN	NULL, "oneDNN"
#define CUDNN	"cuDNN", NULL
#define FFT	"cuFFT", "the processor's FFT library"
#define SPARSE	"cuSPARSE", "the processor's sparse library"
#define FLASH	"FlashAttention", NULL

static const struct { const char *name, *on_device, *on_cpu; } operators[] = {
	{ "aten::mm", BLAS }, { "aten::addmm", BLAS }, { "aten::bmm", BLAS },
	{ "aten::baddbmm", BLAS }, { "aten::addbmm", BLAS },
	{ "aten::addmv", BLAS }, { "aten::mv", BLAS }, { "aten::dot", BLAS },
	{ "aten::vdot", BLAS }, { "aten::_addmm_activation", BLAS },
	{ "aten::_scaled_mm", BLAS }, { "aten::_int_mm", BLAS },
	{ "aten::_grouped_mm", BLAS }, { "aten::_scaled_grouped_mm", BLAS },
	{ "aten::_slow_conv2d_forward", BLAS },
	{ "aten::slow_conv3d_forward", BLAS },
	{ "aten::slow_conv_transpose2d", BLAS },
	{ "aten::slow_conv_transpose3d", BLAS },
	{ "aten::slow_conv_dilated2d", BLAS },
	{ "aten::slow_conv_dilated3d", BLAS },
	{ "mkl::_mkl_linear", "MKL", "MKL" },
	{ "aten::cudnn_convolution", CUDNN },
	{ "aten::cudnn_convolution_relu", CUDNN },
	{ "aten::cudnn_convolution_add_relu", CUDNN },
	{ "aten::cudnn_convolution_transpose", CUDNN },
	{ "aten::cudnn_batch_norm", CUDNN }, { "aten::_cudnn_rnn", CUDNN },
	{ "aten::cudnn_affine_grid_generator", CUDNN },
	{ "aten::cudnn_grid_sampler", CUDNN },
	{ "aten::_scaled_dot_product_cudnn_attention", CUDNN },
	{ "aten::_cudnn_attention_forward", CUDNN },
	{ "aten::_flash_attention_forward", FLASH },
	{ "aten::_efficient_attention_forward", "PyTorch's own attention",
	  NULL },
	{ "aten::_scaled_dot_product_flash_attention_for_cpu", BLAS },
	{ "aten::mkldnn_convolution", ONEDNN },
	{ "aten::mkldnn_linear", ONEDNN },
	{ "aten::mkldnn_rnn_layer", ONEDNN },
	{ "mkldnn::_convolution_pointwise", ONEDNN },
	{ "mkldnn::_convolution_transpose_pointwise", ONEDNN },
	{ "mkldnn::_linear_pointwise", ONEDNN },
	{ "mkldnn::_mkldnn_rnn_layer", ONEDNN },
	{ "aten::_fft_r2c", FFT }, { "aten::_fft_c2c", FFT },
	{ "aten::_fft_c2r", FFT },
	{ "aten::linalg_lu_factor_ex", LAPACK },
	{ "aten::linalg_cholesky_ex", LAPACK },
	{ "aten::cholesky_inverse", LAPACK },
	{ "aten::linalg_inv_ex", LAPACK }, { "aten::linalg_qr", LAPACK },
	{ "aten::geqrf", LAPACK }, { "aten::ormqr", LAPACK },
	{ "aten::linalg_householder_product", LAPACK },
	{ "aten::_linalg_svd", LAPACK }, { "aten::_linalg_eigh", LAPACK },
	{ "aten::linalg_eig", LAPACK }, { "aten::_linalg_solve_ex", LAPACK },
	{ "aten::_linalg_det", LAPACK }, { "aten::_linalg_slogdet", LAPACK },
	{ "aten::linalg_lstsq", LAPACK }, { "aten::lu_solve", LAPACK },
	{ "aten::linalg_ldl_factor_ex", LAPACK },
	{ "aten::triangular_solve", BLAS },
	{ "aten::linalg_solve_triangular", BLAS },
	{ "aten::_sparse_mm", SPARSE }, { "aten::_cslt_sparse_mm", SPARSE },
};

/* Files, by how their names begin; the first row that fits. */
static const struct { const char *begins, *library; } files[] = {
	{ "libcublas", "cuBLAS" }, { "libnvblas", "cuBLAS" },
	{ "libcudnn", "cuDNN" }, { "libcufft", "cuFFT" },
	{ "libcusparse", "cuSPARSE" }, { "libcusolver", "cuSOLVER" },
	{ "libcurand", "cuRAND" }, { "libcutensor", "cuTENSOR" },
	{ "libnpp", "NPP" }, { "libnccl", "NCCL" }, { "libmagma", "MAGMA" },
	{ "libmkl", "MKL" }, { "libopenblas", "OpenBLAS" },
	{ "libblas", "BLAS" }, { "libcblas", "BLAS" }, { "libblis", "BLIS" },
	{ "libatlas", "ATLAS" }, { "liblapack", "LAPACK" },
	{ "libdnnl", "oneDNN" }, { "libmkldnn", "oneDNN" },
	{ "libfftw", "FFTW" }, { "libarmpl", "Arm Performance Libraries" },
};

static bool holds(const char *name, const char *part)
{
	size_t len = strlen(part) - 1;

	if (part[len] != '<')
		return strstr(name, part) != NULL;
	for (; *name; name++)
		if (strncmp(name, part, len) == 0 &&
		    (name[len] == '<' || name[len] == 'I'))
			return true;
	return false;
}

static const char *of_kernel(const char *name)
{
	for (size_t i = 0; i < KF_COUNT(kernels); i++)
		if (holds(name, kernels[i].part))
			return kernels[i].library;
	return NULL;
}

static const char *of_operator(const char *name, bool on_device)
{
	for (size_t i = 0; i < KF_COUNT(operators); i++)
		if (strcmp(name, operators[i].name) == 0)
			return on_device ? operators[i].on_device :
				operators[i].on_cpu;
	return NULL;
}

static const char *of_file(const char *name)
{
	for (size_t i = 0; i < KF_COUNT(files); i++)
		if (strncmp(name, files[i].begins,
			    strlen(files[i].begins)) == 0)
			return files[i].library;
	return NULL;
}

/* --- a traced call -------------------------------------------------------- */

static void add(json_t *used, const char *library, const char *line)
{
	const json_t *one;
	size_t i;

	json_array_foreach(used, i, one)
		if (strcmp(kf_json_str(one, "name", ""), library) == 0)
			return;
	json_array_append_new(used, json_pack("{s:s, s:o}", "name", library,
		"seen", kf_json_string(line, strlen(line))));
}

static const char *rest_after(const char *line, const char *word)
{
	size_t len = strlen(word);

	return strncmp(line, word, len) == 0 ? line + len : NULL;
}

static void read_line(const char *line, bool on_device, json_t *used,
		      json_t **unseen)
{
	const char *kernel = rest_after(line, "kernel ");
	const char *op = rest_after(line, "operator ");
	const char *file = rest_after(line, "library ");
	const char *why = rest_after(line, "unseen ");
	const char *library = kernel ? of_kernel(kernel) : op ?
		of_operator(op, on_device) : file ? of_file(file) :
		NULL;

	if (library)
		add(used, library, line);
	if (why && json_is_null(*unseen))
		*unseen = kf_json_string(why, strlen(why));
}

json_t *kf_libraries_of(const char *ran, bool on_device,
			enum kf_libraries rule)
{
	json_t *used = json_array(), *unseen = json_null();

	while (*ran) {
		size_t len = strcspn(ran, "\n");
		char line[NAME_BYTES];

		snprintf(line, sizeof(line), "%.*s", (int)(len < sizeof(line) ?
			 len : sizeof(line) - 1), ran);
		read_line(line, on_device, used, &unseen);
		ran += len + (ran[len] == '\n');
	}
	return json_pack("{s:s, s:o, s:o}", "rule",
			 rule == KF_LIBRARIES_REFUSE ? "refuse" : "allow",
			 "used", used, "unseen", unseen);
}

/* "cuBLAS (kernel nvjet_hsh), cuDNN (operator aten::cudnn_convolution)" */
static void list_used(const json_t *libraries, struct kf_buf *out)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(libraries, "used"), i, one)
		kf_buf_printf(out, "%s%s (%.120s)", i ? ", " : "",
			      kf_json_str(one, "name", ""),
			      kf_json_str(one, "seen", ""));
}

/* --- the rule ------------------------------------------------------------- */

static void refuse(struct kf_judgement *j)
{
	struct kf_call_end *end = &j->failure.call;
	struct kf_buf words = { .max = sizeof(end->text) / 2 };

	list_used(j->out->libraries, &words);
	j->failure = (struct kf_check) { .fault = KF_FAULT_CALL };
	end->state = KF_CALL_LIBRARY;
	snprintf(end->text, sizeof(end->text), "A call of it ran %s. Compute "
		 "that by code of your own; --libraries allow judges it as it "
		 "is.", kf_buf_str(&words));
	kf_buf_release(&words);
}

static enum kf_code decide(struct kf_judgement *j, struct kf_err *err)
{
	const json_t *libraries = j->out->libraries;
	const char *unseen = kf_json_str(libraries, "unseen", NULL);

	if (j->req->libraries != KF_LIBRARIES_REFUSE)
		return KF_OK;
	if (json_array_size(json_object_get(libraries, "used")))
		refuse(j);
	else if (unseen)
		return kf_fail(err, KF_E_UNAVAIL, "cannot see which libraries "
			       "a program of form %s uses here (%.200s), so "
			       "they cannot be refused: --libraries allow "
			       "judges it", j->out->form, unseen);
	return KF_OK;
}

enum kf_code kf_libraries_look(struct kf_judgement *j, struct kf_process *p,
			       struct kf_err *err)
{
	const struct kf_driver *driver = j->req->platform->driver;
	struct kf_buf ran = { .max = RAN_BYTES };
	enum kf_code code;

	if (!kf_worker_traces(driver))
		return KF_OK;
	code = kf_process_trace(j, p, &ran, err);
	if (!code && !j->failure.fault) {
		json_decref(j->out->libraries);
		j->out->libraries = kf_libraries_of(kf_buf_str(&ran),
						    driver->torch_device,
						    j->req->libraries);
		code = decide(j, err);
	}
	kf_buf_release(&ran);
	return code;
}

void kf_libraries_words(const json_t *libraries, struct kf_buf *out)
{
	const char *unseen = kf_json_str(libraries, "unseen", NULL);
	const json_t *used = json_object_get(libraries, "used");

	if (!json_is_object(libraries))
		return;
	if (json_array_size(used))
		list_used(libraries, out);
	else
		kf_buf_puts(out, unseen ? "unknown" : "none");
	if (unseen)
		kf_buf_printf(out, "; what else ran cannot be seen: %.200s",
			      unseen);
}
