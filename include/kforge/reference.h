/*
 * reference.h - what the reference.c of a C problem is written with (MIT).
 *
 * A reference defines the same function as a program does, see program.h:
 *
 *	int kf_forward(struct kf_call *c);	0 is good
 *
 * in plain C11, as simply as it can be said: it tells what is to be computed,
 * and its time is the baseline. It reads shapes from the tensors, scalars from
 * c->scalar, and writes every element of every output. It must give the same
 * values whenever it gets the same numbers.
 *
 * It is compiled twice, with kf_real = float and with kf_real = double (with
 * double alone where the problem's dtype is float64): the first gives the
 * expected values, the second tells how far they may be trusted. So whatever is
 * a real number there, tensors of dtype "real" in problem.json above all, must
 * be a kf_real, never a float. <tgmath.h> makes sqrt, exp and others follow.
 *
 * The compiler gets -DKF_REAL=float or -DKF_REAL=double and each size of
 * problem.json as a macro, -DROWS=256, without fast-math and without fused
 * multiply-adds; for the baseline the flags are those of a program.
 */
#ifndef KF_REFERENCE_H
#define KF_REFERENCE_H

#include <kforge/program.h>

#ifndef KF_REAL
#define KF_REAL float
#endif

typedef KF_REAL kf_real;

#endif
