/*
 * cuda.h - the driver for NVIDIA's devices: kernels compiled by NVRTC in the
 * builder, launch lists replayed by the driver API in the device runner.
 *
 *	api.h        what is used of NVIDIA's interfaces
 *	library.c    where they lie, opening them
 *	find.c       devices; card.c: their hardware cards
 *	measure.c    what they were measured to do
 *	compile.c    kernels.cu to device code; toolkit.c: its headers;
 *	             assemble.c: what ptxas finds wrong
 *	device.c     open, attach, upload, download, close
 *	memory.c     arenas, their patterns, guards and digests
 *	sums.c       sums of large outputs, and stretches of them
 *	fresh.c      large inputs, made of their bases
 *	load.c       a module and its lists; check.c: does the device do them?
 *	parameters.c what kernels take; is that what a launch passes?
 *	replay.c     prepare, forward: the launch list again, timed
 *	tools.c      kernels of our own: a digest of memory, sums, large
 *	             inputs, peaks; assembled.c: once for a process
 *	fault.c      what a program did wrong, in sentences
 *	sanitize.c   the words of compute-sanitizer
 *	nvml.c       how fast a device runs
 *	canary.c     does a device still compute?
 *	free.c       programs with host code of their own, and their table
 *	given.c      the memory that these ask for
 *	vendor.c     the libraries that these may use
 *	watch.c      what runs on the device, by NVIDIA's own records;
 *	             record.h: how these are laid out
 *	cuda.c       the table
 */
#ifndef KF_PLATFORM_CUDA_H
#define KF_PLATFORM_CUDA_H

#include <kforge/driver.h>

#include "base/base.h"
#include "platform/cuda/api.h"
#include "platform/program.h"
#include "platform/twopart.h"

#define KF_CUDA_DEVICES_MAX	64
#define KF_CUDA_STAGING_BYTES	(1u << 20)
#define KF_CUDA_ALIGNMENT	256u	/* of scratch and kept memory */
#define KF_CUDA_MAPS_MAX	16u	/* tensor maps of one launch */

/* --- library.c: files ----------------------------------------------------- */
void kf_cuda_paths(enum kf_driver_place place, kf_driver_path_fn *add,
		   void *arg);
/* "nvcc" of a toolkit that is not on PATH; caller frees, NULL: none. */
char *kf_cuda_compiler_path(const char *name);
/* The assembler that belongs to the NVRTC at a path; as above. */
char *kf_cuda_assembler_path(const char *nvrtc_path);
/* The file of a library of the toolkit, "libcublas.so*"; caller frees, NULL:
 * there is none. */
char *kf_cuda_toolkit_library(const char *name);
/* Fills in the function pointers of table; NULL, or the symbol that is
 * missing. */
struct kf_cuda_entry { const char *symbol; size_t at; };
const char *kf_cuda_fill_in(void *library, void *table,
			    const struct kf_cuda_entry *entry, size_t count);
/* torch_env of the table. */
void kf_cuda_torch_env(const char *device_id, kf_driver_env_fn *add,
		       void *arg);
/* CUTLASS's folder of headers, which no compiler finds by itself; caller frees,
 * NULL: there is none. */
char *kf_cuda_cutlass_folder(void);
/* Calls add for each folder of headers that belongs to the compiler at path,
 * best first. */
typedef void kf_cuda_folder_fn(void *arg, const char *folder);
void kf_cuda_header_folders(const char *nvrtc_path, kf_cuda_folder_fn *add,
			    void *arg);

/* Variables that its sandboxes get; see kf_driver.env. */
extern const char *const kf_cuda_env[];

/* --- find.c, card.c, measure.c -------------------------------------------- */
struct kf_cuda_measured {	/* 0: not measured */
	double copy_bytes_per_s;	/* read and written bytes together */
	double f32_flops;		/* multiply-adds count as two */
	double bf16_flops;		/* on tensor cores, by mma.sync */
};

