#!/usr/bin/env python3
"""bench/suite.py's problems as two-part programs for CUDA, one attempt each, at
the sizes that are meant for devices (`--size gpu`).

    bench/suite_cuda.py make DIR     job folders of those without a verdict, to be
                                     judged by kforge judge DIR
    bench/suite_cuda.py take DIR     what became of them is kept
    bench/suite_cuda.py table        what is kept, as a table
    bench/suite_cuda.py              all of them judged here
"""

import pathlib

import forms

REPLIES = pathlib.Path("bench/results/h100/replies.jsonl")


def make(folder, done=frozenset()):
    replies = forms.first_replies(REPLIES)
    for problem in sorted(pathlib.Path("problems").glob("level[1-3]/*.py")):
        if problem.stem in replies and (problem.stem, "two-part") not in done:
            forms.write_job(folder / problem.stem, problem,
                            replies[problem.stem], size="gpu")


if __name__ == "__main__":
    forms.main(forms.REPLIES / "suite.json", make)
