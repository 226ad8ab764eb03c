/*
 * driver.h - what kforge asks of a kind of machine on which programs run.
 *
 * A driver is one constant table of functions; everything that kforge knows
 * about a kind of device sits behind it. When code elsewhere wants to ask "is
 * this the CPU?", add a member here instead. Platform folders
 * (platforms/NAME/platform.json) name the driver that they use.
 *
 * To add a driver: copy src/platform/null/, fill in the table, add one line to
 * src/platform/drivers.c, and make tests/contract/driver pass.
 *
 * Processes: find and paths run in the supervisor. build runs in the builder's
 *            sandbox (kforge-runner build), open, load, prepare, forward and
 *            close in the runner's (kforge-runner host; of a two-part driver
 *            kforge-runner device), for they touch code that nobody has
 *            reviewed. find and build may fork: never call them in a
 *            process that has opened a device, whose threads may hold locks.
 *            Programs of a driver that says `python` are run by a Python that
 *            has torch (python/candidate.py) instead: only find, build and
 *            paths of its table are called, and the other functions are NULL.
 * Threads:   tables never change. A kf_device belongs to the thread that
 *            opened it.
 * Errors:    the code returned, and the words in *err, tell of trouble of
 *            ours. A program that its compiler refuses is KF_OK and a verdict.
 * Ownership: arguments are borrowed for the call; what a function fills in is
 *            the caller's and safe to release even after a failure.
 */
#ifndef KF_DRIVER_H
#define KF_DRIVER_H

#include <kforge/base.h>
#include <kforge/program.h>

#define KF_DRIVER_ABI 9		/* raise on any change to struct kf_driver and
				   what it hands over */

struct kf_device;		/* one opened device; each driver defines it */

/* What a device was measured to do at best; 0: not measured. */
struct kf_ceilings {
	double bytes_per_s;		/* memory: bytes read and written, added */
	double flops_per_s;		/* float32 multiply-adds, all its units; an
					   addition and a product are two */
	double matrix_flops_per_s;	/* of matrix units, in bfloat16 */
	/* Told without measuring; 0: unknown. The largest cache that all units
	 * share, or the sum of their own; and what the memory moves at its
	 * clock, which no program reaches. */
	uint64_t cache_bytes;
	double bytes_per_s_in_theory;
};

struct kf_device_info {
	char id[32];		/* "cpu:0", "null:0": unique in this driver; what
				   follows the last colon is the number by which
				   users name it */
	/* What the hardware is called, whoever reaches it: "GPU-" and a UUID,
	 * KF_HARDWARE_PROCESSOR; "": nothing but id is known. Devices that have
	 * it in common, of other drivers too, are never timed at once. */
	char hardware[48];
	char name[96];		/* for people, as the machine gives it */
	char arch[32];		/* for compilers: "x86-64", "sm_90" */
	/* Whose driver it is, of platforms with those of several vendors;
	 * people may call a device by it, as by its name; "": there is one. */
	char driver_name[64];
	char driver[48];	/* version of the vendor's driver; "" if there is
				   none: times belong to one */
	uint64_t memory_bytes;	/* 0 if unknown */
	unsigned units;		/* cores that may be used; 0 if unknown */
	/* Its kernels run on this machine's processor, in the runner's process:
	 * what a two-part program does there is no better kept apart than a
	 * program of its own. */
	bool in_process;
	struct kf_ceilings ceiling;
	struct kf_buf card;	/* owned; the hardware card: one "name: value"
				   a line, what a writer of fast programs must
				   know, measured ceilings included */
};
void kf_device_info_release(struct kf_device_info *info);

#define KF_HARDWARE_PROCESSOR "processor"	/* this machine's */
/* "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", as vendors' tools have it. */
void kf_device_hardware(const unsigned char uuid[16], char out[48]);

struct kf_build_request {
	const char *const *source;	/* paths, in platform.json's order */
	size_t source_count;
	const char *const *command;	/* the platform's compile command, with
					   {source}, {output}, {include} already
					   replaced; NULL-terminated, may be
					   empty for a driver that needs none */
	const char *output_path;	/* written only on KF_BUILD_DONE */
	uint64_t timeout_ns;		/* 0 is refused */
	/* The device that it is built for, as find told them. There for
	 * two-part drivers; others may get NULL. */
	const char *device_id, *arch;
};
/* Two-part: command compiles host.c, the last source, alone, and leaves its
 * shared object in the file OUTPUT_PATH.host, which is the driver's to put
 * into the pack and to remove. */
