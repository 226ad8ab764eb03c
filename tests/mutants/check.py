#!/usr/bin/env python3
"""The tool that makes mutants, and a few mutants judged: `make mutants` judges
many."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import traceback

sys.dont_write_bytecode = True
FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

import mutate  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("mutants", str(FOLDER / "run"))
mutants = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("mutants", LOADER))
LOADER.exec_module(mutants)

SAMPLE = """#include <kforge/program.h>
#include <math.h>
#define TILE 8
/* y = x / root(mean(x x) + eps) + b; not a loop: for (i = 0; i < n; i++) */
int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	const float *b = kf_weight(c, "b")->data, *a = kf_weight(c, "a")->data;
	double *room = kf_temp(c, (size_t)n * sizeof(double));
	if (!room)
		return 1;
	#pragma omp parallel for private(room)
	for (int64_t r = 0; r < rows; r++) {
		float total = 0;
		for (int64_t i = 0; i < n; i++)
			total += a[r * n + i] * b[i];
		b[r] = r > 0 ? (a[r] - total) / sqrtf(total / n + 1e-5f) : 0;
		for (int64_t i = 0; i < (n + 7) / 8; i++)
			b[i] = 0;
	}
	return 0;
}
"""
# What each operator has to find in it, as (line before, line after).
EXPECTED = {
    "bound": ("r < rows", "r < (rows) - 1"),
    "tile": ("(n + 7) / 8", "(n ) / 8"),
    "begin": ("r = 0", "r = 0 + 1"),
    "comparison": ("r > 0", "r >= 0"),
    "arithmetic": ("r * n + i", "r + n + i"),
    "accumulate": ("total +=", "total ="),
    "stale": ("float total", "static float total"),
    "index": ("b[i] = 0", "b[(i) + 1] = 0"),
    "swapped_index": ("b[i];", "b[r];"),
    "axis": ("shape[1]", "shape[0]"),
    "constant": ("1e-5f", "0.0f"),
    "misplaced_eps": ("sqrtf(total / n + 1e-5f)", "(sqrtf(total / n) + 1e-5f)"),
    "dropped": ("r * n + i", "r + i"),
    "exchanged": ("a[r] - total", "total - a[r]"),
    "function": ("sqrtf", "cbrtf"),
    "removed": ("b[i] = 0;", ";"),
    "barrier": (" private(room)", ""),
}


def squeeze(text):
    return "".join(text.split())


def test_every_operator_finds_its_fault():
    found = mutate.mutants(SAMPLE)
    assert set(EXPECTED) == set(mutate.OPERATORS)
    for name, (before, after) in EXPECTED.items():
        lines = [(squeeze(m.before), squeeze(m.after)) for m in found
                 if m.operator == name]
        assert any(squeeze(before) in b and
                   b.replace(squeeze(before), squeeze(after)) == a
                   for b, a in lines), (name, lines)


def test_what_is_no_part_of_the_values_is_left_alone():
    for m in mutate.mutants(SAMPLE):
        for words in ("not a loop", "TILE", "kf_temp", "!room", "return 0"):
            assert words not in m.before, m


def test_a_mutant_differs_by_one_line():
    for _, _, text, _ in mutants.programs("data"):
        assert mutate.Program(text).edited([]) == text
        for m in mutate.sample(text, 20, 1):
            old, new = text.splitlines(), m.text.splitlines()
            assert m.text != text and len(new) <= len(old)
            assert old[m.line - 1].strip() == m.before != m.after


def test_the_same_seed_gives_the_same_mutants():
    one, again, other = (mutate.sample(SAMPLE, 30, seed)
                         for seed in (1, 1, 2))
    assert one == again != other
    assert len({m.text for m in one}) == 30
    assert len({m.operator for m in one[:len(EXPECTED)]}) == len(EXPECTED)


def test_faults_are_found_and_the_same_program_is_known():
    program = next(p for p in mutants.programs("data") if p[0] == "softmax")
    text = program[2]

    def mutant(before, after):
        assert text.count(before) == 1
        return mutate.Mutant("", 1, before, after, text.replace(before, after))

    # The data are secret, and others in every cache: so small a fault stays
    # far within KernelBench's 1e-4 whatever they are.
    pairs = [(program, mutant("0.125f", "0.12503f")),
             (program, mutant("expf(y[i] - largest)",
                              "expf(largest - y[i])")),
             (program, mutant("r < rows", "r <= rows")),
             (program, mutant("double sum = 0;", "double sum = 0; sum = 0;")),
             (program, mutant("double sum = 0;", "double sum = 0"))]
    records = mutants.judged(pairs, lambda words: print("#", words))
    ends = [r.end for r in records]
    assert ends == ["killed", "killed", "killed", "the same program",
                    "does not compile"], ends
    assert records[2].found == "mismatch out_of_bounds", records[2].found
    by_kernelbench = [(r.kernelbench, r.found) for r in records[:3]]
    assert [found for found, _ in by_kernelbench] == [False, True, True], \
        by_kernelbench
    figures = mutants.figures(records, 0)
    assert figures["mutants"] == figures["killed"] == 3 and figures["good"]


def main():
    tests = [f for name, f in sorted(globals().items())
             if name.startswith("test_")]
    print(f"1..{len(tests)}")
    failed = 0
    for number, test in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} - {test.__name__}", flush=True)
        except Exception:   # noqa: B902: told, and counted
            failed += 1
            print(f"not ok {number} - {test.__name__}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
