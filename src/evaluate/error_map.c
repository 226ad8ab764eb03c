#include "evaluate/error_map.h"

#include <inttypes.h>

#define COLUMNS_LEAST	16	/* fewer make a poor picture */
#define LEVELS		5
#define CELL		10	/* units of SVG, and the space around */
#define MARGIN		10
#define LINE		16	/* of text */

/* --- making it ------------------------------------------------------------ */

/* How many parts of that size it takes. */
static int64_t parts(int64_t whole, int64_t size)
{
	return (whole + size - 1) / size;
}

void kf_error_map_shape(int rank, const int64_t *shape,
			struct kf_error_map *out)
{
	memset(out, 0, sizeof(*out));
	out->rows = out->columns = 1;
	for (int axis = rank - 1; axis >= 0; axis--)
		if (out->rows == 1 && (axis == rank - 1 ||
				       out->columns < COLUMNS_LEAST))
			out->columns *= shape[axis];
		else
			out->rows *= shape[axis];
	out->high = parts(out->rows, KF_MAP_ROWS);
	out->wide = parts(out->columns, KF_MAP_COLUMNS);
	out->down = (int)parts(out->rows, out->high);
	out->across = (int)parts(out->columns, out->wide);
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t count_row(const unsigned char *row, int64_t first, int64_t end)
{
	int64_t count = 0;

	for (int64_t i = first; i < end; i++)
		count += row[i] != 0;
	return count;
}

static char level_of(int64_t wrong, int64_t all)
{
	/* Rounded up: one wrong element is seen. */
	return (char)('0' + (int)((4 * wrong + all - 1) / all));
}

void kf_error_map_fill(const unsigned char *wrong, struct kf_error_map *out)
{
	for (int r = 0; r < out->down; r++) {
		int64_t top = r * out->high;
		int64_t bottom = least(top + out->high, out->rows);

		for (int c = 0; c < out->across; c++) {
			int64_t left = c * out->wide;
			int64_t right = least(left + out->wide, out->columns);
			int64_t count = 0;

			for (int64_t row = top; row < bottom; row++)
				count += count_row(wrong + row * out->columns,
						   left, right);
			out->cell[r][c] = level_of(count, (bottom - top) *
						   (right - left));
		}
	}
}

json_t *kf_error_map_to_json(const struct kf_error_map *map)
{
	json_t *json, *lines;

	if (!map->rows)
		return NULL;
	json = json_object();
	lines = json_array();
	json_object_set_new(json, "rows", json_integer((json_int_t)map->rows));
	json_object_set_new(json, "columns",
			    json_integer((json_int_t)map->columns));
	for (int r = 0; r < map->down; r++)
		json_array_append_new(lines, json_stringn(map->cell[r],
							(size_t)map->across));
	json_object_set_new(json, "cell_rows",
			    json_integer((json_int_t)map->high));
	json_object_set_new(json, "cell_columns",
			    json_integer((json_int_t)map->wide));
	json_object_set_new(json, "cells", lines);
	return json;
}

/* --- drawing it ----------------------------------------------------------- */

/* Level of a cell; -1 where there is none. */
static int level_at(const json_t *map, size_t row, size_t column)
{
	const char *line = json_string_value(json_array_get(
		json_object_get(map, "cells"), row));

	if (!line || column >= strlen(line) || line[column] < '0' ||
	    line[column] >= '0' + LEVELS)
		return -1;
	return line[column] - '0';
}

/* Its size in cells; false if it is no map. */
static bool size_of(const json_t *map, size_t *down, size_t *across)
{
	*down = json_array_size(json_object_get(map, "cells"));
	*across = 0;
	if (!*down || *down > KF_MAP_ROWS)
		return false;
	while (*across < KF_MAP_COLUMNS && level_at(map, 0, *across) >= 0)
		++*across;
	for (size_t r = 0; r < *down; r++)
		for (size_t c = 0; c < *across; c++)
			if (level_at(map, r, c) < 0)
				return false;
	return *across > 0;
}

/* What a table has for a cell. */
static const char *look_up(const char *const table[LEVELS], const json_t *map,
			   size_t row, size_t column)
{
	int level = level_at(map, row, column);

	return table[level < 0 ? 0 : level];
}

static void say_size(const json_t *map, struct kf_buf *out)
{
	int64_t high = kf_json_int(map, "cell_rows", 0);
	int64_t wide = kf_json_int(map, "cell_columns", 0);

	kf_buf_printf(out, "%" PRId64 " rows of %" PRId64 " elements",
		      kf_json_int(map, "rows", 0),
		      kf_json_int(map, "columns", 0));
	if (high > 1 || wide > 1)
		kf_buf_printf(out, ", %" PRId64 " x %" PRId64 " in each cell",
			      high, wide);
}

bool kf_error_map_draw(const json_t *map, int indent, struct kf_buf *out)
{
	/* A dot, and blocks of four shades. */
	static const char *const sign[LEVELS] = {
		"\u00b7", "\u2591", "\u2592", "\u2593", "\u2588",
	};
	size_t down, across;

	if (!size_of(map, &down, &across))
		return false;
	for (size_t r = 0; r < down; r++) {
		kf_buf_printf(out, "%*s", indent, "");
		for (size_t c = 0; c < across; c++)
			kf_buf_puts(out, look_up(sign, map, r, c));
		kf_buf_puts(out, "\n");
	}
	kf_buf_printf(out, "%*s", indent, "");
	say_size(map, out);
	kf_buf_printf(out, "\n%*s%s none wrong, then up to a quarter %s, a "
		      "half %s, three quarters %s, all %s\n", indent, "",
		      sign[0], sign[1], sign[2], sign[3], sign[4]);
	return true;
}

static void add_cells(const json_t *map, size_t down, size_t across,
		      struct kf_buf *out)
{
	static const char *const colour[LEVELS] = {
		"#eeeeee", "#fcbba1", "#fb6a4a", "#cb181d", "#67000d",
	};

