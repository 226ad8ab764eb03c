#include "profile/rules.h"

#include <math.h>

/* A kernel with a smaller share is not worth a word. */
#define SHARE_LEAST	0.10
#define HIGH		60.0	/* per cent of a ceiling: it is what binds */
#define BEATEN		1.1	/* a ceiling by more: it is not the one */

/* What a rule looks at: one kernel, or the whole program where name is "". */
struct look {
	const struct kf_profile *profile;
	const struct kf_roofline *roofline;	/* NULL: none */
	const char *kernel;
	double share;			/* of the time; 1 for the program */
};

static double of(const struct look *l, const char *name)
{
	return kf_metrics_value(&l->profile->metrics, l->kernel, name);
}

static double of_program(const struct look *l, const char *name)
{
	return kf_metrics_value(&l->profile->metrics, NULL, name);
}

/* Is it measured and at least this? NaN is not. */
static bool at_least(double value, double least)
{
	return value >= least;
}

static double most(double a, double b)
{
	return isnan(a) || b > a ? b : a;
}

/* --- launches ------------------------------------------------------------- */

static bool launch_gaps(const struct look *l, struct kf_finding *f)
{
	double gap = of_program(l, "launch_gap"), time = of_program(l, "time");
	double share = gap / (gap + time);

	if (!at_least(share, 0.15))
		return false;
	f->weight = share;
	snprintf(f->text, sizeof(f->text), "between launches the device does "
		 "nothing for %.0f %% of the call", 100 * share);
	return true;
}

static bool many_launches(const struct look *l, struct kf_finding *f)
{
	double launches = of_program(l, "launches");
	double each = of_program(l, "time") / launches;

	if (!at_least(launches, 2) || !(each < 5000))
		return false;
	f->weight = 0.5 * (1 - 1 / launches);
	snprintf(f->text, sizeof(f->text), "%.0f launches of %.1f us on "
		 "average: each costs about as much to begin as it runs",
		 launches, each / 1000);
	return true;
}

/* --- spills, banks -------------------------------------------------------- */

static bool spills(const struct look *l, struct kf_finding *f)
{
	double bytes = most(of(l, "spill_bytes"), of(l, "local_bytes"));
	double loads = of(l, "spill_loads");

	if (!at_least(bytes, 1) && !at_least(loads, 1))
		return false;
	f->weight = 0.35 * l->share;
	snprintf(f->text, sizeof(f->text), "%.0f bytes of each thread's "
		 "variables lie in memory and not in registers",
		 most(bytes, 0));
	return true;
}

static bool bank_conflicts(const struct look *l, struct kf_finding *f)
{
	double ratio = of(l, "bank_conflicts") / of(l, "shared_passes");

	if (!at_least(ratio, 0.2))
		return false;
	f->weight = 0.6 * fmin(ratio, 1) * l->share;
	snprintf(f->text, sizeof(f->text), "%.0f %% of the passes over shared "
		 "memory are there for bank conflicts", 100 * fmin(ratio, 1));
	return true;
}

/* --- imbalance ------------------------------------------------------------ */

static bool threads_unequal(const struct look *l, struct kf_finding *f)
{
	double imbalance = of_program(l, "thread_imbalance");

	if (!at_least(imbalance, 1.25))
		return false;
	f->weight = 1 - 1 / imbalance;
	snprintf(f->text, sizeof(f->text), "the busiest thread works %.2f "
		 "times as long as the average one, and the others wait",
		 imbalance);
	return true;
}

static bool threads_idle(const struct look *l, struct kf_finding *f)
{
	double used = of_program(l, "cpus_used");
	double threads = of_program(l, "threads");

	/* Others had the processors. */
	if (kf_profile_busy(l->profile))
		return false;
	if (!at_least(threads, 2) || !(used < 0.7 * threads))
		return false;
	f->weight = 1 - used / threads;
	snprintf(f->text, sizeof(f->text), "%.1f of %.0f threads are busy on "
		 "average: a part runs on one thread, or threads start and "
		 "stop more than they work", used, threads);
	return true;
}

