/* Which instructions the program may use: compiled with the program's own
 * flags, and holds no code, so that it can be read on any processor. */
#include "kforge_runtime.h"

const unsigned kforge_cpu_needs = 0u
#ifdef __SSE4_2__
	| KFORGE_CPU_SSE42
#endif
#ifdef __AVX__
	| KFORGE_CPU_AVX
#endif
#ifdef __AVX2__
	| KFORGE_CPU_AVX2
#endif
#ifdef __FMA__
	| KFORGE_CPU_FMA
#endif
#ifdef __BMI2__
	| KFORGE_CPU_BMI2
#endif
#ifdef __AVX512F__
	| KFORGE_CPU_AVX512F
#endif
#ifdef __AVX512BW__
	| KFORGE_CPU_AVX512BW
#endif
#ifdef __AVX512DQ__
	| KFORGE_CPU_AVX512DQ
#endif
#ifdef __AVX512VL__
	| KFORGE_CPU_AVX512VL
#endif
#ifdef __AVX512VNNI__
	| KFORGE_CPU_AVX512VNNI
#endif
	;