	for (size_t r = 0; r < down; r++)
		for (size_t c = 0; c < across; c++)
			kf_buf_printf(out, "<rect x=\"%zu\" y=\"%zu\" "
				      "width=\"%d\" height=\"%d\" "
				      "fill=\"%s\"/>\n", MARGIN + c * CELL,
				      MARGIN + LINE + r * CELL, CELL - 1,
				      CELL - 1, look_up(colour, map, r, c));
}

bool kf_error_map_svg(const json_t *map, const char *title, struct kf_buf *out)
{
	size_t down, across, width, height;

	if (!size_of(map, &down, &across))
		return false;
	width = KF_MAP_COLUMNS * CELL + 2 * MARGIN;
	height = down * CELL + 2 * MARGIN + 3 * LINE;
	kf_buf_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" "
		      "viewBox=\"0 0 %zu %zu\" font-family=\"sans-serif\" "
		      "font-size=\"12\">\n<rect width=\"%zu\" height=\"%zu\" "
		      "fill=\"#ffffff\"/>\n<text x=\"%d\" y=\"%d\">", width,
		      height, width, height, MARGIN, LINE);
	kf_xml_text(title, out);
	kf_buf_puts(out, "</text>\n");
	add_cells(map, down, across, out);
	height = MARGIN + LINE + down * CELL + LINE;
	kf_buf_printf(out, "<text x=\"%d\" y=\"%zu\" fill=\"#555555\">",
		      MARGIN, height);
	say_size(map, out);
	kf_buf_printf(out, "</text>\n<text x=\"%d\" y=\"%zu\" "
		      "fill=\"#555555\">grey: none of a cell is wrong; red, "
		      "the darker the more: up to a quarter, a half, three "
		      "quarters, all</text>\n</svg>\n", MARGIN, height + LINE);
	return true;
}
