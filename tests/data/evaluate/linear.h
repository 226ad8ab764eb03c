/* What the programs of this folder share; it is put before each of them. The
 * problem is out = relu(x w^T + b): x is rows x depth, w is cols x depth. */
#include <kforge/program.h>
#include <string.h>

#define X(c)		((const float *)(c)->in[0].data)
#define W(c)		((const float *)(c)->weight[0].data)
#define B(c)		((const float *)(c)->weight[1].data)
#define Y(c)		((float *)(c)->out[0].data)
#define ROWS(c)		((c)->in[0].shape[0])
#define DEPTH(c)	((c)->in[0].shape[1])
#define COLS(c)		((c)->weight[0].shape[0])

static inline void linear(const float *x, const float *w, const float *b,
			  float *y, int64_t rows, int64_t cols, int64_t depth)
{
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < cols; j++) {
			float sum = b[j];

			for (int64_t k = 0; k < depth; k++)
				sum += x[i * depth + k] * w[j * depth + k];
			y[i * cols + j] = sum > 0 ? sum : 0;
		}
}

static inline void all(struct kf_call *c)
{
	linear(X(c), W(c), B(c), Y(c), ROWS(c), COLS(c), DEPTH(c));
}

