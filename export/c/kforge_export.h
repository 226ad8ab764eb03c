/*
 * kforge_export.h - what all exported programs share: the statuses that their
 * functions return. A program's own header includes it.
 */
#ifndef KFORGE_EXPORT_H
#define KFORGE_EXPORT_H

#include "kforge_dlpack.h"

enum kforge_status {
	KFORGE_OK = 0,
	KFORGE_E_ARGUMENT = 1,	/* a pointer is NULL */
	KFORGE_E_MEMORY = 2,	/* out of memory, or of the scratch that the
				   call made at creation had shown to suffice */
	KFORGE_E_CPU = 3,	/* built for a processor with more instructions:
				   build it again on this machine */
	KFORGE_E_PROGRAM = 4,	/* the program itself returned non-zero */
	KFORGE_E_DEVICE = 5,	/* a DLPack tensor is not in host memory */
	KFORGE_E_DTYPE = 6,	/* ... has another element type */
	KFORGE_E_SHAPE = 7,	/* ... has another shape */
	KFORGE_E_STRIDES = 8,	/* ... is not contiguous and row-major */
	KFORGE_E_COUNT = 9,	/* too few or too many tensors */
	KFORGE_E_READ_ONLY = 10, /* an output is marked read-only */
	KFORGE_E_VERSION = 11,	/* a versioned tensor of an unknown ABI */
	KFORGE_E_LAUNCH = 12	/* the GPU or its driver is not there, or refused
				   what the program asked for */
};

#if defined(__GNUC__)
#define KFORGE_API __attribute__((visibility("default")))
#else
#define KFORGE_API
#endif

#endif
