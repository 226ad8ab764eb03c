/* dump.h - files that a tool left in a folder to which the program could write:
 * links and what is no file are not followed. Part of run.c. */
#ifndef KF_PROFILE_DUMP_H
#define KF_PROFILE_DUMP_H

#include "profile/read.h"

/* False if there is no such file, or it is no plain one; cut at out's
 * ceiling. */
bool kf_dump_read(const char *folder, const char *name, struct kf_buf *out);
/* Adds the paths of the PNG files that lie there. */
void kf_dump_pictures(const char *folder, struct kf_profile *out);

#endif
