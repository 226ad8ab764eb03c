/*
 * claim.h - what may be claimed of a time. Pure.
 *
 * A program that is launch-bound has times in which chance and the device's
 * own habits are a good part: of a short call a small difference is none.
 *
 * No program is faster than its bytes: what it must read and write, over the
 * device's measured bandwidth, or its memory's in theory where that was not
 * measured, is the floor of its time. Where it seems to be below, something was
 * not measured.
 */
#ifndef KF_EVALUATE_CLAIM_H
#define KF_EVALUATE_CLAIM_H

#include "evaluate/evaluate.h"

/* Below it a call is short: a handshake with its process is a good part of its
 * time, and where the device's clock counts so is a launch. */
#define KF_SHORT_NS 20000.0

/* A short program's difference to its baseline counts if it is over half a
 * microsecond, and over three times width_ns, its interval of 95 %. */
bool kf_claim_shown(double difference_ns, double width_ns);

struct kf_floor {
	double bytes;		/* that each call must move at least; 0: none
				   is known */
	double bytes_per_s;	/* of the device; 0: unknown */
	bool in_theory;		/* that was not measured */
	double ns;		/* NaN: there is no floor */
};

/*
 * Three quarters of what must move: of each input that must be read in so far
 * (kf_tensor_info.must_be_read), and of the outputs what the device's cache
 * cannot keep. No weights, for a program may have prepared them. Only for
 * drivers that flush caches before each call.
 */
struct kf_floor kf_floor_of(const struct kf_evaluate_request *req);
/* Never where the baseline's time is below it too: then the floor is wrong,
 * as of a device that was measured while it did other work. baseline_ns: NaN
 * or 0 if there is none. */
bool kf_floor_beaten(const struct kf_floor *floor, double time_ns,
		     double baseline_ns);
/* Adds both numbers in a sentence, without an end. */
void kf_floor_say(const struct kf_floor *floor, double time_ns,
		  struct kf_buf *out);

#endif