struct kf_cuda_facts {		/* plain data: crosses a process */
	int ordinal;			/* in the order of the PCI bus */
	char hardware[48];		/* struct kf_device_info; "": not told */
	char name[96];
	int major, minor;
	int driver_version;		/* 13000: CUDA 13.0 */
	int nvrtc_major, nvrtc_minor;	/* 0: there is none */
	uint64_t memory_bytes;
	int units, clock_khz, memory_clock_khz, memory_bits;
	int l2_bytes, shared_block_bytes, shared_unit_bytes;
	int registers_unit, threads_unit, groups_unit, threads_group;
	struct kf_cuda_measured measured;
};
enum kf_code kf_cuda_find(struct kf_device_info *info, size_t max,
			  const char *measure, size_t *count,
			  struct kf_err *err);
enum kf_code kf_cuda_find_one(int64_t number, struct kf_device_info *info,
			      bool *there, struct kf_err *err);
void kf_cuda_card(const struct kf_cuda_facts *facts, struct kf_buf *card);
/* Of its memory, in theory: bytes read and written, added; 0: unknown. */
double kf_cuda_memory_bytes_per_s(const struct kf_cuda_facts *facts);
/* "sm_90a": what NVRTC is told; with the instructions of that device alone
 * where there are such. */
void kf_cuda_arch(int major, int minor, char arch[32]);
/* Takes about half a second; what cannot be measured stays 0. */
void kf_cuda_measure(const struct kf_cuda_api *api, int device,
		     struct kf_cuda_measured *out);

/* --- canary.c: as in the table -------------------------------------------- */
enum kf_code kf_cuda_canary(const char *device_id, uint64_t timeout_ns,
			    struct kf_err *err);

/* --- nvml.c --------------------------------------------------------------- */
extern const struct kf_clock_source kf_cuda_clocks;
uint64_t kf_cuda_memory_free(const char *device_id);	/* as in the table */

/* --- compile.c, assemble.c, toolkit.c ------------------------------------- */
enum kf_code kf_cuda_build(const struct kf_build_request *req,
			   struct kf_build *out, struct kf_err *err);
/* The compiler's words as gcc would put them, "kernels.cu:3: error: ...", and
 * what ptxas says of a kernel in one line. */
void kf_cuda_log(const char *log, struct kf_buf *out);
/* Has the assembler at a path look at PTX of kernels.cu, and adds what it finds
 * wrong as the compiler would; nothing if it finds nothing or cannot be run. */
void kf_cuda_assemble(const char *ptxas, const char *arch, const char *ptx,
		      uint64_t timeout_ns, struct kf_buf *out);
/* Of its words, or NVRTC's. */
void kf_cuda_assembler_words(const char *ptx, const char *words,
			     struct kf_buf *out);
/* Headers of C and C++ that NVRTC lacks, for nvrtcCreateProgram. The first is
 * the one that every kernels.cu begins with. */
extern const char *const kf_cuda_header[], *const kf_cuda_header_name[];
extern const size_t kf_cuda_header_count;
/* Adds a line for the first include of a source that NVRTC refused for it: what
 * to include instead. Nothing where there is no advice. log: as kf_cuda_log. */
void kf_cuda_hint(const char *source, const char *log, struct kf_buf *out);

/* --- parameters.c --------------------------------------------------------- */
/* The part "parameters" of a pack, from PTX. */
void kf_cuda_parameters(const char *ptx, struct kf_buf *out);
/* parameters: the part, or NULL. False, with the sentence's end: a number or a
 * buffer is passed to what certainly is of another kind. Widths are right. */
bool kf_cuda_parameters_check(const struct kf_pack_part *parameters,
			      const struct kf_plan_op *op, char why[256]);

/* --- tools.c: PTX that the driver assembles ------------------------------- */
/* kf_digest(in, words, out): out[i] += the digest of chunk i of in; words of 16
 * bytes; a block of KF_CUDA_DIGEST_THREADS for each chunk. */
#define KF_CUDA_DIGEST_CHUNK	(256u << 10)
#define KF_CUDA_DIGEST_THREADS	256u
extern const char kf_cuda_digest_ptx[];
/* kf_sums(in, numel, sign, out): the sums of kf_sums, one warp a chunk. */
extern const char kf_cuda_sums_ptx[];
/* kf_fresh(base, in, numel, column, row, shift, tail, tail_from): in as kf_made
 * has it, a block of KF_CUDA_FRESH_THREADS a chunk; column 0: as the base. */
