/*
 * Kernels of our own, as PTX, which every driver assembles for its device: no
 * compiler is needed where they run.
 */
#include "platform/cuda/cuda.h"

/*
 *	for (i = chunk's first; i < chunk's end; i += KF_CUDA_DIGEST_THREADS) {
 *		x, y = in[i];
 *		k = i * A + B;
 *		sum += mix(x + k) + mix(y + (k ^ D));
 *	}
 *	out[chunk] += sum;
 *
 *	mix(v): v *= C, v ^= v >> 32, v *= D
 *
 * mix is a permutation, so one changed word always changes the sum. 16384
 * words of 16 bytes are KF_CUDA_DIGEST_CHUNK.
 */
const char kf_cuda_digest_ptx[] =
	".version 6.4\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry kf_digest(.param .u64 in, .param .u64 words,\n"
	"			   .param .u64 out)\n"
	"{\n"
	"	.reg .pred %p;\n"
	"	.reg .b32 %chunk, %thread;\n"
	"	.reg .b64 %in, %end, %out, %first, %i, %at, %x, %y, %k, %t, %sum;\n"
	"	ld.param.u64 %in, [in];\n"
	"	ld.param.u64 %end, [words];\n"
	"	ld.param.u64 %out, [out];\n"
	"	cvta.to.global.u64 %in, %in;\n"
	"	cvta.to.global.u64 %out, %out;\n"
	"	mov.u32 %chunk, %ctaid.x;\n"
	"	mov.u32 %thread, %tid.x;\n"
	"	mul.wide.u32 %first, %chunk, 16384;\n"
	"	add.u64 %t, %first, 16384;\n"
	"	min.u64 %end, %end, %t;\n"
	"	cvt.u64.u32 %i, %thread;\n"
	"	add.u64 %i, %i, %first;\n"
	"	mov.u64 %sum, 0;\n"
	"more:\n"
	"	setp.ge.u64 %p, %i, %end;\n"
	"	@%p bra done;\n"
	"	shl.b64 %at, %i, 4;\n"
	"	add.u64 %at, %at, %in;\n"
	"	ld.global.v2.u64 {%x, %y}, [%at];\n"
	"	mad.lo.u64 %k, %i, 0x9e3779b97f4a7c15, 0x632be59bd9b4e019;\n"
	"	add.u64 %x, %x, %k;\n"
	"	xor.b64 %k, %k, 0xd6e8feb86659fd93;\n"
	"	add.u64 %y, %y, %k;\n"
	"	mul.lo.u64 %x, %x, 0xff51afd7ed558ccd;\n"
	"	mul.lo.u64 %y, %y, 0xff51afd7ed558ccd;\n"
	"	shr.u64 %t, %x, 32;\n"
	"	xor.b64 %x, %x, %t;\n"
	"	shr.u64 %t, %y, 32;\n"
	"	xor.b64 %y, %y, %t;\n"
	"	mad.lo.u64 %sum, %x, 0xd6e8feb86659fd93, %sum;\n"
	"	mad.lo.u64 %sum, %y, 0xd6e8feb86659fd93, %sum;\n"
	"	add.u64 %i, %i, 256;\n"
	"	bra.uni more;\n"
	"done:\n"
	"	mul.wide.u32 %at, %chunk, 8;\n"
	"	add.u64 %at, %at, %out;\n"
	"	red.global.add.u64 [%at], %sum;\n"
	"	ret;\n"
	"}\n";

/*
 *	chunk = thread / 32;
 *	for (i = 4096 * chunk + lane; i < its end; i += 32)
 *		for (k = 0; k < 4; k++)
 *			sum[k] += in[i] * sign[4096 * k + i % 4096];
 *	out[4 * chunk + k] = sum[k] of all lanes
 *
 * in double, in an order that is always the same. The whole warp leaves where
 * there is no such chunk.
 */
