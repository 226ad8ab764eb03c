/*
 * check.h - the health of one problem, whatever happens on the way: what goes
 * wrong is a row of the table, never the end of it.
 */
#ifndef KF_CLI_CHECK_H
#define KF_CLI_CHECK_H

#include "evaluate/health.h"
#include "executor/setup.h"

enum kf_check_status {
	KF_CHECK_HEALTHY,
	KF_CHECK_UNHEALTHY,
	KF_CHECK_REFUSED,	/* it cannot be judged at all: broken, unsupported */
	KF_CHECK_TOO_LARGE,	/* for this machine or for a bundle */
	KF_CHECK_NOT_CHECKED,	/* its deadline passed, or trouble of ours */
	KF_CHECK_STATUSES
};
const char *kf_checked_words(enum kf_check_status status);	/* "too large" */
const char *kf_checked_token(enum kf_check_status status);	/* "too_large" */

struct kf_checker {
	struct kf_setup *setup;
	uint64_t timeout_ns;		/* for each problem */
	uint64_t memory_bytes;		/* of the reference; 0: the setup's */
	bool fit;			/* smaller sizes where the published are
					   too large */
	bool keep;			/* the bundles that were made for it */
};

struct kf_checked {
	char *path, *name;		/* owned */
	enum kf_check_status status;
	char reason[32];		/* token; "" if healthy */
	char text[1024];		/* sentence; "" if healthy */
	char size[200];			/* "at batch_size=16, published 128"; "" */
	struct kf_health health;	/* empty unless (un)healthy */
	uint64_t took_ns;
	bool cached;			/* it was known already */
};

/* False if the user stopped it: then there is no row. */
bool kf_check_problem(const struct kf_checker *checker, const char *path,
		      struct kf_checked *out);
void kf_checked_release(struct kf_checked *checked);

#endif