#define KF_BUILD_HOST_SUFFIX ".host"

enum kf_build_end {
	KF_BUILD_NONE,
	KF_BUILD_DONE,
	KF_BUILD_REFUSED,	/* the compiler said no; read the log */
	KF_BUILD_TOO_SLOW,	/* killed at timeout_ns */
	KF_BUILD_TOO_LARGE,	/* the compiler or its output outgrew a limit */
};

#define KF_BUILD_LOG_BYTES (64u << 10)

struct kf_build {
	enum kf_build_end end;
	struct kf_buf log;	/* compiler's words, cut at KF_BUILD_LOG_BYTES */
	uint64_t took_ns;
	/* What a two-part program's kernels were compiled as, for the record:
	 * "OpenCL C 3.0"; "": it does not depend on the device. */
	char kernels[32];
};
void kf_build_release(struct kf_build *build);

/* A runtime library that sets itself up, on first use, in ways that a loaded
 * program may not: LLVM's OpenMP makes a file in /dev/shm. */
struct kf_runtime {
	const char *library;	/* how its file's name begins: "libomp.so" */
	const char *start;	/* int function(void) whose call sets it up */
};

/* Memory that the supervisor and the runner share; call's tensors lie in it. */
struct kf_shared_memory {
	const void *inputs;		/* inputs, then weights; read-only */
	uint64_t inputs_bytes;
	void *outputs;			/* outputs, with guards between them */
	uint64_t outputs_bytes;
	/* Of drivers that fill outputs, may be NULL. Unless *pattern is 0 every
	 * output is to hold its bytes, again and again from its start, before
	 * a call; only the guards are then as they are to be. Both halves of it
	 * are the same. It changes from call to call. */
	const uint32_t *pattern;
	/* Of drivers with sum: that is called in the place of download, but
	 * where something is wrong. Most of outputs is never touched then. */
	bool summed;
	/* Of drivers with make: [inputs], which of them that makes of their
	 * bases. base is called for all of these first, and again after each
	 * prepare, then make before each upload, which leaves them alone:
	 * nothing of them is in inputs. NULL: none. */
	const bool *made;
	/* Where the parts that base is given lie. */
	const void *window;
	uint64_t window_bytes;
};

/* What is asked of an output of float32 instead of all of it. */
#define KF_SUMS		4u	/* of each chunk, with other signs */
#define KF_SUMS_CHUNK	4096u	/* consecutive elements; at the end fewer */
struct kf_sums {
	uint32_t output;		/* its number */
	const int8_t *sign;		/* [KF_SUMS][KF_SUMS_CHUNK], +-1 */
	double *sum;			/* [chunks][KF_SUMS]: gets the sums of
					   sign times element, in double */
	/* Stretches that are brought into shared memory, where they belong:
	 * element at[i] to at[i] + window. */
	const int64_t *at;
	int64_t window_count, window;
};
static inline uint64_t kf_sums_chunks(uint64_t numel)
{
	return numel / KF_SUMS_CHUNK + (numel % KF_SUMS_CHUNK != 0);
}

/* An input of float32 for the next call: element k of its base times
 * column[k % KF_SUMS_CHUNK] times row[k / KF_SUMS_CHUNK], less shift, in
 * double, and rounded once; the products are exact. */
struct kf_made {
	uint32_t input;			/* its number */
	const float *column;		/* NULL: it is its base */
	const float *row;
	double shift;
	/* Where not 0: of this many elements again and again, those from
	 * tail_from on are then multiplied by 8. */
	uint64_t tail, tail_from;
};

/* One operation of a call, as it went: for profiles. NaN: unknown. */
struct kf_trace_op {
	char name[96];			/* a kernel's; "kf_zero", "kf_copy" */
	uint64_t start_ns, end_ns;	/* one clock for all of a call; both 0:
					   the device does not tell */
	double groups, group_size;	/* of a launch */
	double registers;		/* of a thread */
	double shared_bytes;		/* of a group */
	double local_bytes;		/* of a thread, in ordinary memory:
					   spills, arrays with such indices */
	double occupancy;		/* threads on a unit by what it could hold,
					   0 to 1, as far as registers, shared
					   memory and group size decide */
	double bytes;			/* of a copy or a fill */
};
#define KF_TRACE_OPS_MAX 4096u