#define KF_CUDA_FRESH_THREADS	256u
extern const char kf_cuda_fresh_ptx[];
/* kf_peak(out, rounds), KF_CUDA_PEAK_THREADS a block: float32 multiply-adds,
 * what one thread does in a round; products of bfloat16 matrices, what one warp
 * does. */
#define KF_CUDA_PEAK_THREADS	256u
#define KF_CUDA_FMA_FLOPS	128.0
#define KF_CUDA_MMA_FLOPS	32768.0
extern const char kf_cuda_fma_ptx[], kf_cuda_mma_ptx[];

/* --- assembled.c ---------------------------------------------------------- */
/* Code of ours that is loaded more than once: it is assembled the first time,
 * where the driver can keep what comes of it. All zero: not yet. */
struct kf_cuda_code {
	bool tried;
	void *link, *image;		/* owned; NULL: the PTX is loaded */
};
/* A module of it; NVIDIA's result. */
int kf_cuda_code_load(const struct kf_cuda_api *api, struct kf_cuda_code *code,
		      const char *ptx, void **module);
void kf_cuda_code_release(const struct kf_cuda_api *api,
			  struct kf_cuda_code *code);

/* --- device.c, load.c, replay.c, fault.c ---------------------------------- */

struct kf_cuda_limits {
	int threads, block[3], grid[3];
	int units, shared_bytes, l2_bytes;
	int cooperative, clusters, tensor_maps, read_only;
};

/* One function of a program, ready to be replayed. */
struct kf_cuda_list {
	const struct kf_plan *plan;
	const struct kf_twopart_place *place;	/* a buffer each */
	void **function;	/* owned; an operation each, NULL: no launch */
	void *exec;		/* a graph; NULL: operation by operation */
};

/* What the chunks of an arena are to be. */
struct kf_cuda_digest {
	size_t count;
	uint64_t *want;		/* owned */
};

#define KF_CUDA_FREE_BLOCKS	256	/* kf_temp, of one call */
#define KF_CUDA_FREE_SLOTS	16	/* kf_keep */

struct kf_cuda_block { uint64_t at, bytes; };	/* device memory */
struct kf_cuda_kept {
	struct kf_cuda_block block;	/* with guards; at 0: none */
	uint64_t at, bytes;		/* of it, the program's */
	struct kf_cuda_digest digest;	/* what kf_prepare left there */
};

struct kf_device {
	struct kf_cuda_api api;
	int device;
	void *context, *stream, *start, *stop, *tools, *digest;
	struct kf_cuda_limits limits;
	uint64_t memory_max;

	/* The host opens the gate when all of a call is queued: until then the
	 * stream waits for *gate to be turn. */
	uint32_t *gate;			/* pinned */
	uint64_t gate_at;		/* the same, as the device sees it */
	uint32_t turn;

	struct kf_shared_memory shared;
	struct kf_twopart_tensors tensors;
	bool attached, registered_out;
	void *registered_in;		/* NULL: nothing of inputs */

	uint64_t arena[KF_TWOPART_ARENAS];	/* device memory; 0: none */
	uint64_t arena_bytes[KF_TWOPART_ARENAS];	/* multiples of 16 */
	uint64_t flush, flush_bytes;	/* device memory */
	uint64_t digest_at;		/* device memory */
	size_t digest_room;		/* chunks */
	uint64_t sums_at, sums_bytes;	/* device memory; 0: none yet */
	struct kf_cuda_code sums_code, fresh_code;
	unsigned char *staging;		/* pinned; KF_CUDA_STAGING_BYTES */
	struct kf_cuda_digest inputs, kept, base;

	/* fresh.c, where the device makes inputs. */
	uint64_t *base_of;		/* owned; [inputs], within the arena */
	uint64_t column_at, column_bytes;	/* device memory: a column and
						   the most rows */
	struct kf_made *made;		/* owned, with columns and rows: of the
					   last call */
	size_t made_count;

	struct kf_twopart program;
	struct kf_twopart_layout layout;
	char *image;			/* owned; the module's code */
	void *module;
	bool loaded, module_used;
	struct kf_cuda_list prepare, forward;

