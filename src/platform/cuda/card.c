/* The hardware card: what a writer of fast programs must know of a device. */
#include "platform/cuda/cuda.h"


static void of_driver(const struct kf_cuda_facts *f, struct kf_buf *card)
{
	struct kf_buf version = { .max = 64 };

	if (kf_file_read("/sys/module/nvidia/version", &version, NULL))
		version.len = 0;
	kf_buf_printf(card, "driver: CUDA %d.%d", f->driver_version / 1000,
		      f->driver_version % 1000 / 10);
	if (version.len)
		kf_buf_printf(card, ", %.*s",
			      (int)strcspn(version.data, "\n"), version.data);
	kf_buf_puts(card, "\n");
	kf_buf_release(&version);
}

static void of_compiler(const struct kf_cuda_facts *f, struct kf_buf *card)
{
	if (f->nvrtc_major)
		kf_buf_printf(card, "compiler: NVRTC %d.%d, C++17\n",
			      f->nvrtc_major, f->nvrtc_minor);
	else
		kf_buf_puts(card, "compiler: none; install the CUDA toolkit, "
			    "or set CUDA_HOME to where it is\n");
}

/* Two transfers for each clock. */
double kf_cuda_memory_bytes_per_s(const struct kf_cuda_facts *f)
{
	return 2e3 * f->memory_clock_khz * f->memory_bits / 8;
}

static void of_memory(const struct kf_cuda_facts *f, struct kf_buf *card)
{
	double bytes_per_s = kf_cuda_memory_bytes_per_s(f);

	kf_buf_printf(card, "memory: %.0f GiB",
		      (double)f->memory_bytes / (1u << 30));
	if (bytes_per_s > 0)
		kf_buf_printf(card, ", %.2f TB/s in theory",
			      bytes_per_s * 1e-12);
	kf_buf_puts(card, "\n");
	kf_buf_printf(card, "L2 cache: %.0f MiB\n",
		      (double)f->l2_bytes / (1u << 20));
}

static void of_measured(const struct kf_cuda_measured *m, struct kf_buf *card)
{
	if (m->copy_bytes_per_s > 0)
		kf_buf_printf(card, "measured copy bandwidth: %.2f TB/s, read "
			      "and written bytes together\n",
			      m->copy_bytes_per_s * 1e-12);
	if (m->f32_flops > 0)
		kf_buf_printf(card, "measured float32 peak: %.1f TFLOP/s "
			      "(multiply-adds, without tensor cores)\n",
			      m->f32_flops * 1e-12);
	if (m->bf16_flops > 0)
		kf_buf_printf(card, "measured bfloat16 tensor core peak: %.0f "
			      "TFLOP/s (mma.sync; wgmma reaches more)\n",
			      m->bf16_flops * 1e-12);
}

void kf_cuda_card(const struct kf_cuda_facts *f, struct kf_buf *card)
{
	char arch[32];

	kf_cuda_arch(f->major, f->minor, arch);
	kf_buf_printf(card, "device: %s, %s, compute capability %d.%d\n",
		      f->name, arch, f->major, f->minor);
	kf_buf_printf(card, "multiprocessors (SMs): %d at %.2f GHz\n", f->units,
		      f->clock_khz * 1e-6);
	of_memory(f, card);
	kf_buf_printf(card, "shared memory: %d KiB for a block at most, %d KiB "
		      "for an SM\n", f->shared_block_bytes >> 10,
		      f->shared_unit_bytes >> 10);
	kf_buf_printf(card, "registers of an SM: %d; threads of an SM: %d; "
		      "warp: 32\n", f->registers_unit, f->threads_unit);
	if (f->groups_unit > 0 && f->threads_group > 0)
		kf_buf_printf(card, "groups of an SM: %d at most, of %d "
			      "threads at most\n", f->groups_unit,
			      f->threads_group);
	of_driver(f, card);
	of_compiler(f, card);
	of_measured(&f->measured, card);
}