#define SIGNED(k, offset) \
	"	ld.global.s8 %s, [%at_sign + " offset "];\n" \
	"	cvt.rn.f64.s32 %x, %s;\n" \
	"	fma.rn.f64 %sum" k ", %value, %x, %sum" k ";\n"
#define ACROSS(k) \
	"	mov.b64 {%low, %high}, %sum" k ";\n" \
	"	shfl.sync.bfly.b32 %low, %low, %s, 31, 0xffffffff;\n" \
	"	shfl.sync.bfly.b32 %high, %high, %s, 31, 0xffffffff;\n" \
	"	mov.b64 %x, {%low, %high};\n" \
	"	add.rn.f64 %sum" k ", %sum" k ", %x;\n"

const char kf_cuda_sums_ptx[] =
	".version 6.4\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry kf_sums(.param .u64 in, .param .u64 numel,\n"
	"			 .param .u64 sign, .param .u64 out)\n"
	"{\n"
	"	.reg .pred %p;\n"
	"	.reg .b32 %thread, %lane, %s, %low, %high;\n"
	"	.reg .b64 %chunk, %first, %i, %end, %in, %at_sign, %out, %t;\n"
	"	.reg .f32 %narrow;\n"
	"	.reg .f64 %value, %x, %sum0, %sum1, %sum2, %sum3;\n"
	"	ld.param.u64 %in, [in];\n"
	"	ld.param.u64 %end, [numel];\n"
	"	ld.param.u64 %at_sign, [sign];\n"
	"	ld.param.u64 %out, [out];\n"
	"	cvta.to.global.u64 %in, %in;\n"
	"	cvta.to.global.u64 %at_sign, %at_sign;\n"
	"	cvta.to.global.u64 %out, %out;\n"
	"	mov.u32 %thread, %tid.x;\n"
	"	and.b32 %lane, %thread, 31;\n"
	"	shr.u32 %thread, %thread, 5;\n"
	"	mov.u32 %low, %ctaid.x;\n"
	"	mov.u32 %high, %ntid.x;\n"
	"	shr.u32 %high, %high, 5;\n"
	"	mul.wide.u32 %chunk, %low, %high;\n"
	"	cvt.u64.u32 %t, %thread;\n"
	"	add.u64 %chunk, %chunk, %t;\n"
	"	shl.b64 %first, %chunk, 12;\n"
	"	setp.ge.u64 %p, %first, %end;\n"
	"	@%p ret;\n"
	"	add.u64 %t, %first, 4096;\n"
	"	min.u64 %end, %end, %t;\n"
	"	cvt.u64.u32 %t, %lane;\n"
	"	add.u64 %i, %first, %t;\n"
	"	add.u64 %at_sign, %at_sign, %t;\n"
	"	shl.b64 %t, %i, 2;\n"
	"	add.u64 %in, %in, %t;\n"
	"	mov.f64 %sum0, 0d0000000000000000;\n"
	"	mov.f64 %sum1, %sum0;\n"
	"	mov.f64 %sum2, %sum0;\n"
	"	mov.f64 %sum3, %sum0;\n"
	"more:\n"
	"	setp.ge.u64 %p, %i, %end;\n"
	"	@%p bra done;\n"
	"	ld.global.f32 %narrow, [%in];\n"
	"	cvt.f64.f32 %value, %narrow;\n"
	SIGNED("0", "0") SIGNED("1", "4096") SIGNED("2", "8192")
	SIGNED("3", "12288")
	"	add.u64 %i, %i, 32;\n"
	"	add.u64 %in, %in, 128;\n"
	"	add.u64 %at_sign, %at_sign, 32;\n"
	"	bra.uni more;\n"
	"done:\n"
	"	bar.warp.sync 0xffffffff;\n"
	"	mov.u32 %s, 16;\n"
	"across:\n"
	ACROSS("0") ACROSS("1") ACROSS("2") ACROSS("3")
	"	shr.u32 %s, %s, 1;\n"
	"	setp.ne.u32 %p, %s, 0;\n"
	"	@%p bra across;\n"
	"	setp.ne.u32 %p, %lane, 0;\n"
	"	@%p ret;\n"
	"	shl.b64 %t, %chunk, 5;\n"
	"	add.u64 %out, %out, %t;\n"
	"	st.global.v2.f64 [%out], {%sum0, %sum1};\n"
	"	st.global.v2.f64 [%out + 16], {%sum2, %sum3};\n"
	"	ret;\n"
	"}\n";

