/* What the processor is: the hardware card. */
#include "platform/host/host.h"

#include <sched.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CPU_MAX		4096
#define CACHE_MAX	8	/* entries of sysfs that are looked at */
#define SYS_CPU		"/sys/devices/system/cpu"

struct cache { char type[16]; unsigned level, shared_by; uint64_t bytes; };

struct machine {
	char model[96];
	char arch[32];
	char vectors[160];		/* "AVX2, FMA, AVX-512F", "" if unknown */
	unsigned vector_bits;		/* 0 if unknown */
	unsigned cores, first_core;	/* allowed by affinity */
	unsigned threads_per_core;	/* 0 if unknown */
	unsigned line_bytes;		/* of a cache; 0 if unknown */
	struct cache cache[CACHE_MAX];
	size_t cache_count;
	uint64_t memory_bytes;
};

/* The first line of a small file; false if there is none. */
static bool first_line(const char *path, char *line, size_t size)
{
	FILE *f = fopen(path, "re");
	bool got = f && fgets(line, (int)size, f);

	if (f)
		fclose(f);
	if (got)
		line[strcspn(line, "\n")] = '\0';
	return got;
}

/* The value of the first "key : value" line of /proc/cpuinfo. */
static bool cpuinfo(const char *key, char *value, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[8192];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (!colon || strncmp(line, key, strlen(key)) != 0)
			continue;
		colon++;
		colon += strspn(colon, " \t");
		colon[strcspn(colon, "\n")] = '\0';
		snprintf(value, size, "%s", colon);
		found = true;
	}
	if (f)
		fclose(f);
	return found;
}

/* Counts a list of the kernel's form "0-3,8,10-11"; 0 if it is malformed. */
static unsigned list_count(const char *list)
{
	unsigned count = 0;

	while (*list) {
		char *end;
		unsigned long low = strtoul(list, &end, 10), high = low;

		if (end == list)
			return 0;
		if (*end == '-') {
			list = end + 1;
			high = strtoul(list, &end, 10);
			if (end == list || high < low || high >= CPU_MAX)
				return 0;
		}
		count += (unsigned)(high - low + 1);
		list = end + (*end == ',');
		if (*end && *end != ',')
			return 0;
	}
	return count;
}

static void find_cores(struct machine *m)
{
	char path[128], line[256];
	cpu_set_t *set = CPU_ALLOC(CPU_MAX);
	size_t size = CPU_ALLOC_SIZE(CPU_MAX);

	if (!set)
		abort();
	CPU_ZERO_S(size, set);
	m->cores = 1;
	if (sched_getaffinity(0, size, set) == 0) {
		m->cores = (unsigned)CPU_COUNT_S(size, set);
		while (m->first_core < CPU_MAX - 1 &&
		       !CPU_ISSET_S(m->first_core, size, set))
			m->first_core++;
	}
	CPU_FREE(set);
	snprintf(path, sizeof(path),
		 SYS_CPU "/cpu%u/topology/thread_siblings_list",
		 m->first_core);
	if (first_line(path, line, sizeof(line)))
		m->threads_per_core = list_count(line);
}

/* "32K", "1024K", "32M" */
static uint64_t parse_size(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	if (*end == 'K')
		return value << 10;
	if (*end == 'M')
		return value << 20;
	return value;
}

static bool cache_member(const struct machine *m, unsigned index,
			 const char *member, char *line, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), SYS_CPU "/cpu%u/cache/index%u/%s",
		 m->first_core, index, member);
	return first_line(path, line, size);
}

static void find_caches(struct machine *m)
{
	for (unsigned i = 0; i < CACHE_MAX; i++) {
		struct cache *c = &m->cache[m->cache_count];
		char line[256];

		if (!cache_member(m, i, "size", line, sizeof(line)))
			break;
		c->bytes = parse_size(line);
		if (!cache_member(m, i, "type", c->type, sizeof(c->type)) ||
		    strcmp(c->type, "Instruction") == 0)
			continue;
		if (!cache_member(m, i, "level", line, sizeof(line)))
			continue;
		c->level = (unsigned)strtoul(line, NULL, 10);
		c->shared_by = 1;
		if (cache_member(m, i, "shared_cpu_list", line, sizeof(line)))
			c->shared_by = list_count(line);
		if (cache_member(m, i, "coherency_line_size", line,
				 sizeof(line)))
			m->line_bytes = (unsigned)strtoul(line, NULL, 10);
		m->cache_count++;
	}
}

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += len)
		if ((at == words || at[-1] == ' ') &&
		    (at[len] == ' ' || at[len] == '\0'))
			return true;
	return false;
}

/* As the kernel names it, as people name it, and the width that it brings. */
static const struct {
	const char *flag, *name;
	unsigned bits;
} vector_sets[] = {
	{ "sse4_2", "SSE4.2", 128 },
	{ "avx", "AVX", 256 },
	{ "avx2", "AVX2", 256 },
	{ "fma", "FMA", 0 },
	{ "f16c", "F16C", 0 },
	{ "avx512f", "AVX-512F", 512 },
	{ "avx512bw", "AVX-512BW", 0 },
	{ "avx512_vnni", "AVX-512VNNI", 0 },
	{ "avx512_bf16", "AVX-512BF16", 0 },
	{ "avx512_fp16", "AVX-512FP16", 0 },
	{ "amx_tile", "AMX", 0 },
	{ "asimd", "NEON", 128 },
	{ "asimdhp", "FP16", 0 },
	{ "sve", "SVE", 0 },
};