static bool tail(const struct look *l, struct kf_finding *f)
{
	double waves = of(l, "waves"), use = waves / ceil(waves);

	if (!(waves > 0) || waves > 8 || !(use < 0.8))
		return false;
	f->weight = (1 - use) * l->share;
	snprintf(f->text, sizeof(f->text), "its groups fill the device %.2f "
		 "times: %s", waves, waves < 1 ? "some units have none" :
		 "in the last round many units have none");
	return true;
}

/* --- occupancy ------------------------------------------------------------ */

static const char *limiter(const struct look *l)
{
	if (at_least(of(l, "registers"), 96))
		return "registers";
	if (at_least(of(l, "shared_bytes"), 48 << 10))
		return "shared memory";
	if (of(l, "group_size") < 64)
		return "the small groups";
	return "registers, shared memory or group size";
}

/* Who waits then mostly holds nobody up: warps that have done their part. */
static bool is_busy(const struct look *l)
{
	return at_least(of(l, "dram_throughput"), HIGH) ||
		at_least(of(l, "compute_throughput"), HIGH);
}

static bool occupancy(const struct look *l, struct kf_finding *f)
{
	double achieved = of(l, "occupancy");
	double possible = of(l, "occupancy_possible");
	double low = isnan(achieved) ? possible : achieved;

	if (!(low < 30) || is_busy(l) || at_least(of(l, "warps_eligible"), 1))
		return false;
	f->weight = 0.45 * (1 - low / 100) * l->share;
	snprintf(f->text, sizeof(f->text), "%.0f %% of the threads that the "
		 "units can hold are there, too few to hide waiting; %s%s",
		 low, possible < 40 ? "held down by " : "not for want of room",
		 possible < 40 ? limiter(l) : "");
	return true;
}

/* --- bandwidth ------------------------------------------------------------ */

static bool bytes_again(const struct look *l, struct kf_finding *f)
{
	double moved = of_program(l, "dram_bytes_read") +
		of_program(l, "dram_bytes_written");
	double ratio = l->roofline ? moved / l->roofline->bytes : (double)NAN;

	if (!at_least(ratio, 1.3))
		return false;
	f->weight = (1 - 1 / ratio) * (at_least(of_program(l,
				"dram_throughput"), 40) ? 1 : 0.5);
	snprintf(f->text, sizeof(f->text), "it moves %.1f times the bytes "
		 "that the problem has: intermediate results, or data that is "
		 "read more than once", ratio);
	return true;
}

static bool at_bandwidth(const struct look *l, struct kf_finding *f)
{
	double share = of(l, "dram_throughput");

	if (isnan(share) && !l->kernel[0] && l->roofline &&
	    !l->roofline->cached)
		share = 100 * l->roofline->memory_share;
	if (!at_least(share, HIGH))
		return false;
	f->weight = 0.3 * l->share * fmin(share, 100) / 100;
	snprintf(f->text, sizeof(f->text), "it runs at %.0f %% of the "
		 "memory's bandwidth: only fewer bytes make it faster", share);
	return true;
}

static bool scattered(const struct look *l, struct kf_finding *f)
{
	double load = of(l, "sectors_per_load");
	double store = of(l, "sectors_per_store");
	double worse = most(load, store);

	if (!at_least(worse, 17))	/* 16 is four floats a thread in order */
		return false;
	f->weight = 0.5 * (1 - 16 / worse) * l->share;
	snprintf(f->text, sizeof(f->text), "a warp's %s touches %.0f sectors "
		 "of 32 bytes: neighbouring threads do not touch neighbouring "
		 "addresses", at_least(load, worse) ? "load" : "store", worse);
	return true;
}

static bool cache_misses(const struct look *l, struct kf_finding *f)
{
	double rate = of_program(l, "l1_misses") / of_program(l, "l1_loads");

	if (isnan(rate))
		rate = of_program(l, "l1_read_misses_simulated") /
			of_program(l, "data_reads");
	/* In order, every 8th load of 8 floats and every 2nd of 8 begins a
	 * line: with vectors half of all loads may miss. */
	if (!at_least(rate, 0.6))
		return false;
	f->weight = 0.4 * fmin(rate, 1);
	snprintf(f->text, sizeof(f->text), "%.0f %% of the loads miss the "
		 "first cache: strided accesses, or a block that does not "
		 "fit", 100 * fmin(rate, 1));
	return true;
}