	uint64_t last_ns;		/* by the device's clock */
	uint64_t last_host_ns;		/* by ours, without empty_ns */
	uint64_t empty_ns;		/* the least that an empty call took */
	struct kf_trace *trace;		/* borrowed; NULL: nobody asks */
	void **mark;			/* owned; events around operations */
	size_t mark_count;
	char fault[256];
	bool failed;			/* nothing but close */

	struct kf_cuda_watch *watch;	/* owned; NULL: nobody asks */

	/* free.c */
	struct kf_program own;
	int refused;			/* the result that became trouble */
	bool has_run;			/* any of the program's functions */

	/* given.c; its scratch is the arena, laid out as in layout */
	struct kf_cuda_block extra[KF_CUDA_FREE_BLOCKS];
	struct kf_cuda_kept slot[KF_CUDA_FREE_SLOTS];
	size_t extra_count;
	size_t temp_count;		/* given in this call, extra or not */
	uint64_t temp_bytes, kept_bytes;	/* of what the program has */
	bool preparing;

	bool short_of_memory;		/* load refused it for that */
};

enum kf_code kf_cuda_open(const char *device_id, uint64_t memory_max,
			  struct kf_device **out, struct kf_err *err);
enum kf_code kf_cuda_attach(struct kf_device *dev,
			    const struct kf_shared_memory *m,
			    const struct kf_call *tensors, struct kf_err *err);
enum kf_code kf_cuda_load(struct kf_device *dev, const char *artefact_path,
			  char refused[256], struct kf_err *err);
enum kf_code kf_cuda_prepare(struct kf_device *dev, struct kf_call *call,
			     int *rc, struct kf_err *err);
enum kf_code kf_cuda_forward(struct kf_device *dev, struct kf_call *call,
			     int *rc, struct kf_err *err);
enum kf_code kf_cuda_upload(struct kf_device *dev, struct kf_err *err);
enum kf_code kf_cuda_download(struct kf_device *dev, uint64_t *changed,
			      struct kf_err *err);
/* Queued: move of all that lies around outputs, guards above all, which lie in
 * order; NVIDIA's result. */
int kf_cuda_between_outputs(struct kf_device *dev,
			    int (*move)(struct kf_device *dev, uint64_t from,
					uint64_t bytes));
/* sums.c. Room for them: at attach if they will be asked for. */
KF_MUST_CHECK enum kf_code kf_cuda_sums_room(struct kf_device *dev,
					     struct kf_err *err);
enum kf_code kf_cuda_sum(struct kf_device *dev, const struct kf_sums *sums,
			 size_t count, uint64_t *changed, struct kf_err *err);
/* Queued: move of all inputs but those that are made there, with what lies
 * between them. */
int kf_cuda_between_made(struct kf_device *dev,
			 int (*move)(struct kf_device *dev, uint64_t from,
				     uint64_t bytes));
/* fresh.c. attach's part where shared.made says so; as in the table; what the
 * last make made, once more, waited for; queued, where bases are, nothing of
 * them and of what was made of them any more; and what close has to do. */
KF_MUST_CHECK enum kf_code kf_cuda_fresh_room(struct kf_device *dev,
					      struct kf_err *err);
enum kf_code kf_cuda_base(struct kf_device *dev, uint32_t input,
			  uint64_t offset, const void *data, uint64_t bytes,
			  struct kf_err *err);
enum kf_code kf_cuda_make(struct kf_device *dev, const struct kf_made *made,
			  size_t count, struct kf_err *err);
int kf_cuda_make_again(struct kf_device *dev);
int kf_cuda_forget_bases(struct kf_device *dev);
void kf_cuda_fresh_release(struct kf_device *dev);
/* The end of both: what of memory that is not its own did the program change?
 * *changed as in download; the rest is the device's fault. */
KF_MUST_CHECK enum kf_code kf_cuda_look_after(struct kf_device *dev,
		uint64_t *changed, struct kf_err *err);
uint64_t kf_cuda_device_ns(const struct kf_device *dev);
uint64_t kf_cuda_host_ns(const struct kf_device *dev);
const char *kf_cuda_fault(const struct kf_device *dev);
bool kf_cuda_short_of_memory(const struct kf_device *dev);
void kf_cuda_trace(struct kf_device *dev, struct kf_trace *trace);
void kf_cuda_close(struct kf_device *dev);

