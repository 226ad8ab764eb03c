/*
 * expr.h - whole numbers from expressions of sizes: "2 * ROWS * (COLS - 1)".
 *
 * + - * / and parentheses, as in C, over numbers and names. A division must
 * come out whole, and nothing may overflow. Pure.
 */
#ifndef KF_CPROBLEM_EXPR_H
#define KF_CPROBLEM_EXPR_H

#include "base/base.h"

#define KF_EXPR_BYTES 256	/* longest expression */
#define KF_EXPR_DEPTH 32	/* of parentheses */

struct kf_size { char *name; int64_t value; };	/* name is owned */

/* A name as sizes may have it: capital letters, digits, underscores, at most
 * 32, and none that C or kforge has taken (KF_..., NULL, I, ...). */
bool kf_size_name_good(const char *name);

/* KF_E_INPUT says what is wrong, and with an unknown name lists the known
 * ones; the sentence begins with the expression in quotation marks. */
KF_MUST_CHECK enum kf_code kf_expr_eval(const char *text,
		const struct kf_size *size, size_t count, int64_t *out,
		struct kf_err *err);

#endif