static void find_vectors(struct machine *m)
{
	char flags[8192];
	size_t len = 0;

	if (!cpuinfo("flags", flags, sizeof(flags)) &&
	    !cpuinfo("Features", flags, sizeof(flags)))
		return;
	for (size_t i = 0; i < KF_COUNT(vector_sets); i++) {
		if (!has_word(flags, vector_sets[i].flag) ||
		    len >= sizeof(m->vectors))
			continue;
		len += (size_t)snprintf(m->vectors + len,
					sizeof(m->vectors) - len, "%s%s",
					len ? ", " : "", vector_sets[i].name);
		if (vector_sets[i].bits > m->vector_bits)
			m->vector_bits = vector_sets[i].bits;
	}
}

static void find_machine(struct machine *m)
{
	struct utsname name;
	struct sysinfo info;

	*m = (struct machine) { 0 };
	if (uname(&name) == 0)
		snprintf(m->arch, sizeof(m->arch), "%.31s", name.machine);
	if (strcmp(m->arch, "x86_64") == 0)
		snprintf(m->arch, sizeof(m->arch), "x86-64");
	if (!cpuinfo("model name", m->model, sizeof(m->model)))
		snprintf(m->model, sizeof(m->model), "%s processor", m->arch);
	if (sysinfo(&info) == 0)
		m->memory_bytes = (uint64_t)info.totalram * info.mem_unit;
	find_cores(m);
	find_caches(m);
	find_vectors(m);
}

static uint64_t last_level_bytes(const struct machine *m)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < m->cache_count; i++)
		if (m->cache[i].bytes > largest)
			largest = m->cache[i].bytes;
	return largest;
}

static void describe_size(struct kf_buf *card, uint64_t bytes)
{
	unsigned long long kib = bytes >> 10, mib = bytes >> 20;

	if (mib >= 10 || (mib && bytes == (uint64_t)mib << 20))
		kf_buf_printf(card, "%llu MiB", mib);
	else
		kf_buf_printf(card, "%llu KiB", kib);
}

static void describe_caches(struct kf_buf *card, const struct machine *m)
{
	for (size_t i = 0; i < m->cache_count; i++) {
		const struct cache *c = &m->cache[i];

		kf_buf_printf(card, "L%u %s cache: ", c->level,
			      strcmp(c->type, "Data") == 0 ? "data"
							   : "unified");
		describe_size(card, c->bytes);
		if (c->shared_by <= 1)
			kf_buf_puts(card, ", one per core\n");
		else
			kf_buf_printf(card, ", shared by %u logical "
				      "processors\n", c->shared_by);
	}
	if (m->line_bytes)
		kf_buf_printf(card, "cache line: %u bytes\n", m->line_bytes);
}

static void describe_measured(struct kf_buf *card,
			      const struct kf_host_measured *got)
{
	if (got->copy_bytes_per_s > 0)
		kf_buf_printf(card, "measured memory bandwidth, all cores, "
			      "copying (bytes read plus bytes written): "
			      "%.1f GB/s\n", got->copy_bytes_per_s / 1e9);
	if (got->read_bytes_per_s > 0)
		kf_buf_printf(card, "measured memory bandwidth, all cores, "
			      "reading: %.1f GB/s\n",
			      got->read_bytes_per_s / 1e9);
	if (got->flops_all > 0)
		kf_buf_printf(card, "measured float32 multiply-add peak, all "
			      "cores: %.0f GFLOP/s\n", got->flops_all / 1e9);
	if (got->flops_one > 0)
		kf_buf_printf(card, "measured float32 multiply-add peak, one "
			      "core: %.0f GFLOP/s\n", got->flops_one / 1e9);
}

static void describe(struct kf_buf *card, const struct machine *m)
{
	kf_buf_printf(card, "processor: %s (%s)\n", m->model, m->arch);
	kf_buf_printf(card, "logical processors that may be used: %u\n",
		      m->cores);
	if (m->threads_per_core)
		kf_buf_printf(card, "logical processors per core: %u\n",
			      m->threads_per_core);
	if (m->vectors[0])
		kf_buf_printf(card, "vector sets: %s\n", m->vectors);
	if (m->vector_bits)
		kf_buf_printf(card, "vector width: %u bits (%u float32)\n",
			      m->vector_bits, m->vector_bits / 32);
	describe_caches(card, m);
	if (m->memory_bytes)
		kf_buf_printf(card, "memory: %.1f GiB\n",
			      (double)m->memory_bytes / (double)(1u << 30));
}

enum kf_code kf_host_find(struct kf_device_info *info, size_t max,
			  const char *measure, size_t *count,
			  struct kf_err *err)
{
	struct machine *m = kf_alloc(sizeof(*m));
	struct kf_host_measured got;

	(void)max;
	(void)err;
	find_machine(m);
	snprintf(info->id, sizeof(info->id), "cpu:0");
	snprintf(info->hardware, sizeof(info->hardware), "%s",
		 KF_HARDWARE_PROCESSOR);
	snprintf(info->name, sizeof(info->name), "%s", m->model);
	snprintf(info->arch, sizeof(info->arch), "%s", m->arch);
	info->memory_bytes = m->memory_bytes;
	info->units = m->cores;
	info->ceiling.cache_bytes = last_level_bytes(m);
	describe(&info->card, m);
	if (measure && strcmp(measure, info->id) == 0) {
		kf_host_measure(m->cores, last_level_bytes(m),
				m->memory_bytes, &got);
		describe_measured(&info->card, &got);
		info->ceiling.bytes_per_s = got.copy_bytes_per_s >
			got.read_bytes_per_s ? got.copy_bytes_per_s :
			got.read_bytes_per_s;
		info->ceiling.flops_per_s = got.flops_all;
	}
	*count = 1;
	free(m);
	return KF_OK;
}
