/*
 * clocks.h - does a device keep its speed while it is timed? Part of timing.c
 * and duel.c.
 *
 * Its clock rates are looked at before and after each block of calls, where
 * the driver has a source of them (driver.h). A pair of blocks is unsteady if a
 * rate is over 2 % off what it was when the pair began, or if the device was
 * slowed down for heat, power or by its hardware in any look. Where rates
 * change from moment to moment (a processor) that is counted, and makes no pair
 * unsteady.
 */
#ifndef KF_EVALUATE_CLOCKS_H
#define KF_EVALUATE_CLOCKS_H

#include <kforge/driver.h>

#include "base/json.h"

struct kf_clock_range { unsigned least, most; };	/* 0: never told */

/* A zeroed one is empty. */
struct kf_clock_log {
	const struct kf_clock_source *source;
	struct kf_clock_watch *watch;	/* NULL: not watched, and why not */
	char why[256];
	struct kf_clocks first;		/* of the pair that is under way */
	bool unsteady, changed;		/* that pair, so far */
	struct kf_clock_range core_mhz, memory_mhz, temperature_c;
	unsigned throttle;		/* of all looks */
	size_t pair_count, unsteady_count;
	size_t changed_count;		/* pairs in which a rate was over 2 % off */
};

/* A pair begins: the first look at it. Opens the driver's source if that was
 * not tried yet; without one every pair is steady. */
void kf_clock_log_begin(struct kf_clock_log *log,
			const struct kf_driver *driver, const char *device_id);
/* Another look: is the pair steady so far? */
bool kf_clock_log_look(struct kf_clock_log *log);
/* Were more than a quarter of all pairs unsteady? */
bool kf_clock_log_bad(const struct kf_clock_log *log);
/* New reference; null where the driver has no source of clock rates. */
json_t *kf_clock_log_to_json(const struct kf_clock_log *log);
void kf_clock_log_release(struct kf_clock_log *log);

/* Is b as fast as a? */
bool kf_clocks_same(const struct kf_clocks *a, const struct kf_clocks *b);

#endif
