#!/usr/bin/env python3
"""python/reference.py: bundles of problems whose data are too large to keep.

Needs a Python with torch; skipped without. Prints TAP.
"""

import os
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from reference import Case, model, run_module  # noqa: E402

import torch  # noqa: E402
from kforge_reference import condensed, sets  # noqa: E402

ROWS, COLS = 64, 4000
WIDE = "torch.rand(%d, %d)" % (ROWS, COLS)


class Condensed(Case):
    def setUp(self):
        super().setUp()
        before = condensed.WINDOW
        condensed.WINDOW = 4096     # quick, and fewer than there are elements
        self.addCleanup(setattr, condensed, "WINDOW", before)

    def condensed(self, text, **more):
        self.small_stock()
        result, info = self.bundle(text, bytes_whole=0, **more)
        self.assertIsNotNone(info, result)
        self.assertIsNotNone(info["condensed"])
        return info

    def inputs_of(self, name, kind):
        """in.0 of a set, as the judge makes it."""
        x = self.data("inputs/base.safetensors")["in.0"].double()
        own = self.data("inputs/" + name)
        if "column.0" not in own:
            return x.float()
        flat = x.reshape(-1)
        at = torch.arange(flat.numel())
        flat = flat * own["column.0"][at % condensed.CHUNK].double() * \
            own["row.0"][torch.div(at, condensed.CHUNK,
                                   rounding_mode="floor")].double() - \
            own["shift.0"]
        x = flat.reshape(x.shape).float()
        if kind == "tail":
            x[..., -max(1, x.shape[-1] // 8):] *= 8
        return x

    def test_each_set_is_that_of_its_own_inputs(self):
        info = self.condensed(model("return x.sigmoid()", WIDE))
        self.assertEqual(info["sets"], ["declared", "changed", "declared",
                                        "zero_mean", "tail", "large"])
        self.assertTrue(info["condensed"]["rows"])
        self.assertEqual(info["inputs"][0]["matters"], True)
        for number, kind in list(enumerate(info["sets"])) + [(None, "stock")]:
            name = "stock-00" if number is None else "set-%02d" % number
            x = self.inputs_of(name + ".safetensors", kind)
            y = x.sigmoid().reshape(-1)
            kept = self.data("oracle/%s.safetensors" % name)
            for w, at in enumerate(kept["at.0"].tolist()):
                window = kept["expect.0"][w]
                torch.testing.assert_close(window, y[at:at + len(window)])
            self.look_at_sums(kept, y.double())
            if number is not None:
                exact = x.double().sigmoid().reshape(-1)
                at = int(kept["at.0"][3])
                torch.testing.assert_close(
                    kept["exact.0"][3],
                    exact[at:at + kept["exact.0"].shape[1]])
        self.assertLess(abs(float(self.inputs_of(
            "set-03.safetensors", "zero_mean").double().mean())), 1e-6)
        first, changed = [self.inputs_of("set-0%d.safetensors" % i, "")
                          for i in (0, 1)]
        self.assertGreater(float(self.inputs_of(
            "set-05.safetensors", "large").max()), 512)
        self.assertIn(int((first != changed).sum()), (
            ROWS * COLS // condensed.CHUNK, ROWS * COLS // condensed.CHUNK + 1))

    def look_at_sums(self, kept, y):
        y = torch.cat([y, y.new_zeros(-len(y) % condensed.CHUNK)])
        y = y.view(-1, condensed.CHUNK)
        self.assertEqual(set(kept["signs"].reshape(-1).tolist()), {-1, 1})
        torch.testing.assert_close(kept["sums.0"],
                                   y @ kept["signs"].double().t(),
                                   rtol=1e-6, atol=1e-4)
        self.assertTrue(bool((kept["scale.0"] >=
                              0.999 * y.square().sum(1).sqrt()).all()))

    def test_fresh_inputs_are_never_the_same(self):
        self.condensed(model("return x + 1", WIDE))
        names = ["set-00", "set-02", "set-03", "stock-00", "stock-01"]
        seen = [self.inputs_of(n + ".safetensors", "declared") for n in names]
        for i, a in enumerate(seen):
            for b in seen[:i]:
                self.assertLess(float((a == b).double().mean()), 0.01)

    def test_rows_that_hang_together_are_run_together(self):
        for forward in ("return x - x.mean()", "return x.softmax(0)",
                        "return F.batch_norm(x, None, None, training=True)"):
            info = self.condensed(model(forward, WIDE))
            self.assertFalse(info["condensed"]["rows"], forward)
            self.assertEqual(info["float64"], "cast")
            kept = self.data("oracle/set-00.safetensors")
            self.assertEqual(kept["exact.0"].shape,
                             (condensed.WINDOWS, condensed.WINDOW))

    def test_a_domain_that_shrinking_leaves(self):
        info = self.condensed(model("return x.acosh()", WIDE + " + 1"))
        self.assertEqual(info["sets"][:3], ["declared", "changed", "declared"])
        self.assertGreaterEqual(float(self.inputs_of(
            "set-02.safetensors", "declared").min()), 1)

    def test_what_fails_both_ways_decides_nothing(self):
        # 0.75 and 1.25 times an element are outside, products of factors not.
        info = self.condensed(model(
            "return (x - 0.72).log() + (1.2 - x).sqrt()",
            WIDE + " * 0.05 + 0.95"))
        self.assertEqual(info["sets"][:2], ["declared", "declared"])
        self.assertIn("changed", [d["kind"] for d in info["dropped"]])

    def test_whole_numbers_that_do_not_add_up_are_refused(self):
        result, _ = self.bundle(model(
            "return (x * 2**50).long()", WIDE), bytes_whole=0)
        self.assertEqual(result["error"]["kind"], "unsupported")
        self.assertIn("2^40", result["error"]["text"])

    def test_small_outputs_are_kept_whole(self):
        info = self.condensed(model("return x.sum(), x.argmax(1)", WIDE))
        self.assertEqual(info["condensed"]["windows"], [1, 1])
        kept = self.data("oracle/set-02.safetensors")
        x = self.inputs_of("set-02.safetensors", "declared")
        self.assertTrue(torch.equal(kept["expect.1"].reshape(-1),
                                    x.argmax(1)))
        self.assertEqual(float(kept["scale.1"].max()), 0)

    def test_integers_are_drawn_again(self):
        self.condensed(model("return x[i]", WIDE +
                             ", torch.randint(0, 64, (64,))",
                             ).replace("self, x", "self, x, i"))
        one, two = [self.data("inputs/%s.safetensors" % n)["in.1"]
                    for n in ("stock-00", "stock-01")]
        self.assertFalse(torch.equal(one, two))

    def test_random_weights_are_kept(self):
        info = self.condensed(model(
            "return x * self.w", WIDE,
            "self.w = nn.Parameter(torch.randn(%d))" % COLS))
        self.assertEqual(info["sets"][-1], "weights")
        x = self.inputs_of("set-06.safetensors", "weights")
        w = self.data("inputs/set-06.safetensors")["weight.0"]
        kept = self.data("oracle/set-06.safetensors")
        torch.testing.assert_close(kept["expect.0"][0],
                                   (x * w).reshape(-1)[:condensed.WINDOW])
        self.assertTrue(info["weights"][0]["matters"])

    def test_large_inputs_that_show_nothing_are_left_out(self):
        for why, forward, inputs in (
                ("every output is one number", "return x.tanh()",
                 WIDE + " + 1"),
                ("not finite there", "return x.exp()", WIDE)):
            info = self.condensed(model(forward, inputs))
            dropped = {d["kind"]: d["reason"] for d in info["dropped"]}
            self.assertIn(why, dropped["large"])

    NO_ROOM = ("if x.dtype == torch.float64%s:\n"
               "    raise RuntimeError('CUDA out of memory. Tried to "
               "allocate 9 GiB')\n"
               "return x.sigmoid()")

    def whole_at_first(self, when):
        """A small problem, whose float64 runs need more than there is."""
        self.small_stock()
        result, info = self.bundle(model(self.NO_ROOM % when, WIDE))
        self.assertIsNotNone(info, result)
        self.assertIsNotNone(info["condensed"])
        self.assertTrue(any("took more memory than there is" in note
                            for note in info["notes"]), info["notes"])
        left = [name for folder in ("inputs", "oracle") for name in
                os.listdir(os.path.join(self.folder.name, "out", folder))]
        self.assertEqual(
            2 * (len(info["sets"]) + info["stock"]) + 3, len(left), left)
        return info

    def test_where_memory_is_short_some_rows_are_enough(self):
        info = self.whole_at_first(" and x.shape[0] == %d" % ROWS)
        self.assertTrue(info["condensed"]["rows"])
        self.assertEqual(info["float64"], "cast")

    def test_where_memory_runs_out_late_nothing_is_left_of_it(self):
        info = self.whole_at_first(" and float(x.max()) > 2**19")
        self.assertEqual(info["float64"], "cast")

    def test_where_memory_is_short_for_rows_too_there_is_no_float64(self):
        info = self.whole_at_first("")
        self.assertIsNone(info["float64"])
        self.assertTrue(any("does not fit" in note
                            for note in info["notes"]), info["notes"])

    def test_no_room_says_how_much_and_the_way_out(self):
        result, _ = self.bundle(model("return x", WIDE), bytes_whole=0,
                                bytes_max=1 << 20)
        self.assertEqual(result["error"]["kind"], "limit")
        for words in ("GB", "--set", "--cache"):
            self.assertIn(words, result["error"]["text"])
        result, _ = self.bundle(model("return x", WIDE), bytes_whole=0,
                                memory_bytes=1 << 20)
        self.assertEqual(result["error"]["kind"], "limit")
        self.assertIn("bigger machine", result["error"]["text"])

    def test_perturbed_data_are_one_step_away(self):
        x = torch.rand(3, 5000)
        near = condensed.perturbed(x, sets.generator(1), 2.0**-12)
        ratio = ((near / x - 1) * 2**12).reshape(-1)
        self.assertLess(float((ratio.abs() - 1).abs().max()), 0.01)
        self.assertLess(abs(float(ratio.mean())), 0.1)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(run_module(sys.modules[__name__]))
