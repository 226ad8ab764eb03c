/*
 * pictures.h - what profilers drew, on its way to a model that sees. Inside
 * loop/ only.
 */
#ifndef KF_LOOP_PICTURES_H
#define KF_LOOP_PICTURES_H

#include <kforge/provider.h>

#include "base/json.h"
#include "profile/profile.h"
#include "store/store.h"

struct kf_pictures {
	struct kf_picture picture[KF_PICTURES_MAX];	/* borrows from below */
	struct kf_buf bytes[KF_PICTURES_MAX];		/* owned */
	char *path[KF_PICTURES_MAX];			/* owned; absolute */
	size_t count;
};

/* Those of the profile that lie below the folder: of one that came from another
 * machine, none. */
void kf_pictures_read(const struct kf_profile *profile, const char *folder,
		      struct kf_pictures *out);
void kf_pictures_release(struct kf_pictures *pictures);

/* Their bytes into the store's objects; what names them there goes to *out: a
 * list of {"path", "sha256", "bytes"}. */
KF_MUST_CHECK enum kf_code kf_pictures_store(const struct kf_pictures *pictures,
		struct kf_store *store, json_t **out, struct kf_err *err);

#endif
