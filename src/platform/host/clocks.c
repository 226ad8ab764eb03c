/*
 * clocks.c - how fast a processor runs. Its rate is measured, for virtual
 * machines tell none, and of a processor that idles the system tells what it
 * was before: a chain of additions, each of which waits for the one before it,
 * takes a cycle for each on every x86-64 and ARM. That it was slowed down for
 * heat is counted by the kernel, where the processor tells it.
 */
#include "platform/host/host.h"

#include <sched.h>

#define TRIES	3u		/* the fastest counts: others may interrupt */
#define ROUNDS	600u
#define CHAIN	100u		/* additions in a round: 20 us in all */

struct kf_clock_watch {
	char *root;		/* owned; stands before /sys */
	uint64_t heat_count;	/* what the last look saw */
};

#define TEN(x)	x x x x x x x x x x

#if defined(__x86_64__)
#define ADD	"add %1, %0\n\t"
#elif defined(__aarch64__)
#define ADD	"add %0, %0, %1\n\t"
#endif

/* MHz; 0: no chain is known for this processor. */
static unsigned measure_rate(void)
{
	uint64_t least_ns = UINT64_MAX;

#if defined(ADD)
	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t start_ns = kf_now_ns(), took_ns, sum = 0;

		for (unsigned k = 0; k < ROUNDS; k++)
			__asm__ volatile(TEN(TEN(ADD)) : "+r"(sum)
					 : "r"(start_ns) : "cc");
		took_ns = kf_now_ns() - start_ns;
		if (took_ns && took_ns < least_ns)
			least_ns = took_ns;
	}
#endif
	return (unsigned)(UINT64_C(1000) * ROUNDS * CHAIN / least_ns);
}

static uint64_t read_count(const char *root, size_t cpu, const char *name)
{
	char *path = kf_format("%s/sys/devices/system/cpu/cpu%zu/"
			       "thermal_throttle/%s", root, cpu, name);
	struct kf_buf text = { .max = 64 };
	uint64_t count = 0;

	if (kf_file_read(path, &text, NULL) == KF_OK && text.len) {
		text.data[strcspn(text.data, "\n")] = '\0';
		if (!kf_parse_u64(text.data, &count))
			count = 0;
	}
	kf_buf_release(&text);
	free(path);
	return count;
}

/* Of all processors that we may use; 0 where none tells. */
static uint64_t count_heat(const char *root)
{
	uint64_t count = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set))
		return 0;
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			count += read_count(root, cpu, "core_throttle_count") +
				read_count(root, cpu,
					   "package_throttle_count");
	return count;
}

enum kf_code kf_host_clocks_open(const char *root, struct kf_clock_watch **out,
				 struct kf_err *err)
{
	*out = NULL;
	if (!measure_rate())
		return kf_fail(err, KF_E_UNAVAIL, "no way is known to measure "
			       "the clock rate of such a processor");
	*out = kf_alloc(sizeof(**out));
	(*out)->root = kf_strdup(root);
	(*out)->heat_count = count_heat(root);
	return KF_OK;
}

static enum kf_code clocks_open(const char *device_id,
				struct kf_clock_watch **out,
				struct kf_err *err)
{
	(void)device_id;	/* there is one */
	return kf_host_clocks_open("", out, err);
}

static enum kf_code clocks_read(struct kf_clock_watch *w,
				struct kf_clocks *out, struct kf_err *err)
{
	uint64_t heat_count = count_heat(w->root);

	(void)err;
	out->core_mhz = measure_rate();
	if (heat_count > w->heat_count)
		out->throttle = KF_THROTTLE_HEAT;
	w->heat_count = heat_count;
	return KF_OK;
}

static void clocks_close(struct kf_clock_watch *w)
{
	if (w)
		free(w->root);
	free(w);
}

const struct kf_clock_source kf_host_clocks = {
	.open = clocks_open,
	.read = clocks_read,
	.close = clocks_close,
	.momentary = true,
};