/*
 *	for (i = 4096 * block + thread; i < its chunk's end; i += 256) {
 *		v = base[i];
 *		if (column)
 *			v = (float)((double)v * column[i % 4096] * row[block] -
 *				    shift);
 *		if (tail && i % tail >= tail_from)
 *			v *= 8;
 *		in[i] = v;
 *	}
 */
const char kf_cuda_fresh_ptx[] =
	".version 6.4\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry kf_fresh(.param .u64 base, .param .u64 in,\n"
	"			  .param .u64 numel, .param .u64 column,\n"
	"			  .param .u64 row, .param .f64 shift,\n"
	"			  .param .u64 tail, .param .u64 tail_from)\n"
	"{\n"
	"	.reg .pred %p, %plain, %no_tail;\n"
	"	.reg .b32 %chunk, %thread;\n"
	"	.reg .b64 %base, %in, %column, %row, %i, %end, %t, %tail, %from;\n"
	"	.reg .f32 %v, %narrow;\n"
	"	.reg .f64 %x, %factor, %times, %shift;\n"
	"	ld.param.u64 %base, [base];\n"
	"	ld.param.u64 %in, [in];\n"
	"	ld.param.u64 %end, [numel];\n"
	"	ld.param.u64 %column, [column];\n"
	"	ld.param.u64 %row, [row];\n"
	"	ld.param.f64 %shift, [shift];\n"
	"	ld.param.u64 %tail, [tail];\n"
	"	ld.param.u64 %from, [tail_from];\n"
	"	cvta.to.global.u64 %base, %base;\n"
	"	cvta.to.global.u64 %in, %in;\n"
	"	setp.eq.u64 %plain, %column, 0;\n"
	"	setp.eq.u64 %no_tail, %tail, 0;\n"
	"	mov.u32 %chunk, %ctaid.x;\n"
	"	mov.u32 %thread, %tid.x;\n"
	"	mul.wide.u32 %i, %chunk, 4096;\n"
	"	add.u64 %t, %i, 4096;\n"
	"	min.u64 %end, %end, %t;\n"
	"	cvt.u64.u32 %t, %thread;\n"
	"	add.u64 %i, %i, %t;\n"
	"	shl.b64 %t, %i, 2;\n"
	"	add.u64 %base, %base, %t;\n"
	"	add.u64 %in, %in, %t;\n"
	"	mov.f64 %times, 0d3ff0000000000000;\n"
	"	@%plain bra more;\n"
	"	cvta.to.global.u64 %column, %column;\n"
	"	cvta.to.global.u64 %row, %row;\n"
	"	mul.wide.u32 %t, %thread, 4;\n"
	"	add.u64 %column, %column, %t;\n"
	"	mul.wide.u32 %t, %chunk, 4;\n"
	"	add.u64 %row, %row, %t;\n"
	"	ld.global.f32 %narrow, [%row];\n"
	"	cvt.f64.f32 %times, %narrow;\n"
	"more:\n"
	"	setp.ge.u64 %p, %i, %end;\n"
	"	@%p ret;\n"
	"	ld.global.f32 %v, [%base];\n"
	"	@%plain bra made;\n"
	"	ld.global.f32 %narrow, [%column];\n"
	"	cvt.f64.f32 %factor, %narrow;\n"
	"	cvt.f64.f32 %x, %v;\n"
	"	mul.rn.f64 %x, %x, %factor;\n"
	"	mul.rn.f64 %x, %x, %times;\n"
	"	sub.rn.f64 %x, %x, %shift;\n"
	"	cvt.rn.f32.f64 %v, %x;\n"
	"made:\n"
	"	@%no_tail bra store;\n"
	"	rem.u64 %t, %i, %tail;\n"
	"	setp.lt.u64 %p, %t, %from;\n"
	"	@%p bra store;\n"
	"	mul.rn.f32 %v, %v, 0f41000000;\n"
	"store:\n"
	"	st.global.f32 [%in], %v;\n"
	"	add.u64 %i, %i, 256;\n"
	"	add.u64 %base, %base, 1024;\n"
	"	add.u64 %in, %in, 1024;\n"
	"	add.u64 %column, %column, 1024;\n"
	"	bra.uni more;\n"
	"}\n";

