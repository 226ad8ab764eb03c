/*
 * kforge_device.h - what kforge_parts.c asks of a device: kforge_opencl.c or
 * kforge_cuda.c, one of which is in this library. Not for callers of it.
 *
 * The vendor's library is opened when the first context is made. The device is
 * the one that the environment's KFORGE_EXPORT_DEVICE counts to (0 is the
 * first), else one of the name that the program was judged on, else the first.
 *
 * Memory is a handle: an address, to which bytes may be added. Operations are
 * done in order. Functions that return an int give 0, or another value and a
 * sentence by kforge_device_words.
 */
#ifndef KFORGE_DEVICE_H
#define KFORGE_DEVICE_H

#include <kforge/launch.h>

#define KFORGE_DEVICE_VARIABLE "KFORGE_EXPORT_DEVICE"
#define KFORGE_WORDS 256

struct kforge_device;

/* kforge_code.c: the kernels, and the name of the device that the program was
 * judged on. */
extern const unsigned char kforge_code[];
extern const size_t kforge_code_bytes;
extern const char kforge_judged_on[];

/* *out is NULL, and words has a sentence, after a failure. */
int kforge_device_open(struct kforge_device **out, char words[KFORGE_WORDS]);
void kforge_device_close(struct kforge_device *d);
/* NULL if there is no memory. Aligned to 256 bytes. */
void *kforge_device_allocate(struct kforge_device *d, size_t bytes);
void kforge_device_free(struct kforge_device *d, void *at);
/* To and from host memory; read waits until it is there. */
int kforge_device_write(struct kforge_device *d, void *to, const void *from,
			size_t bytes);
int kforge_device_read(struct kforge_device *d, void *to, const void *from,
		       size_t bytes);
int kforge_device_finish(struct kforge_device *d);
/* As in struct kf_launch_table. */
int kforge_device_launch(struct kforge_device *d, const struct kf_launch *l);
int kforge_device_fill(struct kforge_device *d, const void *to, uint64_t value,
		       int width, int64_t count);
int kforge_device_copy(struct kforge_device *d, const void *to,
		       const void *from, int64_t bytes);
/* From here on operations are queued there; NULL: on the device's own queue.
 * Where queues of callers mean nothing, that is an error. */
int kforge_device_queue(struct kforge_device *d, void *queue);
const char *kforge_device_words(const struct kforge_device *d);

#endif
