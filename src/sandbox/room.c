#include "sandbox/room.h"

#include "sandbox/box.h"

#define LOOK_NS (100 * KF_NS_PER_MS)	/* between two looks */
#define SHARE 10u	/* of the time that one took at most is for looking */
#define ENTRIES_MAX 100000u	/* files and folders; each takes room as well */

static void add(struct kf_sandbox *box, const char *path)
{
	box->room = kf_realloc(box->room, (box->room_count + 1) *
			       sizeof(box->room[0]));
	box->room[box->room_count++] = (struct kf_room) {
		.path = kf_strdup(path),
		.before_bytes = kf_folder_bytes(path, NULL),
	};
}

void kf_room_init(struct kf_sandbox *box, const struct kf_sandbox_spec *spec)
{
	for (size_t i = 0; i < spec->bind_count; i++) {
		const struct kf_bind *b = &spec->bind[i];

		if (b->writable && !b->device && kf_path_is_dir(b->source))
			add(box, b->source);
	}
	if (box->tmp_path)
		add(box, box->tmp_path);
}

void kf_room_release(struct kf_sandbox *box)
{
	for (size_t i = 0; i < box->room_count; i++)
		free(box->room[i].path);
	free(box->room);
	box->room = NULL;
	box->room_count = 0;
}

static bool is_full(const struct kf_sandbox *box, const struct kf_room *room)
{
	size_t entries;
	uint64_t bytes = kf_folder_bytes(room->path, &entries);

	return entries > ENTRIES_MAX ||
		(bytes > room->before_bytes &&
		 bytes - room->before_bytes > box->limits.file_bytes);
}

static void stop(struct kf_sandbox *box)
{
	unsigned long mib = (unsigned long)(box->limits.file_bytes >> 20);

	if (!box->ended) {
		kf_box_stop(box, KF_END_FILES, "wrote more than %lu MiB of "
			    "files", mib);
		return;
	}
	box->end = KF_END_FILES;
	snprintf(box->detail, sizeof(box->detail), "wrote more than %lu MiB "
		 "of files", mib);
}

void kf_room_look(struct kf_sandbox *box, bool now)
{
	uint64_t start_ns = kf_now_ns(), took_ns;

	if (!now && start_ns < box->room_look_ns)
		return;
	for (size_t i = 0; i < box->room_count && !box->end; i++)
		if (is_full(box, &box->room[i]))
			stop(box);
	took_ns = kf_now_ns() - start_ns;
	box->room_look_ns = start_ns + LOOK_NS + SHARE * took_ns;
}