/* Eight independent chains hide the latency. */
#define TIMES_8(step) step(0) step(1) step(2) step(3) step(4) step(5) \
	step(6) step(7)
#define FMA(n)	"	fma.rn.f32 %f" #n ", %f" #n ", %a, %b;\n"
#define SET(n)	"	mov.f32 %f" #n ", %a;\n"
#define SUM(n)	"	add.f32 %a, %a, %f" #n ";\n"
#define FMAS	TIMES_8(FMA)

#define MMA(n)	"	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f" \
	#n "0, %f" #n "1, %f" #n "2, %f" #n "3}, {%x, %x, %x, %x}, {%x, %x}, " \
	"{%f" #n "0, %f" #n "1, %f" #n "2, %f" #n "3};\n"
#define MMA_SET(n) "	mov.f32 %f" #n "0, 0f00000000;\n" \
	"	mov.f32 %f" #n "1, 0f00000000;\n" \
	"	mov.f32 %f" #n "2, 0f00000000;\n" \
	"	mov.f32 %f" #n "3, 0f00000000;\n"
#define MMA_SUM(n) "	add.f32 %a, %a, %f" #n "0;\n"

#define ENTRY(name) \
	".visible .entry " name "(.param .u64 out, .param .u32 rounds)\n" \
	"{\n" \
	"	.reg .pred %p;\n" \
	"	.reg .b32 %left, %x;\n" \
	"	.reg .b64 %out;\n" \
	"	.reg .f32 %a, %b, %f<100>;\n" \
	"	ld.param.u64 %out, [out];\n" \
	"	cvta.to.global.u64 %out, %out;\n" \
	"	ld.param.u32 %left, [rounds];\n"
/* Nobody knows that the sum is never this. */
#define LEAVE \
	"	sub.u32 %left, %left, 1;\n" \
	"	setp.ne.u32 %p, %left, 0;\n" \
	"	@%p bra more;\n"
#define KEEP_SUM \
	"	setp.eq.f32 %p, %a, 0f3f9df3b6;\n" \
	"	@%p st.global.f32 [%out], %a;\n" \
	"	ret;\n" \
	"}\n"

#define HEAD \
	".version 7.0\n" \
	".target sm_80\n" \
	".address_size 64\n"

const char kf_cuda_fma_ptx[] =
	HEAD
	ENTRY("kf_peak")
	"	mov.f32 %a, 0f3f7fbe77;\n"
	"	mov.f32 %b, 0f3a83126f;\n"
	TIMES_8(SET)
	"more:\n"
	FMAS FMAS FMAS FMAS FMAS FMAS FMAS FMAS
	LEAVE
	TIMES_8(SUM)
	KEEP_SUM;

const char kf_cuda_mma_ptx[] =
	HEAD
	ENTRY("kf_peak")
	"	mov.u32 %x, 0x3c003c00;\n"
	"	mov.f32 %a, 0f00000000;\n"
	TIMES_8(MMA_SET)
	"more:\n"
	TIMES_8(MMA)
	LEAVE
	TIMES_8(MMA_SUM)
	KEEP_SUM;
