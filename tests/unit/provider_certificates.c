#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "provider/certificates.h"

#include "root.h"

static void forget_settings(void)
{
	unsetenv("SSL_CERT_FILE");
	unsetenv("SSL_CERT_DIR");
	unsetenv("CURL_CA_BUNDLE");
}

static void test_each_distribution_keeps_them_elsewhere(void **state)
{
	static const char *const rows[] = {
		"/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem",
		"/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/ssl/certs/ca-certificates.crt",
	};
	struct kf_certificates found;

	(void)state;
	forget_settings();
	kf_certificates_find(root, "/nowhere/ca.crt", &found);
	assert_null(found.file);
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char *want = kf_format("%s%s", root, rows[i]);

		root_put(rows[i], "x");
		kf_certificates_find(root, "/nowhere/ca.crt", &found);
		assert_string_equal(found.file, want);
		kf_certificates_release(&found);
		kf_certificates_find(root, NULL, &found);
		assert_string_equal(found.file, want);
		kf_certificates_release(&found);
		free(want);
	}
}

static void test_what_curl_was_built_with_is_left_alone(void **state)
{
	struct kf_certificates found;

	(void)state;
	forget_settings();
	root_put("/etc/ssl/cert.pem", "x");
	kf_certificates_find(root, "/dev/null", &found);
	assert_null(found.file);
	assert_null(found.folder);
}

static void test_the_environment_has_the_last_word(void **state)
{
	struct kf_certificates found;

	(void)state;
	forget_settings();
	setenv("CURL_CA_BUNDLE", "/a/bundle", 1);
	kf_certificates_find("", "/dev/null", &found);
	assert_string_equal(found.file, "/a/bundle");
	kf_certificates_release(&found);
	setenv("SSL_CERT_FILE", "/a/file", 1);
	setenv("SSL_CERT_DIR", "/a/dir", 1);
	kf_certificates_find("", "/dev/null", &found);
	assert_string_equal(found.file, "/a/file");
	assert_string_equal(found.folder, "/a/dir");
	kf_certificates_release(&found);
	setenv("SSL_CERT_FILE", "", 1);
	kf_certificates_find("", "/dev/null", &found);
	assert_string_equal(found.file, "/a/bundle");
	kf_certificates_release(&found);
	forget_settings();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_distribution_keeps_them_elsewhere),
		cmocka_unit_test(test_what_curl_was_built_with_is_left_alone),
		cmocka_unit_test(test_the_environment_has_the_last_word),
	};

	return cmocka_run_group_tests(tests, root_make, root_remove);
}
