/* What the host.c of this folder share; it is put before each of them. */
#include <kforge/launch.h>
#include <stdio.h>
#include <time.h>

#define ROWS(c)		((c)->in[0].shape[0])
#define DEPTH(c)	((c)->in[0].shape[1])
#define COLS(c)		((c)->weight[0].shape[0])
#define GROUP		64
#define GROUPS(n)	KF_DIM(((n) + GROUP - 1) / GROUP)

static inline int linear(struct kf_call *c, int64_t rows)
{
	return kf_launch(c, "linear", GROUPS(rows * COLS(c)), KF_DIM(GROUP), 0,
			 KF_BUF(c->in[0]), KF_BUF(c->weight[0]),
			 KF_BUF(c->weight[1]), KF_BUF(c->out[0]), KF_I32(rows),
			 KF_I32(COLS(c)), KF_I32(DEPTH(c)));
}

static inline int put(struct kf_call *c, const void *handle, int64_t at)
{
	return kf_launch(c, "put", KF_DIM(1), KF_DIM(1), 0, KF_BUF(handle),
			 KF_I64(at), KF_F32(1));
}

