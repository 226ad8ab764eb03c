/*
 * error_map.h - where in an output the wrong elements lie, as a small picture:
 * the output seen as rows and columns, in at most 16 x 64 cells, each with the
 * share of its elements that are wrong.
 *
 * Pure. It is made while an output is compared (compare.c), kept in a verdict's
 * evidence as "map", and drawn from there: in blocks for a terminal, or as SVG.
 */
#ifndef KF_EVALUATE_ERROR_MAP_H
#define KF_EVALUATE_ERROR_MAP_H

#include "base/json.h"

#define KF_MAP_ROWS 16
#define KF_MAP_COLUMNS 64

struct kf_error_map {
	int64_t rows, columns;	/* the output so seen; 0: there is no map */
	int64_t high, wide;	/* of a cell, in elements; the last may be less */
	int down, across;	/* cells */
	/* '0': no element is wrong; '1' to '4': up to so many quarters are. */
	char cell[KF_MAP_ROWS][KF_MAP_COLUMNS];
};

/* How an output is seen: the last axes that have 16 elements together, or the
 * last one, are the columns, the others the rows. */
void kf_error_map_shape(int rank, const int64_t *shape,
			struct kf_error_map *out);
/* wrong: one byte for each element, 0 for right ones. out has its shape. */
void kf_error_map_fill(const unsigned char *wrong, struct kf_error_map *out);

/* New reference; NULL without a map. */
json_t *kf_error_map_to_json(const struct kf_error_map *map);

/* Both take such JSON, of whatever origin; false, and nothing in out, if it is
 * no map. Lines begin with so many spaces. */
bool kf_error_map_draw(const json_t *map, int indent, struct kf_buf *out);
bool kf_error_map_svg(const json_t *map, const char *title, struct kf_buf *out);

#endif
