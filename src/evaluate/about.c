/* about.c - which judge this is. */
#include "evaluate/weaken.h"

/* KF_JUDGE_SOURCES comes from the Makefile: a hash over the sources of all that
 * decides about a program, in src/evaluate, src/runner and src/platform. */
#ifndef KF_JUDGE_SOURCES
#define KF_JUDGE_SOURCES "unknown"
#endif

static void add_limits(const struct kf_limits *l, struct kf_buf *out)
{
	kf_buf_printf(out, "%llu %llu %llu %llu %u %u\n",
		      (unsigned long long)l->memory_bytes,
		      (unsigned long long)l->cpu_ns,
		      (unsigned long long)l->wall_ns,
		      (unsigned long long)l->file_bytes, l->processes,
		      l->descriptors);
}

void kf_judge_hash(const struct kf_platform *p, enum kf_rules rules,
		   char out[KF_JUDGE_HEX])
{
	struct kf_buf text = { .max = 1u << 20 };
	char hash[KF_HASH_HEX];

	if (kf_weak(KF_WEAK_PROTOCOL)) {
		snprintf(out, KF_JUDGE_HEX, "values-only");
		return;
	}
	kf_buf_printf(&text, "%s\n%s\n%s\n%s\n", KF_JUDGE_SOURCES,
		      p->name ? p->name : "", p->form ? p->form : "",
		      kf_rules_name(rules));
	for (size_t i = 0; p->command && p->command[i]; i++)
		kf_buf_printf(&text, "%s\n", p->command[i]);
	add_limits(&p->build_limits, &text);
	add_limits(&p->run_limits, &text);
	kf_hash_hex(kf_buf_str(&text), text.len, hash);
	snprintf(out, KF_JUDGE_HEX, "%.*s", KF_JUDGE_HEX - 1, hash);
	kf_buf_release(&text);
}
