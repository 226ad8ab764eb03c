#include "loop/pictures.h"

static bool is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && path[len] == '/' &&
		!strstr(path + len, "/../");
}

void kf_pictures_read(const struct kf_profile *profile, const char *folder,
		      struct kf_pictures *out)
{
	char *real = realpath(folder, NULL);

	*out = (struct kf_pictures) { 0 };
	for (size_t i = 0; i < profile->picture_count &&
	     out->count < KF_PICTURES_MAX; i++) {
		struct kf_buf bytes = { .max = KF_PICTURE_BYTES };
		const char *path = profile->picture[i];

		if (!real || !is_below(path, real) ||
		    !kf_profile_picture(path, &bytes)) {
			kf_buf_release(&bytes);
			continue;
		}
		out->bytes[out->count] = bytes;
		out->path[out->count] = kf_strdup(path);
		out->picture[out->count] = (struct kf_picture) {
			.path = out->path[out->count],
			.png = bytes.data, .bytes = bytes.len,
		};
		out->count++;
	}
	free(real);
}

void kf_pictures_release(struct kf_pictures *pictures)
{
	for (size_t i = 0; i < pictures->count; i++) {
		kf_buf_release(&pictures->bytes[i]);
		free(pictures->path[i]);
	}
	*pictures = (struct kf_pictures) { 0 };
}

enum kf_code kf_pictures_store(const struct kf_pictures *pictures,
			       struct kf_store *store, json_t **out,
			       struct kf_err *err)
{
	enum kf_code code = KF_OK;

	*out = json_array();
	for (size_t i = 0; !code && i < pictures->count; i++) {
		const struct kf_picture *p = &pictures->picture[i];
		char hash[KF_HASH_HEX];

		code = kf_store_put(store, p->png, p->bytes, hash, err);
		if (code)
			break;
		json_array_append_new(*out, json_pack("{s:o, s:s, s:I}",
			"path", kf_json_string(p->path, strlen(p->path)),
			"sha256", hash, "bytes", (json_int_t)p->bytes));
	}
	return code;
}
