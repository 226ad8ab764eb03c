/* --picture FILE: where the wrong elements of an output lie, as SVG. */
#include <inttypes.h>

#include "cli/cli.h"
#include "evaluate/error_map.h"

#define SVG_BYTES (1u << 20)

enum kf_code kf_cli_picture(const json_t *verdict, const char *path,
			    struct kf_err *err)
{
	const json_t *failure = json_object_get(json_object_get(verdict,
						"evidence"), "failure");
	const json_t *map = json_object_get(failure, "map");
	struct kf_buf svg = { .max = SVG_BYTES };
	enum kf_code code = KF_OK;
	char title[256];

	snprintf(title, sizeof(title), "%s: output %" PRId64 " on \"%s\", %"
		 PRId64 " of %" PRId64 " elements are wrong",
		 kf_json_str(verdict, "reason", ""),
		 kf_json_int(failure, "output", 0),
		 kf_json_str(failure, "set", "?"),
		 kf_json_int(failure, "wrong", 0),
		 kf_json_int(failure, "elements", 0));
	if (kf_error_map_svg(map, title, &svg))
		code = kf_file_write(path, kf_buf_str(&svg), svg.len, err);
	else
		fprintf(stderr, "note: %s is not written: this verdict has no "
			"wrong elements to show\n", path);
	kf_buf_release(&svg);
	return code;
}
