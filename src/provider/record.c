#include "provider/record.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "provider/replay.h"

#define HEADER "{\"kforge_replay\":%d}\n"

struct kf_record {
	char *path;
	int fd;
};

/* How much of text was written. */
static size_t write_some(int fd, const char *text, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t put = write(fd, text + done, len - done);

		if (put >= 0)
			done += (size_t)put;
		else if (errno != EINTR)
			break;
	}
	return done;
}

/* All of it or, after a failure, none: the next line must not follow half of
 * this one. */
static enum kf_code append(const struct kf_record *record, const char *text,
			   size_t len, struct kf_err *err)
{
	struct stat before;
	enum kf_code code;

	if (fstat(record->fd, &before))
		return kf_fail_errno(err, "cannot write %s", record->path);
	if (write_some(record->fd, text, len) == len && !fsync(record->fd))
		return KF_OK;
	code = kf_fail_errno(err, "cannot write %s", record->path);
	if (ftruncate(record->fd, before.st_size))
		return kf_fail_errno(err, "cannot mend %s", record->path);
	return code;
}

static enum kf_code begin_file(const char *path, struct kf_err *err)
{
	char *header = kf_format(HEADER, KF_REPLAY_VERSION);
	enum kf_code code = kf_file_write(path, header, strlen(header), err);

	free(header);
	return code;
}

/* Leaves the file so that a line can be appended. */
static enum kf_code mend_tail(const struct kf_record *record,
			      struct kf_err *err)
{
	struct kf_replay replay;
	char last = '\n';
	off_t end;
	enum kf_code code = kf_replay_read(record->path, &replay, err);

	if (code)
		goto out;
	if (replay.damaged_line &&
	    ftruncate(record->fd, (off_t)replay.whole_bytes)) {
		code = kf_fail_errno(err, "cannot mend %s", record->path);
		goto out;
	}
	end = lseek(record->fd, 0, SEEK_END);
	if (end > 0 && pread(record->fd, &last, 1, end - 1) != 1)
		code = kf_fail_errno(err, "cannot read %s", record->path);
	else if (last != '\n')
		code = append(record, "\n", 1, err);
out:
	kf_replay_release(&replay);
	return code;
}

enum kf_code kf_record_open(const char *path, struct kf_record **out,
			    struct kf_err *err)
{
	struct kf_record *record;
	enum kf_code code;
	struct stat st;

	*out = NULL;
	if (stat(path, &st) || !st.st_size) {
		code = begin_file(path, err);
		if (code)
			return code;
	}
	record = kf_alloc(sizeof(*record));
	record->path = kf_strdup(path);
	record->fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	if (record->fd < 0)
		code = kf_fail_errno(err, "cannot open %s", path);
	else
		code = mend_tail(record, err);
	if (code) {
		kf_record_close(record);
		return code;
	}
	*out = record;
	return KF_OK;
}

enum kf_code kf_record_add(struct kf_record *record, const struct kf_ask *ask,
			   const struct kf_reply *reply, struct kf_err *err)
{
	json_t *entry = kf_replay_entry(ask, reply);
	char *text = kf_json_text(entry);
	char *line = kf_format("%s\n", text);
	enum kf_code code = append(record, line, strlen(line), err);

	free(line);
	free(text);
	json_decref(entry);
	return code;
}

enum kf_code kf_record_reserve(struct kf_record *record, size_t bytes,
			       struct kf_err *err)
{
	off_t end = lseek(record->fd, 0, SEEK_END);

	if (end >= 0 && fallocate(record->fd, FALLOC_FL_KEEP_SIZE, end,
				  (off_t)bytes) &&
	    (errno == ENOSPC || errno == EDQUOT || errno == EIO))
		return kf_fail_errno(err, "no room for a reply in %s",
				     record->path);
	return KF_OK;
}

void kf_record_clear(struct kf_record *record)
{
	char header[64];
	int len = snprintf(header, sizeof(header), HEADER, KF_REPLAY_VERSION);

	(void)!ftruncate(record->fd, len);
}

void kf_record_close(struct kf_record *record)
{
	if (!record)
		return;
	if (record->fd >= 0)
		close(record->fd);
	free(record->path);
	free(record);
}
