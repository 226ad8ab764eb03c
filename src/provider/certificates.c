#include "provider/certificates.h"

#include <unistd.h>

static const char *const well_known[] = {
	"/etc/ssl/certs/ca-certificates.crt",	/* Debian, Arch, Gentoo, Nix */
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",	/* Fedora, RHEL */
	"/etc/pki/tls/certs/ca-bundle.crt",	/* the same, older */
	"/etc/ssl/ca-bundle.pem",		/* openSUSE */
	"/var/lib/ca-certificates/ca-bundle.pem",
	"/etc/ssl/cert.pem",			/* Alpine, Void, BSD */
	"/etc/ca-certificates/extracted/tls-ca-bundle.pem",	/* Arch */
};

static const char *setting(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

void kf_certificates_find(const char *root, const char *built_in,
			  struct kf_certificates *out)
{
	const char *file = setting("SSL_CERT_FILE");

	*out = (struct kf_certificates) { 0 };
	if (!file)
		file = setting("CURL_CA_BUNDLE");
	out->folder = kf_strdup(setting("SSL_CERT_DIR"));
	out->file = kf_strdup(file);
	if (out->file || out->folder ||
	    (built_in && access(built_in, R_OK) == 0))
		return;
	for (size_t i = 0; i < KF_COUNT(well_known); i++) {
		char *path = kf_format("%s%s", root, well_known[i]);

		if (access(path, R_OK) == 0) {
			out->file = path;
			return;
		}
		free(path);
	}
}

void kf_certificates_release(struct kf_certificates *certificates)
{
	free(certificates->file);
	free(certificates->folder);
	*certificates = (struct kf_certificates) { 0 };
}
