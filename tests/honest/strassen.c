/* Strassen's seven products instead of eight, two levels deep.
 *
 * class: Strassen
 * problem: tests/honest/problems/strassen
 * found: correct -
 */
enum { LEAST = 32 };

static void add(const float *a, int64_t la, const float *b, int64_t lb,
		float sign, float *to, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++)
			to[i * n + j] = a[i * la + j] + sign * b[i * lb + j];
}

static void simple(const float *a, int64_t la, const float *b, int64_t lb,
		   float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++) {
			float sum = 0;

			for (int64_t k = 0; k < n; k++)
				sum += a[i * la + k] * b[k * lb + j];
			y[i * n + j] = sum;
		}
}

/* y (n x n, contiguous) = a b; room: 3 n^2 floats for this and all below. */
static void multiply(const float *a, int64_t la, const float *b, int64_t lb,
		     float *y, int64_t n, float *room)
{
	int64_t h = n / 2;
	const float *a11 = a, *a12 = a + h, *a21 = a + h * la, *a22 = a21 + h;
	const float *b11 = b, *b12 = b + h, *b21 = b + h * lb, *b22 = b21 + h;
	float *s = room, *t = s + h * h, *m[7];

	if (n <= LEAST) {
		simple(a, la, b, lb, y, n);
		return;
	}
	for (int i = 0; i < 7; i++)
		m[i] = t + (i + 1) * h * h;
	room = m[6] + h * h;
	add(a11, la, a22, la, 1, s, h);
	add(b11, lb, b22, lb, 1, t, h);
	multiply(s, h, t, h, m[0], h, room);
	add(a21, la, a22, la, 1, s, h);
	multiply(s, h, b11, lb, m[1], h, room);
	add(b12, lb, b22, lb, -1, t, h);
	multiply(a11, la, t, h, m[2], h, room);
	add(b21, lb, b11, lb, -1, t, h);
	multiply(a22, la, t, h, m[3], h, room);
	add(a11, la, a12, la, 1, s, h);
	multiply(s, h, b22, lb, m[4], h, room);
	add(a21, la, a11, la, -1, s, h);
	add(b11, lb, b12, lb, 1, t, h);
	multiply(s, h, t, h, m[5], h, room);
	add(a12, la, a22, la, -1, s, h);
	add(b21, lb, b22, lb, 1, t, h);
	multiply(s, h, t, h, m[6], h, room);
	for (int64_t i = 0; i < h; i++)
		for (int64_t j = 0; j < h; j++) {
			int64_t at = i * h + j;

			y[i * n + j] = m[0][at] + m[3][at] - m[4][at] +
				m[6][at];
			y[i * n + j + h] = m[2][at] + m[4][at];
			y[(i + h) * n + j] = m[1][at] + m[3][at];
			y[(i + h) * n + j + h] = m[0][at] - m[1][at] +
				m[2][at] + m[5][at];
		}
}

int kf_forward(struct kf_call *c)
{
	int64_t n = ROWS(c);
	float *room = kf_temp(c, (size_t)(4 * n * n) * sizeof(float));

	if (!room)
		return 1;
	multiply(X(c), n, c->in[1].data, n, Y(c), n, room);
	return 0;
}