/* --- compute -------------------------------------------------------------- */

static bool at_compute(const struct look *l, struct kf_finding *f)
{
	double share = most(of(l, "compute_throughput"),
			    most(of(l, "fma_pipe"), of(l, "tensor_pipe")));

	/* Far over 1: with other units than the ceiling's, or fewer operations;
	 * a little over it: the ceiling was measured. */
	if (isnan(share) && !l->kernel[0] && l->roofline &&
	    l->roofline->compute_share <= BEATEN)
		share = fmin(100 * l->roofline->compute_share, 100);
	if (!at_least(share, HIGH))
		return false;
	f->weight = 0.3 * l->share * fmin(share, 100) / 100;
	snprintf(f->text, sizeof(f->text), "its busiest units work at %.0f %% "
		 "of their peak: only fewer or other operations make it "
		 "faster", share);
	return true;
}

static bool not_vectorised(const struct look *l, struct kf_finding *f)
{
	double each = of_program(l, "instructions") /
		(l->roofline ? l->roofline->flops : (double)NAN);

	if (!at_least(each, 0.75) || !(of_program(l, "instructions") > 1e5))
		return false;
	f->weight = 0.6 * (1 - 0.25 / each);
	snprintf(f->text, sizeof(f->text), "%.2g instructions for each "
		 "operation that the problem needs; vectors need a fraction "
		 "of one", each);
	return true;
}

/* A mathematical function of the C library, one number at a time. */
static bool scalar_function(const struct look *l, struct kf_finding *f)
{
	static const char *const known[] = {
		"exp", "expf", "log", "logf", "tanh", "tanhf", "pow", "powf",
		"erf", "erff", "sin", "sinf", "cos", "cosf", "expm1f",
		"log1pf", "sqrtf", "fmaxf", "fminf",
	};
	const char *name = l->kernel + strspn(l->kernel, "_");
	size_t len = strcspn(name, "@");

	if (strncmp(name, "ieee754_", 8) == 0) {
		name += 8;
		len -= 8;
	}
	for (size_t i = 0; i < KF_COUNT(known); i++) {
		size_t bytes = strlen(known[i]);

		if (len < bytes || strncmp(name, known[i], bytes) != 0 ||
		    (len > bytes && name[bytes] != '_' && name[bytes] != '\''))
			continue;
		f->weight = 0.8 * l->share;
		snprintf(f->text, sizeof(f->text), "%.0f %% of the %s are in "
			 "%s of the C library, one number at a time",
			 100 * l->share, l->profile->share_of, known[i]);
		return true;
	}
	return false;
}

/* --- latency -------------------------------------------------------------- */

static bool waits_for_memory(const struct look *l, struct kf_finding *f)
{
	double stall = of(l, "stall_memory");
	double dram = of(l, "dram_throughput");

	if (!at_least(stall, 4) || is_busy(l))
		return false;
	f->weight = 0.5 * (1 - most(dram, 0) / 100) * l->share;
	snprintf(f->text, sizeof(f->text), "a warp waits %.1f cycles for "
		 "memory before each instruction, and memory is busy %.0f %% "
		 "of what it could: too few loads are under way", stall,
		 most(dram, 0));
	return true;
}

static bool waits_at_barriers(const struct look *l, struct kf_finding *f)
{
	double stall = of(l, "stall_barrier");

	if (!at_least(stall, 3) || is_busy(l))
		return false;
	f->weight = 0.3 * l->share;
	snprintf(f->text, sizeof(f->text), "a warp waits %.1f cycles at "
		 "barriers before each instruction", stall);
	return true;
}

static bool few_instructions(const struct look *l, struct kf_finding *f)
{
	double rate = of_program(l, "instructions_per_cycle");

	if (!(rate < 1))
		return false;
	f->weight = 0.4 * (1 - rate);
	snprintf(f->text, sizeof(f->text), "%.2f instructions a cycle: the "
		 "processor waits for memory, for results of the instruction "
		 "before, or for predictions that were wrong", rate);
	return true;
}

