/*
 * outcome.h - from what a store holds of attempts to what figures are made of.
 */
#ifndef KF_CLI_OUTCOME_H
#define KF_CLI_OUTCOME_H

#include "cli/cli.h"
#include "cli/figures.h"

/* Fills *out, whose attempts are owned. started: the program of --start is the
 * first of them; else it is left out, for nobody was asked for it. */
void kf_cli_figures(const struct kf_attempts *attempts, bool started,
		    struct kf_figure_problem *out);

/* New references, with the names that verdicts have: each attempt but
 * --start's; and one alone, what it took and against what (NULL: null). */
json_t *kf_cli_attempts_to_json(const struct kf_attempts *attempts);
json_t *kf_cli_best_to_json(const struct kf_attempt *best);

#endif
