/*
 * rejudge.h - the last stage of a problem: its best programs are judged once
 * more. Inside loop/ only.
 *
 * Whoever picks the fastest of many picks the luckiest too, and a program may
 * have been right on the data it met by chance. So the best few (--rejudge N)
 * are judged again on data drawn anew, and timed in turn with each other in one
 * session; what is best by that is published. One that is not correct loses
 * its place. If none is, the next best few have their turn.
 *
 * One by one instead, each judged in full: where there is only one, several
 * shapes, a fixed plan of calls, or another machine that judges; there it is a
 * job with another seed, on that machine's data.
 */
#ifndef KF_REJUDGE_H
#define KF_REJUDGE_H

#include "loop/run.h"

/* Nothing is asked or paid for. All second verdicts of a problem reach the
 * store at once, so a run that was killed judges all of them again. row: the
 * problem's, one of kf_store_problems. */
KF_MUST_CHECK enum kf_code kf_lane_rejudge(struct kf_lane *lane,
		const json_t *row, struct kf_err *err);

#endif
