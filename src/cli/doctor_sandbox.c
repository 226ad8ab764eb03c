#include <unistd.h>

#include "cli/doctor.h"
#include "sandbox/weak.h"

#define WHAT "sandbox"

/* Settings of the kernel that refuse namespaces, and what to do. */
static void check_namespace_settings(struct kf_doctor *d)
{
	static const struct {
		const char *path, *refusing, *advice;
	} rows[] = {
		{ "/proc/sys/kernel/unprivileged_userns_clone", "0",
		  "the kernel refuses namespaces to users: `sysctl -w "
		  "kernel.unprivileged_userns_clone=1`" },
		{ "/proc/sys/user/max_user_namespaces", "0",
		  "no user namespace may be made: `sysctl -w "
		  "user.max_user_namespaces=15000`" },
		{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
		  "AppArmor lets only programs that it knows make namespaces: "
		  "set KFORGE_BWRAP=/usr/bin/bwrap with the distribution's "
		  "bubblewrap, or `sysctl -w "
		  "kernel.apparmor_restrict_unprivileged_userns=0`" },
	};
	struct kf_buf text = { .max = 64 };

	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (kf_doctor_read(d, rows[i].path, &text) &&
		    strcmp(kf_buf_str(&text), rows[i].refusing) == 0)
			kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "%s",
				       rows[i].advice);
	kf_buf_release(&text);
}

static void check_container(struct kf_doctor *d)
{
	static const char *const sign[] = {
		"/.dockerenv", "/run/.containerenv",
	};

	for (size_t i = 0; i < KF_COUNT(sign); i++) {
		char *path = kf_format("%s%s", d->root, sign[i]);
		bool there = kf_path_exists(path);

		free(path);
		if (!there)
			continue;
		kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "this is a container; "
			"namespaces work in it after `docker run "
			"--security-opt seccomp=unconfined --security-opt "
			"apparmor=unconfined --security-opt "
			"systempaths=unconfined ...` (podman: the same, with "
			"unmask=ALL for the last)");
		return;
	}
}

void kf_doctor_namespaces(struct kf_doctor *d)
{
	check_namespace_settings(d);
	check_container(d);
}

static void check_landlock(struct kf_doctor *d)
{
	int abi = kf_landlock_abi();

	if (abi)
		kf_doctor_find(d, KF_FINDING_GOOD, WHAT, "Landlock ABI %d, for "
			       "the weak tier", abi);
	else
		kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "no Landlock in this "
			       "kernel (5.13 or newer, lsm=landlock): in the "
			       "weak tier a program could read your files");
}

/* bwrap before 0.7 knows no --size, without which /tmp has no limit. */
static void check_bwrap(struct kf_doctor *d)
{
	char *path = kf_bwrap_find();
	const char *argv[] = { path, "--version", NULL };
	struct kf_proc_spec spec = {
		.argv = argv, .timeout_ns = 5 * KF_NS_PER_S,
	};
	struct kf_buf text = { .max = 256 };
	struct kf_proc_end end = { 0 };
	unsigned major = 0, minor = 0;

	if (!path) {
		const char *named = getenv("KFORGE_BWRAP");

		if (named && *named)
			kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "KFORGE_BWRAP "
				"is %s, which is no program: unset it or name "
				"bubblewrap", named);
		return;
	}
	if (kf_proc_run(&spec, &text, NULL, &end, NULL) ||
	    sscanf(kf_buf_str(&text), "bubblewrap %u.%u", &major, &minor) != 2)
		kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "%s does not say "
			       "which bubblewrap it is", path);
	else if (major == 0 && minor < 7)
		kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "bubblewrap %u.%u at "
			"%s is older than 0.7: install a newer one, or name "
			"one with KFORGE_BWRAP", major, minor, path);
	else
		kf_doctor_find(d, KF_FINDING_GOOD, WHAT, "bubblewrap %u.%u, %s",
			       major, minor, path);
	kf_buf_release(&text);
	free(path);
}

void kf_doctor_sandbox(struct kf_doctor *d, const struct kf_options *options)
{
	struct kf_buf why = { .max = 512 };
	enum kf_sandbox_tier tier = kf_sandbox_probe(&why);
	const char *name = kf_sandbox_tier_name(tier);
	bool accepted = options->sandbox == KF_TIER_WEAK;

	if (tier == KF_TIER_STRONG)
		kf_doctor_find(d, KF_FINDING_GOOD, WHAT, "%s: namespaces, "
			       "seccomp, control group", name);
	else if (tier == KF_TIER_MEDIUM)
		kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "%s: %s", name,
			       kf_buf_str(&why));
	else
		kf_doctor_find(d, accepted ? KF_FINDING_NOTE : KF_FINDING_BAD,
			WHAT, "%s: %s%s", name, kf_buf_str(&why),
			accepted ? "" : "; accept it with --sandbox=weak, or "
			"make namespaces work");
	check_bwrap(d);
	if (tier < KF_TIER_MEDIUM)
		kf_doctor_namespaces(d);
	check_landlock(d);
	kf_buf_release(&why);
}
