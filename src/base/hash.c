#include "base/base.h"

#include <openssl/evp.h>

static void to_hex(const unsigned char *digest, char out[KF_HASH_HEX])
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < 32; i++) {
		out[2 * i] = digit[digest[i] >> 4];
		out[2 * i + 1] = digit[digest[i] & 15];
	}
	out[64] = '\0';
}

void kf_hash_hex(const void *bytes, size_t len, char out[KF_HASH_HEX])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int size = 0;

	if (!EVP_Digest(bytes, len, digest, &size, EVP_sha256(), NULL))
		abort();
	to_hex(digest, out);
}

enum kf_code kf_hash_file(const char *path, char out[KF_HASH_HEX],
			  struct kf_err *err)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int size = 0;
	static const size_t chunk_bytes = 1u << 16;
	char *chunk = NULL;
	EVP_MD_CTX *ctx = NULL;
	enum kf_code code = KF_OK;
	FILE *f = fopen(path, "rb");
	size_t got;

	out[0] = '\0';
	if (!f)
		return kf_fail_errno(err, "cannot open %s", path);
	ctx = EVP_MD_CTX_new();
	chunk = kf_alloc(chunk_bytes);
	if (!ctx || !EVP_DigestInit_ex(ctx, EVP_sha256(), NULL))
		abort();
	while ((got = fread(chunk, 1, chunk_bytes, f)) > 0)
		EVP_DigestUpdate(ctx, chunk, got);
	if (ferror(f)) {
		code = kf_fail_errno(err, "cannot read %s", path);
		goto out;
	}
	EVP_DigestFinal_ex(ctx, digest, &size);
	to_hex(digest, out);
out:
	EVP_MD_CTX_free(ctx);
	free(chunk);
	fclose(f);
	return code;
}