struct kf_trace {
	struct kf_trace_op *op;		/* owned; of the last forward */
	size_t count;			/* 0 if it had more than KF_TRACE_OPS_MAX */
	/* A tool is around the process and waits for every launch: then none
	 * may wait for one that comes later. Set before. */
	bool watched;
	/* The vendor's own records of what ran are asked for, and no marks of
	 * ours between the operations. Set before; a driver that knows no such
	 * records does as without. */
	bool activity;
	size_t lost;		/* records of the last forward that the vendor's
				   tool could not keep */
	char unseen[128];		/* why the last forward's operations are
					   not there; "" if they are */
};
/* All unknown, but for the name; op stays where it was if there is room. */
void kf_trace_op_init(struct kf_trace_op *op, const char *name);
void kf_trace_release(struct kf_trace *trace);

/* Which sandbox asks for a driver's paths. */
enum kf_driver_place {
	KF_DRIVER_BUILDER,	/* where build runs */
	KF_DRIVER_RUNNER,	/* where the device is */
	KF_DRIVER_WATCHER,	/* the same, with kf_trace.activity */
};
typedef void kf_driver_path_fn(void *arg, const char *path, bool writable);
/* variable: "NAME=value" */
typedef void kf_driver_env_fn(void *arg, const char *variable);

/* What a sanitizer found first: "" and 0 where it does not say. */
struct kf_found {
	char what[160];			/* "Invalid write of size 4" */
	char kernel[96];
	char thread[128];		/* as the tool names it */
	char address[40];
	unsigned line;			/* of the kernels' file */
};

/* A tool that watches over a program while it runs (verify --sanitize). It is
 * started in front of one that opens the device by itself, or compiled in. */
struct kf_sanitizer {
	const char *name;		/* NULL ends a list of them */
	const char *package;		/* where it comes from: "install " ... */
	/* Compiled in: what the compiler is told besides. NULL: a program of
	 * its own, which place says. */
	const char *flags;
	/* Names of a program on PATH, or paths; the first that is there is
	 * "{tool}" in command and env. NULL with flags; all three are
	 * NULL-terminated. */
	const char *const *place;
	const char *const *command;	/* in front of the program; may be empty */
	const char *const *env;		/* "NAME=value"; may be empty */
	/* Reads what it printed; false: it found nothing. */
	bool (*read)(const char *log, struct kf_found *out);
};

/* What slows a device down; bits of kf_clocks.throttle. */
enum kf_throttle {
	KF_THROTTLE_HEAT = 1, KF_THROTTLE_POWER = 2, KF_THROTTLE_HARDWARE = 4
};

/* How fast a device runs at this moment. */
struct kf_clocks {
	unsigned core_mhz, memory_mhz, temperature_c;	/* 0: unknown */
	unsigned throttle;
};

/* Tells of a device without opening it: in the supervisor, while the runner
 * uses it. KF_E_UNAVAIL with a sentence where it cannot, KF_E_TIMEOUT where a
 * driver that hangs does not let it: nobody is held up for ever. */
struct kf_clock_watch;		/* each source defines it */
struct kf_clock_source {
	enum kf_code (*open)(const char *device_id,
			     struct kf_clock_watch **out, struct kf_err *err);
	/* out is zeroed. */
	enum kf_code (*read)(struct kf_clock_watch *watch,
			     struct kf_clocks *out, struct kf_err *err);
	void (*close)(struct kf_clock_watch *watch);	/* NULL is allowed */
	/* Rates change from moment to moment, so that a look tells little of
	 * the block of calls beside it: they are told, and decide nothing. */
	bool momentary;
};

#define KF_DEVICE_FIRST (-1)

struct kf_driver {
	unsigned abi;			/* KF_DRIVER_ABI */
	const char *name;		/* "[a-z0-9]+"; kept in stores for ever */
	bool in_process;		/* candidate's code runs in the runner */

	/* Fill info[0..*count) with at most max devices. None is not an error.
	 * Only what can be read at once, but measure names one device (its id)
	 * whose card is to have measured ceilings (that takes up to a second,
	 * and nobody else should compute there); NULL: none. */
	enum kf_code (*find)(struct kf_device_info *info, size_t max,
			     const char *measure, size_t *count,
			     struct kf_err *err);
	enum kf_code (*build)(const struct kf_build_request *req,
			      struct kf_build *out, struct kf_err *err);