static bool mispredicted(const struct look *l, struct kf_finding *f)
{
	double rate = of_program(l, "branch_misses") /
		of_program(l, "branches");
	double each = of_program(l, "branch_misses") /
		of_program(l, "instructions");

	if (!at_least(rate, 0.05) || !at_least(each, 0.003))
		return false;
	f->weight = fmin(15 * each, 0.6);	/* some 15 cycles each */
	snprintf(f->text, sizeof(f->text), "%.0f %% of the branches are "
		 "predicted wrongly", 100 * rate);
	return true;
}

static bool fresh_pages(const struct look *l, struct kf_finding *f)
{
	double faults = of_program(l, "page_faults");
	double time = l->roofline ? l->roofline->time_ns : (double)NAN;
	double share = faults * 500 / time;	/* half a microsecond each */

	if (!at_least(faults, 8) || !at_least(share, 0.05))
		return false;
	f->weight = fmin(share, 0.8);
	snprintf(f->text, sizeof(f->text), "%.0f page faults in each call: it "
		 "takes fresh memory from the system every time", faults);
	return true;
}

/* Nothing else explains it: far from every ceiling. */
static bool far_from_all(const struct look *l, struct kf_finding *f)
{
	const struct kf_roofline *r = l->roofline;

	if (!r || isnan(r->share) || r->share >= 0.6 || r->cached)
		return false;
	f->weight = 0.05 * (1 - r->share);
	snprintf(f->text, sizeof(f->text), "it reaches %.0f %% of the higher "
		 "of its two bounds", 100 * r->share);
	return true;
}

/* --- the table ------------------------------------------------------------ */

struct rule {
	enum kf_profile_class which;
	bool by_kernel;		/* asked of each kernel, else of the program */
	bool (*applies)(const struct look *look, struct kf_finding *finding);
	const char *change;
	const char *evidence[KF_EVIDENCE_MAX + 1];
};

