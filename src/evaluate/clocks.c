#include "evaluate/clocks.h"

#define CHANGE_PART	50u	/* a 50th is 2 % */

static bool same_rate(unsigned a, unsigned b)
{
	unsigned change = a > b ? a - b : b - a;

	return !a || !b || (uint64_t)change * CHANGE_PART <= a;
}

bool kf_clocks_same(const struct kf_clocks *a, const struct kf_clocks *b)
{
	return same_rate(a->core_mhz, b->core_mhz) &&
	       same_rate(a->memory_mhz, b->memory_mhz);
}

static void widen(struct kf_clock_range *range, unsigned value)
{
	if (!value)
		return;
	if (!range->least || value < range->least)
		range->least = value;
	if (value > range->most)
		range->most = value;
}

/* One that stops telling is watched no longer, and says so. */
static bool read_now(struct kf_clock_log *log, struct kf_clocks *now)
{
	struct kf_err err = { 0 };

	*now = (struct kf_clocks) { 0 };
	if (!log->source || !log->watch)
		return false;
	if (log->source->read(log->watch, now, &err)) {
		snprintf(log->why, sizeof(log->why), "%.255s", err.text);
		log->source->close(log->watch);
		log->watch = NULL;
		return false;
	}
	widen(&log->core_mhz, now->core_mhz);
	widen(&log->memory_mhz, now->memory_mhz);
	widen(&log->temperature_c, now->temperature_c);
	log->throttle |= now->throttle;
	return true;
}

void kf_clock_log_begin(struct kf_clock_log *log,
			const struct kf_driver *driver, const char *device_id)
{
	struct kf_err err = { 0 };

	if (!log->source && driver->clocks) {
		log->source = driver->clocks;
		if (log->source->open(device_id, &log->watch, &err))
			snprintf(log->why, sizeof(log->why), "%.255s",
				 err.text);
	}
	log->unsteady = log->changed = false;
	if (read_now(log, &log->first))
		log->pair_count++;
}

bool kf_clock_log_look(struct kf_clock_log *log)
{
	struct kf_clocks now;
	bool changed, unsteady;

	if (log->unsteady || !read_now(log, &now))
		return !log->unsteady;
	changed = !kf_clocks_same(&log->first, &now);
	unsteady = log->first.throttle || now.throttle ||
		(changed && !log->source->momentary);
	log->changed_count += changed && !log->changed;
	log->changed |= changed;
	log->unsteady_count += unsteady;
	log->unsteady = unsteady;
	return !unsteady;
}

bool kf_clock_log_bad(const struct kf_clock_log *log)
{
	return 4 * log->unsteady_count > log->pair_count;
}

static json_t *range_to_json(const struct kf_clock_range *range)
{
	return range->most ? json_pack("[i, i]", (int)range->least,
				       (int)range->most) : json_null();
}

static json_t *throttle_to_json(unsigned throttle)
{
	static const struct { unsigned bit; const char *name; } rows[] = {
		{ KF_THROTTLE_HEAT, "heat" }, { KF_THROTTLE_POWER, "power" },
		{ KF_THROTTLE_HARDWARE, "hardware" },
	};
	json_t *list = json_array();

	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (throttle & rows[i].bit)
			json_array_append_new(list, json_string(rows[i].name));
	return list;
}

json_t *kf_clock_log_to_json(const struct kf_clock_log *log)
{
	json_t *json;

	if (!log->source)
		return json_null();
	json = json_object();
	json_object_set_new(json, "pairs",
			    json_integer((json_int_t)log->pair_count));
	json_object_set_new(json, "unsteady",
			    json_integer((json_int_t)log->unsteady_count));
	json_object_set_new(json, "changed",
			    json_integer((json_int_t)log->changed_count));
	json_object_set_new(json, "core_mhz", range_to_json(&log->core_mhz));
	json_object_set_new(json, "memory_mhz",
			    range_to_json(&log->memory_mhz));
	json_object_set_new(json, "temperature_c",
			    range_to_json(&log->temperature_c));
	json_object_set_new(json, "throttled",
			    throttle_to_json(log->throttle));
	if (log->why[0])
		json_object_set_new(json, "not_watched", kf_json_string(
			log->why, strlen(log->why)));
	return json;
}

void kf_clock_log_release(struct kf_clock_log *log)
{
	if (log->watch)
		log->source->close(log->watch);
	log->watch = NULL;
}
