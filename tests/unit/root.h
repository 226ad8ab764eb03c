/*
 * root.h - a folder in the place of "/", with the few files of a machine that a
 * group of tests needs. Included after cmocka and base.h.
 */
#ifndef KF_TESTS_ROOT_H
#define KF_TESTS_ROOT_H

#include <unistd.h>

static char root[] = "/tmp/kforge-root-XXXXXX";

static inline void root_put(const char *path, const char *text)
{
	char *full = kf_format("%s%s", root, path), *folder = kf_strdup(full);

	*strrchr(folder, '/') = '\0';
	assert_int_equal(kf_mkdir_p(folder, NULL), KF_OK);
	assert_int_equal(kf_file_write(full, text, strlen(text), NULL),
			 KF_OK);
	free(folder);
	free(full);
}

/* For cmocka_run_group_tests. */
static inline int root_make(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static inline int root_remove(void **state)
{
	(void)state;
	return kf_remove_tree(root, NULL) ? -1 : 0;
}

#endif
