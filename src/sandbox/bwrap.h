/* bwrap.h - bubblewrap: where it is, and its command line. */
#ifndef KF_SANDBOX_BWRAP_H
#define KF_SANDBOX_BWRAP_H

#include "sandbox/sandbox.h"

/* A growing, NULL-terminated array of strings; owns them. */
struct kf_words {
	char **word;
	size_t count;
};
void kf_words_add(struct kf_words *words, const char *text);
void kf_words_release(struct kf_words *words);

/* The device files that a profile sees; ends with NULL. */
const char *const *kf_profile_devices(enum kf_sandbox_profile profile);
/* A bind of /proc is the sandbox's own, never the machine's. */
bool kf_bind_is_proc(const struct kf_bind *bind);
/* Does it see /proc: by its profile, or by such a bind? */
bool kf_sandbox_has_proc(const struct kf_sandbox_spec *spec);

/* Its path, or NULL: $KFORGE_BWRAP, beside the executable, on PATH. */
char *kf_bwrap_find(void);
/* Descriptors that bwrap itself gets. */
struct kf_bwrap_fds {
	int status;		/* for its JSON */
	int filter;		/* the system call filter, which it reads last:
				   it starts nothing before the whole of it has
				   come, and fails if none comes */
};
/* The whole command line. */
void kf_bwrap_command(const struct kf_sandbox_spec *spec, const char *bwrap,
		      const struct kf_bwrap_fds *fds, struct kf_words *words);

#endif