static const struct rule rules[] = {
	{ KF_CLASS_LAUNCH, false, launch_gaps,
		"fuse kernels, so that fewer launches wait for each other",
		{ "launch_gap", "launches" } },
	{ KF_CLASS_LAUNCH, false, many_launches,
		"fuse them into one or two kernels; do the last reduction in the same launch",
		{ "launches", "time" } },
	{ KF_CLASS_SPILLS, true, spills,
		"smaller tiles for each thread, less unrolling, a higher register ceiling (__launch_bounds__), arrays whose indices are constants once loops are unrolled",
		{ "spill_bytes", "local_bytes", "spill_loads", "registers" } },
	{ KF_CLASS_BANK_CONFLICTS, true, bank_conflicts,
		"pad rows in shared memory by one element, or swizzle the columns",
		{ "bank_conflicts", "shared_passes" } },
	{ KF_CLASS_IMBALANCE, false, threads_unequal,
		"smaller or dynamic pieces, or split another dimension too (collapse)",
		{ "thread_imbalance", "cpu_time" } },
	{ KF_CLASS_IMBALANCE, false, threads_idle,
		"put the serial part into the parallel region, open one region a call, use fewer threads for small problems",
		{ "cpus_used", "threads" } },
	{ KF_CLASS_IMBALANCE, true, tail,
		"more, smaller groups, a split along the reduction, or a grid that strides over the work",
		{ "waves", "groups" } },
	{ KF_CLASS_OCCUPANCY, true, occupancy,
		"fewer registers or less shared memory a group, larger groups, or more independent work in each thread",
		{ "occupancy", "occupancy_possible", "registers", "shared_bytes", "group_size" } },
	{ KF_CLASS_BANDWIDTH, false, bytes_again,
		"fuse what follows, keep intermediate results in registers or shared memory, tile so that each byte is read once",
		{ "dram_bytes_read", "dram_bytes_written", "l2_hit_rate" } },
	{ KF_CLASS_BANDWIDTH, true, scattered,
		"let neighbouring threads read neighbouring addresses, 16 bytes each; transpose through shared memory",
		{ "sectors_per_load", "sectors_per_store" } },
	{ KF_CLASS_BANDWIDTH, false, cache_misses,
		"change the order of loops so that the inner one walks along memory, block for the first cache, or pack",
		{ "l1_misses", "l1_loads", "l1_read_misses_simulated", "data_reads" } },
	{ KF_CLASS_BANDWIDTH, true, at_bandwidth,
		"move fewer bytes: fuse, or store intermediate results smaller; else it is done",
		{ "dram_throughput" } },
	{ KF_CLASS_BANDWIDTH, false, at_bandwidth,
		"move fewer bytes: fuse; else it is done", { "dram_throughput" } },
	{ KF_CLASS_COMPUTE, true, scalar_function,
		"a polynomial of its own that the compiler can vectorise, accurate to all digits",
		{ "instructions" } },
	{ KF_CLASS_COMPUTE, false, not_vectorised,
		"contiguous inner loops over arrays of 8 or 16 partial results, restrict pointers, or intrinsics",
		{ "instructions" } },
	{ KF_CLASS_COMPUTE, true, at_compute,
		"an algorithm with fewer operations, or matrix units where the precision allows",
		{ "compute_throughput", "fma_pipe", "tensor_pipe", "issue_active" } },
	{ KF_CLASS_COMPUTE, false, at_compute,
		"an algorithm with fewer operations", { "compute_throughput" } },
	{ KF_CLASS_LATENCY, true, waits_for_memory,
		"more loads under way: unroll, load ahead (cp.async), 16 bytes a load, more groups",
		{ "stall_memory", "dram_throughput", "warps_eligible" } },
	{ KF_CLASS_LATENCY, true, waits_at_barriers,
		"fewer barriers: reduce in warps first, double-buffer shared memory",
		{ "stall_barrier" } },
	{ KF_CLASS_LATENCY, false, few_instructions,
		"several independent accumulators, data in order, blocks that fit in the cache",
		{ "instructions_per_cycle", "stalled_cycles", "llc_misses", "branch_misses" } },
	{ KF_CLASS_LATENCY, false, mispredicted,
		"replace branches in inner loops by arithmetic or masks",
		{ "branch_misses", "branches" } },
	{ KF_CLASS_LATENCY, false, fresh_pages,
		"kf_temp instead of malloc, or memory on the stack",
		{ "page_faults" } },
	{ KF_CLASS_LATENCY, false, far_from_all,
		"look for what waits: chains of dependent operations, small pieces, strided accesses",
		{ NULL } },
};

static void ask(const struct rule *rule, const struct look *look,
		struct kf_findings *out)
{
	struct kf_finding f = { .which = rule->which, .change = rule->change };

	if (out->count == KF_FINDINGS_MAX || !rule->applies(look, &f))
		return;
	memcpy(f.evidence, rule->evidence, sizeof(f.evidence));
	snprintf(f.kernel, sizeof(f.kernel), "%.95s", look->kernel);
	out->finding[out->count++] = f;
}

static int by_weight(const void *a, const void *b)
{
	double x = ((const struct kf_finding *)a)->weight;
	double y = ((const struct kf_finding *)b)->weight;

	return (x < y) - (x > y);
}

bool kf_profile_busy(const struct kf_profile *profile)
{
	double wait = kf_metrics_value(&profile->metrics, NULL,
				       "runqueue_wait");

	return wait >= 0.2 * kf_metrics_value(&profile->metrics, NULL,
					      "cpu_time");
}

void kf_rules_apply(const struct kf_profile *profile,
		    const struct kf_roofline *roofline,
		    struct kf_findings *out)
{
	struct look look = { profile, roofline, "", 1 };

	out->count = 0;
	for (size_t i = 0; i < KF_COUNT(rules); i++)
		if (!rules[i].by_kernel)
			ask(&rules[i], &look, out);
	for (size_t k = 0; k < profile->kernel_count; k++) {
		look.kernel = profile->kernel[k].name;
		look.share = profile->kernel[k].share;
		for (size_t i = 0; at_least(look.share, SHARE_LEAST) &&
		     i < KF_COUNT(rules); i++)
			if (rules[i].by_kernel)
				ask(&rules[i], &look, out);
	}
	qsort(out->finding, out->count, sizeof(out->finding[0]), by_weight);
}