	/* memory_max is the most, in bytes, that kf_temp and kf_keep may hold
	 * together; beyond it they return NULL. */
	enum kf_code (*open)(const char *device_id, uint64_t memory_max,
			     struct kf_device **out, struct kf_err *err);
	/* Load the artefact. refused gets a sentence, with KF_OK, when the
	 * artefact itself is unusable (no kf_forward, ...). */
	enum kf_code (*load)(struct kf_device *dev, const char *artefact_path,
			     char refused[256], struct kf_err *err);
	/* Run once and wait. *rc is what the program returned. A program
	 * without kf_prepare: prepare sets *rc = 0 and does nothing. */
	enum kf_code (*prepare)(struct kf_device *dev, struct kf_call *call,
				int *rc, struct kf_err *err);
	enum kf_code (*forward)(struct kf_device *dev, struct kf_call *call,
				int *rc, struct kf_err *err);
	void (*close)(struct kf_device *dev);	/* NULL is allowed */

	/* Optional: what must be done between two calls and is not part of
	 * either's time, such as filling scratch memory with a pattern. NULL
	 * where there is nothing to do. */
	void (*tidy)(struct kf_device *dev);
	/* Optional, async-signal-safe: what of the driver's own lies at this
	 * address, in words that follow "wrote to"; NULL if nothing. */
	const char *(*owns)(const struct kf_device *dev, const void *address);
	/* Optional: runtimes to be set up before a program that names one is
	 * loaded, ended by an empty entry. */
	const struct kf_runtime *runtime;

	/*
	 * Two-part programs (launch.h). build gets kernels and host.c and
	 * leaves a pack (src/platform/pack.h) of "host", a shared object, and
	 * "device", the kernels' binary. host is recorded elsewhere; load gets
	 * a pack of "device" and "plans" (src/platform/plan.h), and refused
	 * gets a sentence for who wrote the program when a plan asks for a
	 * kernel that is not there, wrong arguments, or more than the device
	 * has; a pack that cannot be read, or is of another device, is trouble
	 * of ours. The runner then holds no code of the candidate's host.c, and
	 * the driver's own word and clock are believed.
	 *
	 * Order: open, attach, load; prepare whenever weights change, and base
	 * after it; then make, upload, forward, download or sum for each call,
	 * and tidy. All of these are NULL where two_part is false, and all but
	 * base, make and sum are there where it is true. But a driver whose
	 * programs have host code of their own may have attach, upload,
	 * download and fault for the same order of calls: then kforge-runner
	 * free runs it, with in_process true.
	 */
	bool two_part;
	/* tensors has the tensors of every call that follows, in m. The driver
	 * keeps its own copy of all of m, laid out alike (so guards too), on
	 * the device. m stays as long as the device is open. */
	enum kf_code (*attach)(struct kf_device *dev,
			       const struct kf_shared_memory *m,
			       const struct kf_call *tensors,
			       struct kf_err *err);
	/* In nobody's time: inputs, and outputs with their guards, as they are
	 * in shared memory now, to the device; scratch gets a pattern; caches
	 * are flushed. prepare brings the weights itself. */
	enum kf_code (*upload)(struct kf_device *dev, struct kf_err *err);
	/* upload heeds kf_shared_memory.pattern: large outputs are filled where
	 * they are, and not in shared memory first. */
	bool fills_outputs;
	/* After what it brings upload has twice kf_ceilings.cache_bytes
	 * written: no input is in the cache when a call begins. */
	bool flushes;
	/* Outputs and guards back into shared memory. *changed is where, in
	 * inputs, the device's copy first differs: UINT64_MAX if nowhere. */
	enum kf_code (*download)(struct kf_device *dev, uint64_t *changed,
				 struct kf_err *err);
	/* What the last prepare or forward took by the device's own clock, from
	 * its first operation to its last; 0: the device has none. */
	uint64_t (*device_ns)(const struct kf_device *dev);
	/* The same by this machine's clock: from letting the device begin until
	 * its end was seen, less what an empty call takes. A device's clock
	 * that lags far behind it is not believed. 0: not taken. */
	uint64_t (*host_ns)(const struct kf_device *dev);
	/* What the program did wrong in the last call, a sentence ("kernel
	 * axpb read memory that is not its own"), or NULL. prepare, forward and
	 * download are KF_OK then; nothing but close may follow. Asked after
	 * each of the three: what a program did to memory that is not its own,
	 * such as what lies around its scratch, is seen by download and sum. A
	 * driver without attach may have it too: asked after tidy, which sees
	 * that. */
	const char *(*fault)(const struct kf_device *dev);
	/* Did load refuse the program because it asks for more memory than the
	 * device has? What others hold of it does not count: a device that is
	 * full for their sake is trouble of ours. */
	bool (*short_of_memory)(const struct kf_device *dev);
	/* Files, folders and device nodes that a sandbox must show, those that
	 * this machine has. env: variables of the sandbox, NULL-terminated,
	 * "NAME=value", or "NAME" to hand on kforge's own where it is set. */
	void (*paths)(enum kf_driver_place place, kf_driver_path_fn *add,
		      void *arg);
	const char *const *env;
	/* What PyTorch calls this kind of device ("cuda"), so that references
	 * run on it too; NULL: they run on the processor. */
	const char *torch_device;
	/* With torch_device: variables by which PyTorch sees this device alone,
	 * as its first, and finds its library. device_id may be NULL: the
	 * first. */
	void (*torch_env)(const char *device_id, kf_driver_env_fn *add,
			  void *arg);
	/* Optional: from now on every forward leaves its operations and their
	 * times in *trace (borrowed as long as the device is open), and may
	 * take longer for it. Called after load. NULL: it cannot. */
	void (*trace)(struct kf_device *dev, struct kf_trace *trace);

