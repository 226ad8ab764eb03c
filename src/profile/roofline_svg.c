/*
 * The picture: operations by byte along x, operations by second along y, both
 * logarithmic; the roof, the program, and those kernels whose bytes and
 * operations were counted.
 */
#include "profile/profile.h"

#include <math.h>

#define WIDTH	640.0
#define HEIGHT	420.0
#define LEFT	76.0
#define RIGHT	24.0
#define TOP	48.0
#define BOTTOM	56.0

struct scale { double low, high; };	/* powers of ten */

struct chart {
	struct kf_buf *out;
	struct scale x, y;
};

static double place_x(const struct chart *c, double value)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * (log10(value) - c->x.low) /
		(c->x.high - c->x.low);
}

static double place_y(const struct chart *c, double value)
{
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) *
		(log10(value) - c->y.low) / (c->y.high - c->y.low);
}

/* --- the axes ------------------------------------------------------------- */

static void widen(struct scale *s, double value)
{
	if (!(value > 0) || !isfinite(value))
		return;
	if (!(s->low <= log10(value)))
		s->low = floor(log10(value));
	if (!(s->high >= log10(value)))
		s->high = ceil(log10(value));
}

static void settle(struct scale *s)
{
	if (isnan(s->low)) {
		s->low = 0;
		s->high = 1;
	}
	if (s->high - s->low < 2) {
		s->low -= 1;
		s->high += 1;
	}
}

static const char *power_name(double exponent, char out[32])
{
	static const char *const step[] = { "", "k", "M", "G", "T", "P" };
	int e = (int)exponent;

	if (e < 0 || e / 3 >= (int)KF_COUNT(step))
		snprintf(out, 32, "%g", pow(10, exponent));
	else
		snprintf(out, 32, "%d %s", e % 3 == 0 ? 1 : e % 3 == 1 ? 10 :
			 100, step[e / 3]);
	return out;
}

static void grid_line(const struct chart *c, bool along_x, double exponent)
{
	double value = pow(10, exponent);
	double x = along_x ? place_x(c, value) : LEFT;
	double y = along_x ? TOP : place_y(c, value);
	char name[32];

	kf_buf_printf(c->out, "<path d=\"M%.1f %.1f%c%.1f\" stroke=\"#ddd\"/>"
		      "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s"
		      "</text>\n", x, y, along_x ? 'V' : 'H', along_x ?
		      HEIGHT - BOTTOM : WIDTH - RIGHT, along_x ? x : LEFT - 6,
		      along_x ? HEIGHT - BOTTOM + 16 : y + 4, along_x ?
		      "middle" : "end", power_name(exponent, name));
}

static void axes(const struct chart *c)
{
	for (int e = (int)c->x.low; e <= (int)c->x.high; e++)
		grid_line(c, true, e);
	for (int e = (int)c->y.low; e <= (int)c->y.high; e++)
		grid_line(c, false, e);
	kf_buf_printf(c->out, "<text x=\"%.0f\" y=\"%.0f\" text-anchor="
		      "\"middle\">operations by byte of memory</text>\n",
		      (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14);
	kf_buf_printf(c->out, "<text transform=\"translate(16 %.0f) "
		      "rotate(-90)\" text-anchor=\"middle\">operations by "
		      "second</text>\n", (TOP + HEIGHT - BOTTOM) / 2);
}

/* --- what is in it -------------------------------------------------------- */

static void roof(const struct chart *c, const struct kf_roofline *r)
{
	double low = pow(10, c->x.low), high = pow(10, c->x.high);
	double ridge = r->flops_per_s / r->bytes_per_s;
	double first = low * r->bytes_per_s < r->flops_per_s ?
		low * r->bytes_per_s : r->flops_per_s;

	kf_buf_printf(c->out, "<path d=\"M%.1f %.1f", place_x(c, low),
		      place_y(c, first));
	if (ridge > low && ridge < high)
		kf_buf_printf(c->out, "L%.1f %.1f", place_x(c, ridge),
			      place_y(c, r->flops_per_s));
	kf_buf_printf(c->out, "L%.1f %.1f\" fill=\"none\" stroke=\"#1f4e9c\" "
		      "stroke-width=\"2.5\"/>\n", place_x(c, high),
		      place_y(c, high * r->bytes_per_s < r->flops_per_s ?
			      high * r->bytes_per_s : r->flops_per_s));
}

static void point(const struct chart *c, const char *name, double bytes,
		  double flops, double time_ns, const char *color)
{
	double x, y;

	if (!(bytes > 0) || !(flops > 0) || !(time_ns > 0))
		return;
	x = place_x(c, flops / bytes);
	y = place_y(c, flops / time_ns * 1e9);
	kf_buf_printf(c->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" "
		      "fill=\"%s\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor="
		      "\"%s\">", x, y, color, x > WIDTH * 0.7 ? x - 9 : x + 9,
		      y + 16, x > WIDTH * 0.7 ? "end" : "start");
	kf_xml_text(name, c->out);
	kf_buf_puts(c->out, "</text>\n");
}

static void fit(struct chart *c, const struct kf_roofline *r)
{
	const double nan = (double)NAN;

	c->x = c->y = (struct scale) { nan, nan };
	widen(&c->x, r->flops_per_s / r->bytes_per_s);
	widen(&c->x, r->flops / r->bytes);
	widen(&c->y, r->flops_per_s);
	widen(&c->y, r->flops / r->time_ns * 1e9);
	for (size_t i = 0; i < r->point_count; i++) {
		widen(&c->x, r->point[i].flops / r->point[i].bytes);
		widen(&c->y, r->point[i].flops / r->point[i].time_ns * 1e9);
	}
	settle(&c->x);
	c->x.low -= 1;
	/* The roof's low end is in the picture too. */
	widen(&c->y, pow(10, c->x.low) * r->bytes_per_s);
	settle(&c->y);
}

static bool drawable(const struct kf_roofline *r)
{
	return r->flops_per_s > 0 && r->bytes_per_s > 0;
}

static void caption(const struct kf_roofline *r, struct kf_buf *out)
{
	char memory[32];

	if (isnan(r->memory_share))
		return;
	kf_buf_printf(out, "<text x=\"%.0f\" y=\"40\">%.1f %% of the memory "
		      "bound (%s)</text>\n", LEFT, 100 * r->memory_share,
		      kf_time_words(r->memory_ns, 3, memory));
}

void kf_roofline_svg(const struct kf_roofline *r, const char *title,
		     struct kf_buf *out)
{
	struct chart c = { .out = out };

	kf_buf_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" "
		      "viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height="
		      "\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
		      "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>"
		      "<text x=\"%.0f\" y=\"22\" font-size=\"15\">", WIDTH,
		      HEIGHT, WIDTH, HEIGHT, LEFT);
	kf_xml_text(title, out);
	kf_buf_puts(out, "</text>\n");
	if (drawable(r)) {
		caption(r, out);
		fit(&c, r);
		axes(&c);
		roof(&c, r);
		for (size_t i = 0; i < r->point_count; i++)
			point(&c, r->point[i].kernel, r->point[i].bytes,
			      r->point[i].flops, r->point[i].time_ns,
			      "#8a8a8a");
		point(&c, "the program", r->bytes, r->flops, r->time_ns,
		      "#c0392b");
	} else {
		kf_buf_printf(out, "<text x=\"%.0f\" y=\"80\">the device's "
			      "ceilings were not measured</text>\n", LEFT);
	}
	kf_buf_puts(out, "</svg>\n");
}
