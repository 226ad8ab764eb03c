#include "sandbox/tier.h"

#include <errno.h>
#include <unistd.h>

#include "sandbox/bwrap.h"
#include "sandbox/weak.h"

#define OWN_TASKS 1	/* of bwrap in the group: the first process */
#define PROBE_NS (5 * KF_NS_PER_S)

static const char *const names[] = {
	[KF_TIER_NONE] = "none",
	[KF_TIER_WEAK] = "weak",
	[KF_TIER_MEDIUM] = "medium",
	[KF_TIER_STRONG] = "strong",
};

const char *kf_sandbox_tier_name(enum kf_sandbox_tier tier)
{
	return names[tier];
}

/* The only place that reads KFORGE_SANDBOX_TIER. */
static enum kf_sandbox_tier tier_cap(void)
{
	const char *text = getenv("KFORGE_SANDBOX_TIER");

	for (size_t i = KF_TIER_WEAK; text && i < KF_COUNT(names); i++)
		if (strcmp(text, names[i]) == 0)
			return (enum kf_sandbox_tier)i;
	return KF_TIER_STRONG;
}

static void add_all(struct kf_words *words, const char *const *texts)
{
	for (; *texts; texts++)
		kf_words_add(words, *texts);
}

/* Does bwrap get its namespaces here, and a new /proc if that is wanted? A
 * container may allow the one and refuse the other. Asks it, with the least of
 * sandboxes; why gets its words if not. */
static bool namespaces_work(bool proc, struct kf_buf *why)
{
	static const char *const rest[] = {
		"--unshare-all", "--unshare-user", "--uid", "65534",
		"--cap-drop", "ALL", "--ro-bind", "/", "/", "--size", "65536",
		"--tmpfs", "/tmp", NULL
	};
	static const char *const with_proc[] = { "--proc", "/proc", NULL };
	static const char *const program[] = { "--", "true", NULL };
	struct kf_words words = { 0 };
	struct kf_buf errout = { .max = 512 };
	struct kf_proc_spec spec = { .timeout_ns = PROBE_NS };
	struct kf_proc_end end = { 0 };
	struct kf_err err = { 0 };
	char *bwrap = kf_bwrap_find();
	bool work = false;

	if (!bwrap) {
		kf_buf_puts(why, "bwrap (bubblewrap) is not installed");
		return false;
	}
	kf_words_add(&words, bwrap);
	add_all(&words, rest);
	if (proc)
		add_all(&words, with_proc);
	add_all(&words, program);
	spec.argv = (const char *const *)words.word;
	if (kf_proc_run(&spec, NULL, &errout, &end, &err))
		kf_buf_puts(why, err.text);
	else if (end.timed_out || end.signal || end.exit_code)
		kf_buf_printf(why, "namespaces are refused here (%.*s)",
			      (int)strcspn(kf_buf_str(&errout), "\n"),
			      kf_buf_str(&errout));
	else
		work = true;
	kf_words_release(&words);
	kf_buf_release(&errout);
	free(bwrap);
	return work;
}

enum kf_code kf_tier_choose(const struct kf_sandbox_spec *spec,
			    enum kf_sandbox_tier *tier,
			    struct kf_cgroup **cgroup, struct kf_err *err)
{
	enum kf_sandbox_tier cap = tier_cap();
	struct kf_buf why = { .max = 512 };
	enum kf_code code = KF_OK;

	*cgroup = NULL;
	*tier = KF_TIER_WEAK;
	/* Who accepts weak pays for a question; the others learn the answer
	 * from bwrap itself, as an error. */
	if (cap > KF_TIER_WEAK &&
	    (spec->tier_min > KF_TIER_WEAK ||
	     namespaces_work(kf_sandbox_has_proc(spec), &why)))
		*tier = KF_TIER_MEDIUM;
	if (*tier == KF_TIER_MEDIUM && cap == KF_TIER_STRONG) {
		*cgroup = kf_cgroup_new(spec->limits.memory_bytes,
					spec->limits.processes + OWN_TASKS,
					&why);
		*tier = *cgroup ? KF_TIER_STRONG : KF_TIER_MEDIUM;
	}
	if (cap < KF_TIER_STRONG && !why.len)
		kf_buf_printf(&why, "KFORGE_SANDBOX_TIER is %s", names[cap]);
	if (*tier < spec->tier_min)
		code = kf_fail(err, KF_E_UNAVAIL,
			       "only a %s sandbox can be made here: %s%s",
			       names[*tier], kf_buf_str(&why),
			       *tier == KF_TIER_WEAK
			       ? "; accept it with --sandbox=weak" : "");
	kf_buf_release(&why);
	return code;
}

enum kf_sandbox_tier kf_sandbox_probe(struct kf_buf *why)
{
	enum kf_sandbox_tier cap = tier_cap();
	bool some = cap > KF_TIER_WEAK && namespaces_work(false, why);
	struct kf_cgroup *cgroup;

	if (!some || !namespaces_work(true, why)) {
		if (cap == KF_TIER_WEAK)
			kf_buf_puts(why, "KFORGE_SANDBOX_TIER is weak");
		if (some)
			kf_buf_puts(why, ", but only where "
				    "Python runs: problems in C get them");
		kf_buf_puts(why, kf_landlock_abi()
			    ? "; a weak sandbox has Landlock and seccomp"
			    : "; a weak sandbox has seccomp only: this kernel "
			      "has no Landlock");
		return KF_TIER_WEAK;
	}
	if (cap == KF_TIER_MEDIUM) {
		kf_buf_puts(why, "KFORGE_SANDBOX_TIER is medium");
		return KF_TIER_MEDIUM;
	}
	cgroup = kf_cgroup_new(UINT64_C(64) << 20, 16, why);
	if (!cgroup)
		return KF_TIER_MEDIUM;
	kf_cgroup_free(cgroup);
	return KF_TIER_STRONG;
}
