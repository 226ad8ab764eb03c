/*
 * certificates.h - what servers' certificates are checked against.
 *
 * A libcurl looks where the distribution that built it keeps certificates. One
 * that was carried to another distribution finds nothing there, so the places
 * of the others are looked at too.
 */
#ifndef KF_PROVIDER_CERTIFICATES_H
#define KF_PROVIDER_CERTIFICATES_H

#include "base/base.h"

struct kf_certificates {
	char *file, *folder;	/* owned; both NULL: libcurl's own are right */
};

/* The environment's word (SSL_CERT_FILE, CURL_CA_BUNDLE, SSL_CERT_DIR) holds
 * whatever it is; then libcurl's own (built_in, may be NULL) if it is there;
 * then the first of the well-known places. root stands before those places: ""
 * but in tests. */
void kf_certificates_find(const char *root, const char *built_in,
			  struct kf_certificates *out);
void kf_certificates_release(struct kf_certificates *certificates);

#endif