	/* Optional: the path of a compiler that platform.json names and that is
	 * not on PATH; caller frees, NULL: there is none. Runs in the
	 * supervisor. */
	char *(*compiler_path)(const char *name);
	/* Optional: what stands for {libraries} in platform.json's command: the
	 * words that build a program with the vendor's libraries, those that
	 * are headers alone among them. In the supervisor. */
	void (*link_words)(kf_driver_env_fn *add, void *arg);

	/* Programs are Python files: what loads them, and brings tensors there
	 * and back, is python/candidate.py. Its build command may name
	 * {python} and {python_home}. */
	bool python;
	/* What sentences call that which a call runs and that which runs when
	 * weights change; NULL: "kf_forward" and "kf_prepare". */
	const char *forward_name, *prepare_name;
	/* Optional: each is asked in turn. */
	const struct kf_sanitizer *sanitizer;
	/* Optional, in the supervisor: does the device still compute? Runs a
	 * small program of our own, whose answer is known, in a process of its
	 * own that ends in time. KF_E_UNAVAIL, with words that follow the
	 * device's name: it does not; KF_E_LIMIT: no room was left there to
	 * find out. NULL: a device that cannot fall ill. */
	enum kf_code (*canary)(const char *device_id, uint64_t timeout_ns,
			       struct kf_err *err);
	/* Optional, of any driver: the clock rates of its devices. */
	const struct kf_clock_source *clocks;
	/* Optional, in the supervisor: how many bytes of the device's memory
	 * nobody has at this moment. 0: it does not tell. */
	uint64_t (*memory_free)(const char *device_id);
	/* Optional, in the supervisor, of drivers whose programs compute on the
	 * memory that it shares with them: these bytes leave the processor's
	 * caches. Drivers that move tensors flush caches in upload. */
	void (*evict)(const void *data, size_t bytes);
	/* Optional, of drivers with attach: as download, but of outputs only
	 * what is asked comes back, and guards. sums has an entry for each
	 * output, all of float32. Nothing that a program could have changed
	 * takes part in the adding up but its outputs. */
	enum kf_code (*sum)(struct kf_device *dev, const struct kf_sums *sums,
			    size_t count, uint64_t *changed,
			    struct kf_err *err);
	/* Optional, both or none, of drivers with attach, for what
	 * kf_shared_memory.made says. Bytes of an input's base from offset on,
	 * which may change once it returns; refused after the first make, until
	 * a prepare, which forgets the bases: a program must not find them
	 * there. Then, of all inputs that are made there, what the next call is
	 * to be given. */
	enum kf_code (*base)(struct kf_device *dev, uint32_t input,
			     uint64_t offset, const void *data, uint64_t bytes,
			     struct kf_err *err);
	enum kf_code (*make)(struct kf_device *dev, const struct kf_made *made,
			     size_t count, struct kf_err *err);
	/* Optional, where it is quicker than find to look at one device alone:
	 * that whose id ends in ":NUMBER", or KF_DEVICE_FIRST. there is false
	 * where that cannot be told, too: find has the last word. */
	enum kf_code (*find_one)(int64_t number, struct kf_device_info *info,
				 bool *there, struct kf_err *err);
};

