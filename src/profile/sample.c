#include "profile/profiler.h"

#include <dirent.h>

#define TEXT_BYTES 8192u

static bool read_text(const char *path, struct kf_buf *out)
{
	kf_buf_clear(out);
	return kf_file_read(path, out, NULL) == KF_OK;
}

/* "nonvoluntary_ctxt_switches:\t12" */
static uint64_t line_number(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	unsigned long long number = 0;

	if (!at || sscanf(at + strlen(name), "%llu", &number) != 1)
		return 0;
	return number;
}

static void take_thread(struct kf_sample *s, pid_t pid, pid_t id)
{
	unsigned long long run = 0, wait = 0;
	struct kf_buf text = { .max = TEXT_BYTES };
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid,
		 (int)id);
	if (!read_text(path, &text) ||
	    sscanf(kf_buf_str(&text), "%llu %llu", &run, &wait) != 2)
		goto out;
	s->thread = kf_realloc(s->thread, (s->count + 1) *
			       sizeof(s->thread[0]));
	s->thread[s->count++] = (struct kf_sample_thread) { id, run, wait };
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid,
		 (int)id);
	if (read_text(path, &text))
		s->switches += line_number(kf_buf_str(&text),
					   "\nvoluntary_ctxt_switches:") +
			line_number(kf_buf_str(&text),
				    "\nnonvoluntary_ctxt_switches:");
out:
	kf_buf_release(&text);
}

/* Its name is in brackets and may hold anything: numbers are counted from the
 * last bracket. */
static void take_faults(struct kf_sample *s, pid_t pid)
{
	struct kf_buf text = { .max = TEXT_BYTES };
	unsigned long long minor = 0, major = 0;
	const char *at;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	at = read_text(path, &text) ? strrchr(kf_buf_str(&text), ')') : NULL;
	if (at && sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %llu %*u %llu",
			 &minor, &major) == 2)
		s->faults = minor + major;
	kf_buf_release(&text);
}

void kf_sample_take(pid_t pid, struct kf_sample *out)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	*out = (struct kf_sample) { 0 };
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		uint64_t id;

		if (kf_parse_u64(entry->d_name, &id))
			take_thread(out, pid, (pid_t)id);
	}
	if (dir)
		closedir(dir);
	take_faults(out, pid);
}

void kf_sample_release(struct kf_sample *sample)
{
	free(sample->thread);
	*sample = (struct kf_sample) { 0 };
}

/* What it was before; a thread that is new had nothing. */
static struct kf_sample_thread before_of(const struct kf_sample *before,
					 pid_t id)
{
	for (size_t i = 0; i < before->count; i++)
		if (before->thread[i].id == id)
			return before->thread[i];
	return (struct kf_sample_thread) { .id = id };
}

struct sums { double run, wait, most; size_t threads; };

static struct sums add_up(const struct kf_sample *before,
			  const struct kf_sample *after)
{
	struct sums sum = { 0 };

	for (size_t i = 0; i < after->count; i++) {
		struct kf_sample_thread was = before_of(before,
							after->thread[i].id);
		double run = (double)(after->thread[i].run_ns - was.run_ns);

		sum.run += run;
		sum.wait += (double)(after->thread[i].wait_ns - was.wait_ns);
		sum.most = run > sum.most ? run : sum.most;
		sum.threads += run > 0;
	}
	return sum;
}

void kf_sample_write(const struct kf_sample *before,
		     const struct kf_sample *after, unsigned call_count,
		     uint64_t took_ns, struct kf_buf *out)
{
	struct sums sum = add_up(before, after);
	double calls = call_count ? call_count : 1;

	kf_buf_puts(out, "name,value,unit\n");
	if (!(sum.run > 0))
		return;
	kf_buf_printf(out, "cpu_time,%.0f,ns\n", sum.run / calls);
	kf_buf_printf(out, "runqueue_wait,%.0f,ns\n", sum.wait / calls);
	if (took_ns)
		kf_buf_printf(out, "cpus_used,%.4g,ratio\n",
			      sum.run / (double)took_ns);
	kf_buf_printf(out, "threads,%zu,count\n", sum.threads);
	if (sum.threads > 1)
		kf_buf_printf(out, "thread_imbalance,%.4g,ratio\n", sum.most /
			      (sum.run / (double)sum.threads));
	kf_buf_printf(out, "page_faults,%.4g,count\n",
		      (double)(after->faults - before->faults) / calls);
	kf_buf_printf(out, "context_switches,%.4g,count\n",
		      (double)(after->switches - before->switches) / calls);
}
