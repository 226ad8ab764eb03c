/*
 * A unified diff of two texts, by Myers' greedy algorithm ("An O(ND) Difference
 * Algorithm", 1986): the furthest place that D edits reach on each diagonal,
 * kept for each D so that the way back can be walked.
 */
#include "base/base.h"

#define CONTEXT 3
#define EDITS_MAX 1000	/* more: all of the old goes, all of the new comes */

struct line { const char *text; size_t len; };
struct side { struct line *line; bool *kept; size_t count; };

/* One line of the result: ' ' in both, '-' in the old, '+' in the new. */
struct op { char mark; struct line line; };

static struct side split(const char *text, size_t len)
{
	struct side side = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += text[i] == '\n';
	side.line = kf_alloc((count + 1) * sizeof(side.line[0]));
	side.kept = kf_alloc((count + 1) * sizeof(side.kept[0]));
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t next = end ? (size_t)(end - text) + 1 : len;

		side.line[side.count++] = (struct line) {
			text + at, next - at,
		};
		at = next;
	}
	return side;
}

static bool same(const struct line *a, const struct line *b)
{
	return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/* --- which lines stay ----------------------------------------------------- */

/* What differs once a common beginning and end are off. */
struct middle {
	struct side *old, *new;
	size_t from;			/* in both */
	int n, m;			/* lines of the old and the new in it */
	int *reach[EDITS_MAX + 1];	/* by edits: x on diagonals -d .. d */
};

static void trim(struct side *old, struct side *new, struct middle *out)
{
	size_t from = 0, n = old->count, m = new->count;

	while (from < n && from < m &&
	       same(&old->line[from], &new->line[from])) {
		old->kept[from] = new->kept[from] = true;
		from++;
	}
	while (n > from && m > from &&
	       same(&old->line[n - 1], &new->line[m - 1])) {
		n--;
		m--;
		old->kept[n] = new->kept[m] = true;
	}
	*out = (struct middle) {
		.old = old, .new = new, .from = from,
		.n = (int)(n - from), .m = (int)(m - from),
	};
}

/* Where d edits begin on diagonal k: after a line more of the new where that
 * reached further, else after one less of the old. */
static bool came_down(const int *before, int d, int k)
{
	return k == -d ||
	       (k != d && before[k - 1 + d - 1] < before[k + 1 + d - 1]);
}

static int start_of(const int *before, int d, int k)
{
	if (!d)
		return 0;
	return came_down(before, d, k) ? before[k + 1 + d - 1]
				       : before[k - 1 + d - 1] + 1;
}

static int slide(const struct middle *mid, int x, int k)
{
	while (x < mid->n && x - k < mid->m &&
	       same(&mid->old->line[mid->from + (size_t)x],
		    &mid->new->line[mid->from + (size_t)(x - k)]))
		x++;
	return x;
}

/* The number of edits needed, or -1 if they are too many. */
static int search(struct middle *mid)
{
	for (int d = 0; d <= EDITS_MAX && d <= mid->n + mid->m; d++) {
		int *reach = kf_alloc((2 * (size_t)d + 1) * sizeof(reach[0]));

		mid->reach[d] = reach;
		for (int k = -d; k <= d; k += 2) {
			int x = start_of(d ? mid->reach[d - 1] : NULL, d, k);

			/* Beyond an edge there is nothing to find. */
			if (x <= mid->n && x - k <= mid->m)
				x = slide(mid, x, k);
			reach[k + d] = x;
			if (x >= mid->n && x - k >= mid->m)
				return d;
		}
	}
	return -1;
}

/* From the end to the beginning; the slides are the lines that stay. */
static void walk_back(const struct middle *mid, int edits)
{
	int k = mid->n - mid->m;

	for (int d = edits; d >= 0; d--) {
		const int *before = d ? mid->reach[d - 1] : NULL;
		int x = mid->reach[d][k + d];

		for (int start = start_of(before, d, k); x > start; x--) {
			mid->old->kept[mid->from + (size_t)x - 1] = true;
			mid->new->kept[mid->from + (size_t)(x - k) - 1] = true;
		}
		if (d)
			k += came_down(before, d, k) ? 1 : -1;
	}
}

static void match(struct side *old, struct side *new)
{
	struct middle mid;
	int edits;

	trim(old, new, &mid);
	edits = search(&mid);
	if (edits >= 0)
		walk_back(&mid, edits);
	for (size_t d = 0; d <= EDITS_MAX; d++)
		free(mid.reach[d]);
}

/* --- the text ------------------------------------------------------------- */

static struct op *list_ops(const struct side *old, const struct side *new,
			   size_t *count)
{
	struct op *op = kf_alloc((old->count + new->count) * sizeof(op[0]));
	size_t i = 0, j = 0;

	*count = 0;
	while (i < old->count || j < new->count) {
		if (i < old->count && !old->kept[i])
			op[(*count)++] = (struct op) { '-', old->line[i++] };
		else if (j < new->count && !new->kept[j])
			op[(*count)++] = (struct op) { '+', new->line[j++] };
		else {
			op[(*count)++] = (struct op) { ' ', new->line[j++] };
			i++;
		}
	}
	return op;
}

static void add_op(const struct op *op, struct kf_buf *out)
{
	kf_buf_add(out, &op->mark, 1);
	kf_buf_add(out, op->line.text, op->line.len);
	if (!op->line.len || op->line.text[op->line.len - 1] != '\n')
		kf_buf_puts(out, "\n\\ No newline at end of file\n");
}

/* "12,3"; an empty part begins at the line before it. */
static void add_range(size_t before, size_t count, struct kf_buf *out)
{
	kf_buf_printf(out, "%zu,%zu", count ? before + 1 : before, count);
}

/* The hunk that the change at op[at] begins; where it ends. old and new count
 * the lines before op[at] and move on. */
static size_t add_hunk(const struct op *op, size_t count, size_t at,
		       size_t *old, size_t *new, struct kf_buf *out)
{
	size_t lead = at < CONTEXT ? at : CONTEXT, end = at, quiet = 0;
	size_t removed = 0, added = 0;

	while (end < count && quiet <= 2 * CONTEXT) {
		quiet = op[end].mark == ' ' ? quiet + 1 : 0;
		end++;
	}
	end -= quiet > CONTEXT ? quiet - CONTEXT : 0;
	for (size_t i = at - lead; i < end; i++) {
		removed += op[i].mark != '+';
		added += op[i].mark != '-';
	}
	kf_buf_puts(out, "@@ -");
	add_range(*old - lead, removed, out);
	kf_buf_puts(out, " +");
	add_range(*new - lead, added, out);
	kf_buf_puts(out, " @@\n");
	for (size_t i = at - lead; i < end; i++)
		add_op(&op[i], out);
	*old += removed - lead;
	*new += added - lead;
	return end;
}

void kf_diff(const struct kf_diff_text *old, const struct kf_diff_text *new,
	     struct kf_buf *out)
{
	struct side a = split(old->text, old->len);
	struct side b = split(new->text, new->len);
	size_t count, old_at = 0, new_at = 0, i = 0;
	struct op *op;
	bool named = false;

	match(&a, &b);
	op = list_ops(&a, &b, &count);
	while (i < count) {
		if (op[i].mark == ' ') {
			old_at++;
			new_at++;
			i++;
			continue;
		}
		if (!named)
			kf_buf_printf(out, "--- %s\n+++ %s\n", old->name,
				      new->name);
		named = true;
		i = add_hunk(op, count, i, &old_at, &new_at, out);
	}
	free(op);
	free(a.line);
	free(a.kept);
	free(b.line);
	free(b.kept);
}