/* Does the supervisor ask for UPLOAD and DOWNLOAD around each call? Where not,
 * programs compute on the shared memory itself. */
static inline bool kf_driver_moves(const struct kf_driver *driver)
{
	return driver->attach || driver->python;
}
/* Do programs compute on a device of their own, beside the processors? As
 * device_in_process of the device says (kf_device_info). */
static inline bool kf_driver_on_device(const struct kf_driver *driver,
				       bool device_in_process)
{
	return driver->attach ? !device_in_process :
		driver->torch_device != NULL;
}
/* "kf_forward", or as the driver's programs call it. */
static inline const char *kf_driver_entry(const struct kf_driver *driver,
					  bool preparing)
{
	const char *own = preparing ? driver->prepare_name :
		driver->forward_name;

	return own ? own : preparing ? "kf_prepare" : "kf_forward";
}

/* Every driver of this build; the last entry is NULL. */
extern const struct kf_driver *const kf_drivers[];
/* NULL if there is none of that name. */
const struct kf_driver *kf_driver_by_name(const char *name);

/* The checking front: each refuses a malformed request with KF_E_INPUT, then
 * calls the table. Call these, not the table. */
KF_MUST_CHECK enum kf_code kf_driver_find(const struct kf_driver *driver,
		struct kf_device_info *info, size_t max, const char *measure,
		size_t *count, struct kf_err *err);
/* Of drivers that have it; info is to be released in either case. */
KF_MUST_CHECK enum kf_code kf_driver_find_one(const struct kf_driver *driver,
		int64_t number, struct kf_device_info *info, bool *there,
		struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_driver_build(const struct kf_driver *driver,
		const struct kf_build_request *req, struct kf_build *out,
		struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_driver_open(const struct kf_driver *driver,
		const char *device_id, uint64_t memory_max,
		struct kf_device **out, struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_driver_load(const struct kf_driver *driver,
		struct kf_device *dev, const char *artefact_path,
		char refused[256], struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_driver_prepare(const struct kf_driver *driver,
		struct kf_device *dev, struct kf_call *call, int *rc,
		struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_driver_forward(const struct kf_driver *driver,
		struct kf_device *dev, struct kf_call *call, int *rc,
		struct kf_err *err);
/* These three of two-part drivers only. tensors must lie in m. */
KF_MUST_CHECK enum kf_code kf_driver_attach(const struct kf_driver *driver,
		struct kf_device *dev, const struct kf_shared_memory *m,
		const struct kf_call *tensors, struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_driver_upload(const struct kf_driver *driver,
		struct kf_device *dev, struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_driver_download(const struct kf_driver *driver,
		struct kf_device *dev, uint64_t *changed, struct kf_err *err);
/* Of drivers that have it. */
KF_MUST_CHECK enum kf_code kf_driver_sum(const struct kf_driver *driver,
		struct kf_device *dev, const struct kf_sums *sums, size_t count,
		uint64_t *changed, struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_driver_base(const struct kf_driver *driver,
		struct kf_device *dev, uint32_t input, uint64_t offset,
		const void *data, uint64_t bytes, struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_driver_make(const struct kf_driver *driver,
		struct kf_device *dev, const struct kf_made *made, size_t count,
		struct kf_err *err);
/* 0, NULL and false where the driver has none. */
uint64_t kf_driver_device_ns(const struct kf_driver *driver,
			     const struct kf_device *dev);
uint64_t kf_driver_host_ns(const struct kf_driver *driver,
			   const struct kf_device *dev);
const char *kf_driver_fault(const struct kf_driver *driver,
			    const struct kf_device *dev);
bool kf_driver_short_of_memory(const struct kf_driver *driver,
			       const struct kf_device *dev);
void kf_driver_paths(const struct kf_driver *driver,
		     enum kf_driver_place place, kf_driver_path_fn *add,
		     void *arg);
/* False if the driver cannot. */
bool kf_driver_trace(const struct kf_driver *driver, struct kf_device *dev,
		     struct kf_trace *trace);
void kf_driver_tidy(const struct kf_driver *driver, struct kf_device *dev);
const char *kf_driver_owns(const struct kf_driver *driver,
		const struct kf_device *dev, const void *address);
void kf_driver_close(const struct kf_driver *driver, struct kf_device *dev);

#endif
