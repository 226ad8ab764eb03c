/*
 * Content objects: files named by the SHA-256 of their bytes.
 */
#include "store/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum kf_code kf_folder_sync(const char *path, struct kf_err *err)
{
	enum kf_code code = KF_OK;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd))
		code = kf_fail_errno(err, "cannot sync folder %s", path);
	if (fd >= 0)
		close(fd);
	return code;
}

static bool is_hash(const char *hash)
{
	return strlen(hash) == KF_HASH_HEX - 1 &&
	       strspn(hash, "0123456789abcdef") == KF_HASH_HEX - 1;
}

static char *folder_of(const struct kf_store *store, const char *hash)
{
	return kf_format("%s/objects/%.2s", store->dir, hash);
}

/* A new folder is only safe when the one that lists it is synced, too. */
static enum kf_code make_folder(const struct kf_store *store,
				const char *folder, struct kf_err *err)
{
	enum kf_code code;
	char *objects;

	if (kf_path_is_dir(folder))
		return KF_OK;
	code = kf_mkdir_p(folder, err);
	if (code)
		return code;
	objects = kf_path_join(store->dir, "objects");
	code = kf_folder_sync(objects, err);
	free(objects);
	return code;
}

void kf_objects_sweep(const struct kf_store *store)
{
	static const char digit[] = "0123456789abcdef";

	for (unsigned i = 0; i < 256; i++) {
		const char name[] = { digit[i / 16], digit[i % 16], '\0' };
		char *folder = folder_of(store, name);

		kf_temporaries_sweep(folder, "");
		free(folder);
	}
}

/* Whether the object is there and whole: damaged ones are written anew. */
static bool is_stored(const char *path, const char *hash)
{
	char found[KF_HASH_HEX];
	struct kf_err ignored;

	return kf_path_exists(path) &&
	       kf_hash_file(path, found, &ignored) == KF_OK &&
	       strcmp(found, hash) == 0;
}

enum kf_code kf_store_put(struct kf_store *store, const void *bytes, size_t len,
			  char hash[KF_HASH_HEX], struct kf_err *err)
{
	enum kf_code code = kf_store_writable(store, err);
	char *folder, *path;

	kf_hash_hex(bytes, len, hash);
	if (code)
		return code;
	folder = folder_of(store, hash);
	path = kf_path_join(folder, hash);
	code = make_folder(store, folder, err);
	/* The folder again: whoever wrote the object may have been killed
	 * before its own sync. */
	if (!code && is_stored(path, hash))
		code = kf_folder_sync(folder, err);
	else if (!code)
		code = kf_file_write(path, bytes, len, err);
	free(path);
	free(folder);
	return code;
}

enum kf_code kf_store_get(struct kf_store *store, const char *hash,
			  struct kf_buf *out, struct kf_err *err)
{
	char found[KF_HASH_HEX];
	enum kf_code code;
	char *folder, *path;

	kf_buf_clear(out);
	if (!is_hash(hash))
		return kf_fail(err, KF_E_INPUT, "'%.80s' is not the name of "
			       "an object", hash);
	folder = folder_of(store, hash);
	path = kf_path_join(folder, hash);
	code = kf_file_read(path, out, err);
	if (code)
		goto out;
	kf_hash_hex(kf_buf_str(out), out->len, found);
	if (strcmp(found, hash) != 0) {
		kf_buf_clear(out);
		code = kf_fail(err, KF_E_IO, "object %s is damaged: its "
			       "content is not what its name says", path);
	}
out:
	free(path);
	free(folder);
	return code;
}
