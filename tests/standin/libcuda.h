/*
 * libcuda.h - what a test may ask of the stand-in for NVIDIA's driver library,
 * beside what that library has.
 */
#ifndef KF_TESTS_STANDIN_LIBCUDA_H
#define KF_TESTS_STANDIN_LIBCUDA_H

/* A module's code: "kforge stand-in\nkernel NAME\nkernel NAME\n...". */
#define STANDIN_MAGIC	"kforge stand-in\n"

/* How often an entry was called since the library was opened. */
typedef unsigned standin_calls_fn(const char *entry);
/* From now on, after `after` good ones, every call of entry gives result. */
typedef void standin_fail_fn(const char *entry, unsigned after, int result);
/* Whole again: no faults, nothing fails. What is alive stays. */
typedef void standin_reset_fn(void);
/* Blocks of memory, streams, events, modules, graphs and contexts alive. */
typedef unsigned standin_alive_fn(void);

/* From now on all memory of the process is the device's too: of a caller that
 * takes its memory from elsewhere. */
typedef void standin_adopt_fn(void);

standin_adopt_fn standin_adopt;
standin_calls_fn standin_calls;
standin_fail_fn standin_fail;
standin_reset_fn standin_reset;
standin_alive_fn standin_alive;

#endif
