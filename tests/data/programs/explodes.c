/* Takes the compiler more memory or time than it may have. */
#include <kforge/program.h>
#define A(x) x x x x x x x x
#define B(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x)
#define C(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x)
#define D(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x)
#define E(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x)

static const char many[] = E("0123456789abcdef") E("0123456789abcdef");

int kf_forward(struct kf_call *c)
{
	return many[c->in_count] - '1' E(+ c->in[c->in_count - 1].shape[0]);
}
