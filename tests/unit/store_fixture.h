/*
 * store_fixture.h - a folder of its own for each test of the store, and the
 * path of a run in it. Included after cmocka and store.h.
 */
#ifndef KF_STORE_FIXTURE_H
#define KF_STORE_FIXTURE_H

#include <stdlib.h>
#include <string.h>

struct fixture {
	char *dir;		/* of the test */
	char *run;		/* dir/run */
	struct kf_err err;
};

static int set_up(void **state)
{
	struct fixture *f = kf_alloc(sizeof(*f));

	f->dir = kf_strdup("/tmp/kforge-store-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	f->run = kf_path_join(f->dir, "run");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	enum kf_code code = kf_remove_tree(f->dir, &f->err);

	free(f->run);
	free(f->dir);
	free(f);
	return code != KF_OK;
}

/* kf_store_asked with what all tests ask. */
static inline enum kf_code asked(struct kf_store *store, int64_t problem,
				 unsigned number, const char *prompt,
				 int64_t *id, struct kf_err *err)
{
	return kf_store_asked(store, &(struct kf_store_ask) {
		.problem_id = problem,
		.number = number,
		.kind = "generate",
		.prompt = prompt,
		.prompt_len = strlen(prompt),
	}, id, err);
}

#endif