/* sanitize.c */
extern const struct kf_sanitizer kf_cuda_sanitizer[];

/* memory.c. Allocates an arena of bytes, rounded up; the rest is zero. */
KF_MUST_CHECK enum kf_code kf_cuda_arena_alloc(struct kf_device *dev,
		enum kf_twopart_arena arena, uint64_t bytes,
		struct kf_err *err);
/* Memory for ourselves; *at is 0 where "the device has no room" for what. */
KF_MUST_CHECK enum kf_code kf_cuda_room(struct kf_device *dev, uint64_t *at,
		uint64_t bytes, const char *what, struct kf_err *err);
/* Queued: these blocks of scratch get the pattern, kept memory zeros, and the
 * rest of either that of guards. */
KF_MUST_CHECK enum kf_code kf_cuda_fill_scratch(struct kf_device *dev,
		const struct kf_twopart_blocks *blocks, struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_cuda_fill_kept(struct kf_device *dev,
					     struct kf_err *err);
/* What the arena holds now becomes what it is to hold. Waits. */
KF_MUST_CHECK enum kf_code kf_cuda_digest_take(struct kf_device *dev,
		enum kf_twopart_arena arena, struct kf_cuda_digest *digest,
		struct kf_err *err);
/* The first chunk that is not as it is to be; count of them if there is none.
 * Waits. */
KF_MUST_CHECK enum kf_code kf_cuda_digest_compare(struct kf_device *dev,
		enum kf_twopart_arena arena,
		const struct kf_cuda_digest *digest, size_t *chunk,
		struct kf_err *err);
/* Both of other memory, of a multiple of 16 bytes; first: room for as many. */
KF_MUST_CHECK enum kf_code kf_cuda_digest_room(struct kf_device *dev,
		uint64_t bytes, struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_cuda_block_digest_take(struct kf_device *dev,
		const struct kf_cuda_block *of, struct kf_cuda_digest *digest,
		struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_cuda_block_digest_compare(struct kf_device *dev,
		const struct kf_cuda_block *of,
		const struct kf_cuda_digest *digest, size_t *chunk,
		struct kf_err *err);
/* Are the guards of these blocks whole? If not, dev->fault says so. Waits. */
KF_MUST_CHECK enum kf_code kf_cuda_guards_check(struct kf_device *dev,
		enum kf_twopart_arena arena,
		const struct kf_twopart_blocks *blocks, struct kf_err *err);

/* given.c: kf_temp and kf_keep of programs with host code of their own. */
void *kf_cuda_give_temp(struct kf_call *call, size_t bytes);
void *kf_cuda_give_keep(struct kf_call *call, int slot, size_t bytes);
/* Before kf_prepare: drops what was kept. */
void kf_cuda_given_prepare(struct kf_device *dev);
/* When it has ended: what it kept is as kf_forward must leave it, and its
 * scratch is gone. What it did around both is the device's fault. Waits. */
KF_MUST_CHECK enum kf_code kf_cuda_given_seal(struct kf_device *dev,
					      struct kf_err *err);
/* What did kf_forward do to what is kept, and around it? Likewise. */
KF_MUST_CHECK enum kf_code kf_cuda_given_look(struct kf_device *dev,
					      struct kf_err *err);
/* The scratch of the last call is gone: there is room for as much in the arena,
 * which upload fills. */
void kf_cuda_given_tidy(struct kf_device *dev);
void kf_cuda_given_release(struct kf_device *dev);

/* load.c. The module afresh, so that nothing of an earlier call is left in its
 * variables, and both lists ready. refused as in load. */
KF_MUST_CHECK enum kf_code kf_cuda_module_load(struct kf_device *dev,
		char refused[256], struct kf_err *err);
void kf_cuda_module_unload(struct kf_device *dev);
/* check.c. May this launch be made? False: why is a sentence's end, for who
 * wrote the program. */
bool kf_cuda_launch_check(struct kf_device *dev, const struct kf_plan_op *op,
			  void *function, char why[256]);

/* vendor.c: words that build a program with NVIDIA's libraries, as far as they
 * are here; and what a sandbox must show for programs that use them. */
void kf_cuda_link_words(kf_driver_env_fn *add, void *arg);
void kf_cuda_free_paths(enum kf_driver_place place, kf_driver_path_fn *add,
			void *arg);
/* What a sandbox must show for watch.c. */
void kf_cuda_watch_paths(kf_driver_path_fn *add, void *arg);
/* The same for programs in Python, and torch_env: their builder has nvcc. */
void kf_cuda_module_paths(enum kf_driver_place place, kf_driver_path_fn *add,
			  void *arg);
void kf_cuda_module_env(const char *device_id, kf_driver_env_fn *add,
			void *arg);

/* Where CUPTI lies if not in the toolkit. */
#define KF_CUDA_CUPTI_VARIABLE "KFORGE_CUPTI"
/* watch.c: what runs on devices in this process, by NVIDIA's CUPTI. One at a
 * time; copies and fills get these names, which stay. NULL, with why, where it
 * is not there. */
struct kf_cuda_watch *kf_cuda_watch_begin(const char *copy, const char *fill,
					  char why[128]);
/* What has run until now, and was waited for, goes to no trace. */
void kf_cuda_watch_forget(struct kf_cuda_watch *watch);
/* Since the last call: all that has ended goes to trace. The streams have been
 * waited for. */
void kf_cuda_watch_take(struct kf_cuda_watch *watch, struct kf_trace *trace);
void kf_cuda_watch_end(struct kf_cuda_watch *watch);	/* NULL is allowed */

/* replay.c. Is there a program, and a device that has not failed? */
KF_MUST_CHECK enum kf_code kf_cuda_usable(const struct kf_device *dev,
					  struct kf_err *err);
/* Queued: weights as they are now to the device. */
KF_MUST_CHECK enum kf_code kf_cuda_bring_weights(struct kf_device *dev,
						 struct kf_err *err);
/* Where a buffer's byte lies on the device. */
uint64_t kf_cuda_address(const struct kf_device *dev,
			 const struct kf_cuda_list *list,
			 const struct kf_plan_place *place);
/* What an empty call takes by the host's clock, for what follows. */
KF_MUST_CHECK enum kf_code kf_cuda_time_empty(struct kf_device *dev,
					      struct kf_err *err);
/* Queues one operation; NVIDIA's result. */
int kf_cuda_issue(struct kf_device *dev, const struct kf_cuda_list *list,
		  size_t number);
/* The map of an argument, KF_CUDA_TENSOR_MAP_BYTES; NVIDIA's result. */
int kf_cuda_tensor_map(const struct kf_device *dev,
		       const struct kf_cuda_list *list,
		       const struct kf_plan_arg *arg, void *map);
/* What the launch is to NVIDIA's interface; attribute has room for three. */
struct kf_cuda_launch kf_cuda_launch_of(const struct kf_device *dev,
		const struct kf_plan_op *op,
		struct kf_cuda_launch_attribute *attribute);

/* fault.c. Is a result that is not 0 the program's doing, and not ours, the
 * device's or others'? making: it came when a launch was put into a graph or
 * the graph was made; running: when the graph ran, and these words follow the
 * kernel's name (NULL: it is not); host: these follow the name of the program's
 * own host code, where it has such. Results that are in no row are ours. */
struct kf_cuda_blame {
	int result;
	bool making;
	const char *running, *host;
};
const struct kf_cuda_blame *kf_cuda_blame(int result);
/* False: this result is no program's doing. Else dev->fault is set. */
bool kf_cuda_is_fault(struct kf_device *dev, const struct kf_plan *plan,
		      int result);

/* trace.c. Does NVIDIA's tool watch this list? Then it is no graph, what ran
 * before it is forgotten, and what it ran is told when it has ended. */
bool kf_cuda_watched(const struct kf_device *dev,
		     const struct kf_cuda_list *list);
/* Are its operations to be timed one by one, by events of ours? Then it is
 * queued by kf_cuda_trace_queue, and told by kf_cuda_trace_take when it has
 * ended. */
bool kf_cuda_traced(const struct kf_device *dev,
		    const struct kf_cuda_list *list);
int kf_cuda_trace_queue(struct kf_device *dev, const struct kf_cuda_list *list);
void kf_cuda_trace_take(struct kf_device *dev, const struct kf_cuda_list *list);
void kf_cuda_trace_close(struct kf_device *dev);

#endif
