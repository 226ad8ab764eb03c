/* Which instructions the program may use: compiled with the program's own
 * flags, and holds no code, so that it can be read on any processor.
 * kforge_processor.c has a row for each of these words. */
#include "kforge_runtime.h"

const char kforge_cpu_needs[] = ""
#if defined(__x86_64__) || defined(__i386__)
#ifdef __SSE3__
	" sse3"
#endif
#ifdef __SSSE3__
	" ssse3"
#endif
#ifdef __SSE4_1__
	" sse4_1"
#endif
#ifdef __SSE4_2__
	" sse4_2"
#endif
#ifdef __SSE4A__
	" sse4a"
#endif
#ifdef __POPCNT__
	" popcnt"
#endif
#ifdef __LZCNT__
	" lzcnt"
#endif
#ifdef __BMI__
	" bmi1"
#endif
#ifdef __BMI2__
	" bmi2"
#endif
#ifdef __TBM__
	" tbm"
#endif
#ifdef __ADX__
	" adx"
#endif
#ifdef __MOVBE__
	" movbe"
#endif
#ifdef __AES__
	" aes"
#endif
#ifdef __PCLMUL__
	" pclmulqdq"
#endif
#ifdef __SHA__
	" sha_ni"
#endif
#ifdef __GFNI__
	" gfni"
#endif
#ifdef __VAES__
	" vaes"
#endif
#ifdef __VPCLMULQDQ__
	" vpclmulqdq"
#endif
#ifdef __AVX__
	" avx"
#endif
#ifdef __F16C__
	" f16c"
#endif
#ifdef __FMA__
	" fma"
#endif
#ifdef __FMA4__
	" fma4"
#endif
#ifdef __XOP__
	" xop"
#endif
#ifdef __AVX2__
	" avx2"
#endif
#ifdef __AVXVNNI__
	" avx_vnni"
#endif
#ifdef __AVXIFMA__
	" avx_ifma"
#endif
#ifdef __AVXVNNIINT8__
	" avx_vnni_int8"
#endif
#ifdef __AVXVNNIINT16__
	" avx_vnni_int16"
#endif
#ifdef __AVXNECONVERT__
	" avx_ne_convert"
#endif
#ifdef __AVX512F__
	" avx512f"
#endif
#ifdef __AVX512CD__
	" avx512cd"
#endif
#ifdef __AVX512BW__
	" avx512bw"
#endif
#ifdef __AVX512DQ__
	" avx512dq"
#endif
#ifdef __AVX512VL__
	" avx512vl"
#endif
#ifdef __AVX512IFMA__
	" avx512ifma"
#endif
#ifdef __AVX512VBMI__
	" avx512vbmi"
#endif
#ifdef __AVX512VBMI2__
	" avx512_vbmi2"
#endif
#ifdef __AVX512VNNI__
	" avx512_vnni"
#endif
#ifdef __AVX512BITALG__
	" avx512_bitalg"
#endif
#ifdef __AVX512VPOPCNTDQ__
	" avx512_vpopcntdq"
#endif
#ifdef __AVX512VP2INTERSECT__
	" avx512_vp2intersect"
#endif
#ifdef __AVX512BF16__
	" avx512_bf16"
#endif
#ifdef __AVX512FP16__
	" avx512_fp16"
#endif
#if defined(__AMX_TILE__) || defined(__AMXTILE__)
	" amx_tile"
#endif
#if defined(__AMX_INT8__) || defined(__AMXINT8__)
	" amx_int8"
#endif
#if defined(__AMX_BF16__) || defined(__AMXBF16__)
	" amx_bf16"
#endif
#endif
#ifdef __aarch64__
#ifdef __ARM_FEATURE_CRC32
	" crc32"
#endif
#ifdef __ARM_FEATURE_ATOMICS
	" atomics"
#endif
#ifdef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
	" asimdhp"
#endif
#ifdef __ARM_FEATURE_FP16_FML
	" asimdfhm"
#endif
#ifdef __ARM_FEATURE_QRDMX
	" asimdrdm"
#endif
#ifdef __ARM_FEATURE_COMPLEX
	" fcma"
#endif
#ifdef __ARM_FEATURE_JCVT
	" jscvt"
#endif
#ifdef __ARM_FEATURE_FRINT
	" frint"
#endif
#ifdef __ARM_FEATURE_DOTPROD
	" asimddp"
#endif
#ifdef __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
	" bf16"
#endif
#ifdef __ARM_FEATURE_MATMUL_INT8
	" i8mm"
#endif
#if defined(__ARM_FEATURE_AES) || defined(__ARM_FEATURE_CRYPTO)
	" aes pmull"
#endif
#if defined(__ARM_FEATURE_SHA2) || defined(__ARM_FEATURE_CRYPTO)
	" sha1 sha2"
#endif
#ifdef __ARM_FEATURE_SHA3
	" sha3"
#endif
#ifdef __ARM_FEATURE_SHA512
	" sha512"
#endif
#ifdef __ARM_FEATURE_SVE
	" sve"
#endif
#ifdef __ARM_FEATURE_SVE_BF16
	" svebf16"
#endif
#ifdef __ARM_FEATURE_SVE_MATMUL_INT8
	" svei8mm"
#endif
#ifdef __ARM_FEATURE_SVE_MATMUL_FP32
	" svef32mm"
#endif
#ifdef __ARM_FEATURE_SVE_MATMUL_FP64
	" svef64mm"
#endif
#ifdef __ARM_FEATURE_SVE2
	" sve2"
#endif
#ifdef __ARM_FEATURE_SVE2_BITPERM
	" svebitperm"
#endif
#ifdef __ARM_FEATURE_SVE2_AES
	" sveaes"
#endif
#ifdef __ARM_FEATURE_SVE2_SHA3
	" svesha3"
#endif
#endif
	;
