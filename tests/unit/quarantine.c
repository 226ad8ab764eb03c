/* quarantine.c - which canaries put a device into quarantine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those first */
#include <cmocka.h>

#include "executor/quarantine.h"
#include "platform/canary.h"

static enum kf_code wrong(const char *device_id, struct kf_err *err)
{
	return kf_fail(err, KF_E_UNAVAIL, "%s is wrong", device_id);
}

static enum kf_code crowded(const char *device_id, struct kf_err *err)
{
	return kf_fail(err, KF_E_LIMIT, "%s has no room", device_id);
}

static enum kf_code well(const char *device_id, struct kf_err *err)
{
	(void)device_id;
	(void)err;
	return KF_OK;
}

#define CANARY(fn) \
	static enum kf_code fn##_canary(const char *device_id, \
					uint64_t timeout_ns, \
					struct kf_err *err) \
	{ \
		return kf_canary_run(fn, device_id, timeout_ns, err); \
	}

CANARY(wrong)
CANARY(crowded)
CANARY(well)

static void test_only_what_is_known_to_be_ill_is_put_away(void **state)
{
	static const struct {
		enum kf_code (*canary)(const char *device_id,
				       uint64_t timeout_ns,
				       struct kf_err *err);
		enum kf_code code;
		const char *words;
	} rows[] = {
		{ well_canary, KF_OK, "" },
		{ crowded_canary, KF_OK, "" },
		{ wrong_canary, KF_E_UNAVAIL, "dev:0 is wrong" },
	};
	char folder[] = "/tmp/kforge-quarantine-XXXXXX";
	char *lock_path, *path;

	(void)state;
	assert_non_null(mkdtemp(folder));
	lock_path = kf_path_join(folder, "dev.lock");
	path = kf_path_join(folder, "dev.quarantine");
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		const struct kf_driver driver = { .canary = rows[i].canary };
		const struct kf_quarantine q = {
			.driver = &driver, .device_id = "dev:0",
			.lock_path = lock_path, .path = path,
		};
		struct kf_err err = { 0 };
		enum kf_code code = kf_quarantine_look(&q, &err);

		if (code)
			fail_msg("row %zu: %s", i, err.text);
		code = kf_quarantine_check("dev:0", path, &err);
		if (code != rows[i].code || !strstr(err.text, rows[i].words))
			fail_msg("row %zu: %s", i, err.text);
	}
	free(lock_path);
	free(path);
	assert_int_equal(kf_remove_tree(folder, NULL), KF_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_is_known_to_be_ill_is_put_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
