/*
 * plan_bytes.h - what the writer and the reader of plans must agree on. The
 * format stands in plan_write.c. Private to them.
 */
#ifndef KF_PLATFORM_PLAN_BYTES_H
#define KF_PLATFORM_PLAN_BYTES_H

#include "base/base.h"
#include "platform/plan.h"

#define KF_PLAN_MAGIC		UINT32_C(0x6c70666b)	/* "kfpl" */
#define KF_PLAN_VERSION		1u

enum { KF_PLAN_COOPERATIVE = 1, KF_PLAN_DEPENDENT = 2 };	/* flags */

#define KF_PLAN_MAP_NUMBERS 6
void kf_plan_map_numbers(struct kf_tensor_map *map,
			 int32_t *number[KF_PLAN_MAP_NUMBERS]);

#endif
