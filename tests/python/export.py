#!/usr/bin/env python3
"""kforge export --as torch: every problem of ours agrees with its reference
under PyTorch, by the module, the operator and the DLPack entry of the C library;
guards, fallback, weights that change, threads, fake tensors.

    tests/python/export.py [PROBLEM...]     only these problems, by file's name
"""

import concurrent.futures
import copy
import ctypes
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import warnings

try:
    import torch
    from torch.utils import dlpack
except ImportError:
    print("1..0 # SKIP this Python has no torch")
    sys.exit(0)

from packages import (ROOT, agree, export, fresh, listed, load, pair, raises,
                      run_cases)

PROGRAMS = ROOT / "tests" / "data" / "programs"
RECORDED = ROOT / "tests" / "data" / "replay"
PROBLEMS = {path.stem: path for level in ("level1", "level2", "level3")
            for path in sorted((ROOT / "problems" / level).glob("*.py"))}
SKIP = "skip: "


# --- the C library's DLPack entry ---------------------------------------------

get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype = ctypes.c_void_p
get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def capsules(tensors):
    """(capsules to keep, their DLManagedTensors). DLPack had no bool at first:
    a byte says the same."""
    held = [dlpack.to_dlpack(t.view(torch.uint8) if t.dtype == torch.bool
                             else t) for t in tensors]
    return held, (ctypes.c_void_p * len(held))(
        *[get_pointer(c, b"dltensor") for c in held])


def by_dlpack(package, inputs, weights):
    """The outputs of X_forward_dlpack on a context of its own."""
    facts = package.FACTS
    folder = pathlib.Path(package.__file__).parent / "c"
    library = ctypes.CDLL(str(folder / facts["library"]))
    context = ctypes.c_void_p()
    create = getattr(library, facts["id"] + "_create")
    error = getattr(library, facts["id"] + "_error")
    error.restype = ctypes.c_char_p
    pointers = (ctypes.c_void_p * len(weights))(
        *[w.data_ptr() for w in weights])
    assert create(*([pointers] if weights else []),
                  ctypes.byref(context)) == 0
    outputs = [torch.full(t["shape"], 7).to(t["torch"])
               for t in facts["outputs"]]
    held, given = capsules(inputs)
    held_too, taken = capsules(outputs)
    status = getattr(library, facts["id"] + "_forward_dlpack")(
        context, given, len(held), taken, len(held_too))
    assert status == 0, error(context).decode()
    getattr(library, facts["id"] + "_free")(context)
    return outputs


# --- every problem ------------------------------------------------------------


def check_problem(package):
    reference, new = pair(package)
    state = reference.state_dict()
    assert list(state) == list(new.state_dict())
    for key, value in new.state_dict().items():
        assert torch.equal(value, state[key]), key
    with torch.no_grad():
        inputs = fresh(package)
        want = copy.deepcopy(reference)(*[x.clone() for x in inputs])
        got = new(*inputs)
        agree(want, got)
        weights = [package.module._resolve(new, w["name"])
                   for w in package.FACTS["weights"]]
        raw = package.op(*inputs, *weights)
        through = by_dlpack(package, inputs, weights)
        for a, b, c in zip(listed(got), listed(raw), through):
            assert torch.equal(a, b) and torch.equal(a, c)
        # Weights that came from elsewhere, and other inputs.
        for value in state.values():
            if value.is_floating_point():
                value.mul_(0.5).abs_().add_(0.01)
        new.load_state_dict(reference.state_dict())
        inputs = fresh(package, seed=8)
        fixed = [w["name"] for w in package.FACTS["weights"]
                 if w["structural"]]
        if any(state[n].is_floating_point() for n in fixed if n in state):
            try:
                new(*inputs)
            except package.Mismatch as error:
                assert "part of the program" in str(error), error
                return
            raise AssertionError("a table of the program was changed")
        agree(reference(*inputs), new(*inputs))


def write_recorded(name, path):
    """The last recorded reply for a problem that has no plain program; why not,
    if this machine cannot run it."""
    flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    states = json.loads((RECORDED / "states.json").read_text())
    missing = [f for f in states[name]["cpu"] if f not in flags]
    if missing:
        return "its recorded program wants %s" % ", ".join(missing)
    lines = (RECORDED / (name + ".jsonl")).read_text(encoding="utf-8")
    path.write_text(json.loads(lines.splitlines()[-1])["text"])
    return None


def prepare(name, folder):
    """Exports one problem; a sentence that begins with SKIP, or None."""
    path = PROGRAMS / name
    if not path.exists():
        words = write_recorded(name, folder / (name + ".md"))
        if words:
            return SKIP + words
        path = folder / (name + ".md")
    status, words = export(PROBLEMS[name], path, folder / ("export_" + name),
                           "--size", "test")
    return None if status == 0 else words


def agreement(name, folder, ready):
    words = ready.result()
    if words and words.startswith(SKIP):
        return words[len(SKIP):]
    assert not words, words
    check_problem(load(folder, "export_" + name))
    return None


# --- guards -------------------------------------------------------------------


def bad_calls(package):
    """(what the guard says, arguments) for layer_norm."""
    x, residual = fresh(package)
    turned = x.t().contiguous().t()
    return (("shape", (x[:3], residual[:3])),
            ("dtype", (x.double(), residual)),
            ("contiguous", (turned, residual)),
            ("tensors", (x,)),
            ("tensors", (x, None)))


def test_guards_raise(package):
    _, new = pair(package)
    with torch.no_grad():
        for word, arguments in bad_calls(package):
            raises(package, word, new, *arguments)
        raises(package, "device", new,
               *[x.to("meta") for x in fresh(package)])
        raises(package, "dtype", new.double(), *fresh(package))
    _, new = pair(package)
    raises(package, "gradient", new, *fresh(package))
    raises(package, "gradient", package.op, *fresh(package), new.norm.weight,
           new.norm.bias)
    for parameter in new.parameters():
        parameter.requires_grad_(False)
    assert not new(*fresh(package)).requires_grad
    x, residual = fresh(package)
    raises(package, "gradient", new, x.requires_grad_(), residual)
    weights = [new.norm.weight, new.norm.bias]
    raises(package, "shape", package.op, residual[:3], residual, *weights)


def test_guards_fall_back(package):
    reference, new = pair(package, on_mismatch="fallback")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with torch.no_grad():
            for word, arguments in bad_calls(package)[:3]:
                if word == "dtype":
                    continue    # the reference refuses that as well
                assert torch.equal(reference(*arguments), new(*arguments))
        out = new(*fresh(package))
    assert out.requires_grad, "the reference would have a gradient"
    out.sum().backward()
    assert new.norm.bias.grad is not None
    assert "computed by the reference" in str(seen[0].message), seen


def test_the_environment_chooses_what_a_mismatch_does(package):
    os.environ["KFORGE_ON_MISMATCH"] = "fallback"
    try:
        _, new = pair(package)
    finally:
        del os.environ["KFORGE_ON_MISMATCH"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert new(*fresh(package)).requires_grad
    try:
        pair(package, on_mismatch="ignore")
    except ValueError as error:
        assert "fallback" in str(error)
    else:
        raise AssertionError("'ignore' was taken")


def test_other_constructor_arguments_are_a_mismatch(package):
    """They are constants of the program."""
    new = package.ModelNew(50)
    with torch.no_grad():
        raises(package, "other arguments", new, torch.randn(24, 50),
               torch.randn(24, 50))
    same = package.ModelNew(features=96)
    with torch.no_grad():
        same(*fresh(package))


def test_arguments_may_be_named(package):
    reference, new = pair(package)
    x, residual = fresh(package)
    with torch.no_grad():
        agree(reference(x, residual), new(residual=residual, x=x))


def test_a_mode_that_matters_is_guarded(package):
    _, new = pair(package)
    with torch.no_grad():
        new.eval()(*fresh(package))     # no part of it asks for the mode
    new.drop = torch.nn.Dropout(0.5)
    assert package.module._depends_on_mode(new)
    new._kforge_mode = True
    raises(package, "mode", new.eval(), *fresh(package))
    del new.norm.bias
    raises(package, "norm.bias", new.train(), *fresh(package))


# --- weights ------------------------------------------------------------------


def test_weights_that_change_are_seen(package):
    reference, new = pair(package)
    inputs = fresh(package)
    with torch.no_grad():
        new(*inputs)
        for model in (reference, new):
            model.norm.weight.mul_(3)           # in place
        agree(reference(*inputs), new(*inputs))
        for model in (reference, new):          # other memory
            model.norm.bias.data = torch.linspace(-1, 1, 96)
        agree(reference(*inputs), new(*inputs))
        for model in (reference, new):          # another parameter
            model.norm.bias = torch.nn.Parameter(torch.linspace(2, 3, 96))
        agree(reference(*inputs), new(*inputs))
        optimizers = [torch.optim.SGD(m.parameters(), lr=1)
                      for m in (reference, new)]
        for model, optimizer in zip((reference, new), optimizers):
            for parameter in model.parameters():
                parameter.grad = torch.full_like(parameter, 0.25)
            optimizer.step()
        agree(reference(*inputs), new(*inputs))
        new.norm.weight.data.fill_(0)           # not counted by PyTorch
        reference.norm.weight.data.fill_(0)
        new.refresh()
        agree(reference(*inputs), new(*inputs))
    with torch.inference_mode():
        agree(reference(*inputs), new(*inputs))
        _, other = pair(package)                # made where none are counted
        other.norm.weight.mul_(2)
        first = other(*inputs)
        other.norm.weight.mul_(2)
        assert not torch.equal(first, other(*inputs))


def test_many_models_share_the_library(package):
    program = package.module.PROGRAM
    inputs = fresh(package)
    models = [pair(package)[1] for _ in range(12)]
    with torch.no_grad():
        for i, model in enumerate(models):
            model.norm.bias.fill_(i)
            model.norm.weight.fill_(0)
        for _ in range(2):
            for i, model in enumerate(models):
                assert float(model(*inputs)[3, 3]) == i
    assert len(program._contexts) <= 8
    del models, model
    with torch.no_grad():
        pair(package)[1](*inputs)
    assert len(program._contexts) == 1, "weights that are gone are let go"


def test_copies_and_pickles_work(package):
    reference, new = pair(package)
    inputs = fresh(package)
    with torch.no_grad():
        want = reference(*inputs)
        agree(want, copy.deepcopy(new)(*inputs))
        agree(want, pickle.loads(pickle.dumps(new))(*inputs))


def test_two_threads_call_at_once(package):
    models = [pair(package) for _ in range(3)]
    for i, (reference, new) in enumerate(models):
        with torch.no_grad():
            reference.norm.bias.fill_(i)
            new.load_state_dict(reference.state_dict())
    gate = threading.Barrier(3)

    def work(i):
        reference, new = models[i]
        gate.wait()
        with torch.no_grad():
            for seed in range(40):
                torch.manual_seed(0)    # shared by threads: only shapes count
                x = torch.full((24, 96), float(seed)) + \
                    torch.arange(96.0) * (i + 1)
                agree(reference(x, x), new(x, x))
        return True

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        assert all(pool.map(work, range(3)))


# --- the operator -------------------------------------------------------------


def test_the_operator_has_a_schema_and_shapes_without_data(package):
    schema = str(package.op._schema)
    assert schema == ("kforge::layer_norm(Tensor x, Tensor residual, Tensor "
                      "norm_weight, Tensor norm_bias) -> Tensor"), schema
    assert torch.ops.kforge.layer_norm.default is package.op
    meta = [torch.empty(shape, device="meta")
            for shape in ((24, 96), (24, 96), (96,), (96,))]
    out = package.op(*meta)
    assert out.device.type == "meta" and tuple(out.shape) == (24, 96)
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
    with FakeTensorMode(), torch.no_grad():
        out = package.op(*[torch.empty(m.shape) for m in meta])
    assert isinstance(out, FakeTensor) and tuple(out.shape) == (24, 96)
    assert out.dtype == torch.float32


if hasattr(torch, "compile"):
    def test_it_compiles_where_pytorch_does(package):
        reference, new = pair(package)
        inputs = fresh(package)
        with torch.no_grad():
            compiled = torch.compile(new, fullgraph=True, backend="aot_eager")
            agree(reference(*inputs), compiled(*inputs))
            for model in (reference, new):
                model.norm.bias.add_(1)
            agree(reference(*inputs), compiled(*inputs))
        torch.library.opcheck(package.op, (*inputs, new.norm.weight.detach(),
                                           new.norm.bias.detach()))
        return None


def test_inputs_are_not_copied(package):
    """The program sees the tensors' own memory: a graph of calls on one
    buffer, refilled in place, needs no new tensor."""
    reference, new = pair(package)
    x, residual = [t.clone() for t in fresh(package)]
    with torch.no_grad():
        first = new(x, residual)
        x.copy_(fresh(package, seed=9)[0])
        agree(reference(x, residual), new(x, residual))
    assert first.data_ptr() % 256 == 0, "an output would have been copied"


# --- the package --------------------------------------------------------------


def test_one_source_file_for_kernelbench(package):
    """As its evaluator does: the text is run, ModelNew is taken from it."""
    path = pathlib.Path(package.__file__).parent / "kernelbench.py"
    scope = {}
    exec(compile(path.read_text(), "<string>", "exec"), scope)
    reference = package.module.reference
    torch.manual_seed(42)
    want = reference.Model(*reference.get_init_inputs())
    torch.manual_seed(42)
    new = scope["ModelNew"](*reference.get_init_inputs())
    for seed in range(3):
        inputs = fresh(package, seed)
        with torch.no_grad():
            agree(want(*inputs), new(*inputs))
    # It is timed with gradients on.
    assert torch.is_grad_enabled() and not new(*inputs).requires_grad


def test_one_source_file_takes_no_other_folder(package):
    """Another export has files of these names."""
    source = pathlib.Path(package.__file__).parent
    text = (source / "kernelbench.py").read_text()
    with tempfile.TemporaryDirectory() as scratch:
        other = pathlib.Path(scratch) / "other"
        subprocess.run(["cp", "-r", str(source), str(other)], check=True)
        manifest = other / "c" / "kforge-export.json"
        facts = json.loads(manifest.read_text())
        facts["program"] = "0" * 64
        manifest.write_text(json.dumps(facts))
        (other / "__init__.py").write_text("raise RuntimeError('this one')")
        (other / "kernelbench.py").write_text(text)
        scope = {"__file__": str(other / "kernelbench.py")}
        exec(compile(text, scope["__file__"], "exec"), scope)
        assert scope["ModelNew"]
        lost = text.replace(json.dumps(str(source.resolve())), '"/nowhere"')
        assert lost != text
        name = lost.split('name = "')[1].split('"')[0]
        sys.modules.pop(name)
        try:
            exec(compile(lost, scope["__file__"], "exec"), scope)
        except ImportError as why:
            assert "set KFORGE_EXPORT to its folder" in str(why), why
        else:
            raise AssertionError("another folder was taken")


def test_a_library_that_does_not_load_is_built_again(package):
    source = pathlib.Path(package.__file__).parent
    with tempfile.TemporaryDirectory() as scratch:
        moved = pathlib.Path(scratch) / "moved_layer_norm"
        subprocess.run(["cp", "-r", str(source), str(moved)], check=True)
        library = moved / "c" / package.FACTS["library"]
        library.write_bytes(b"of another machine")
        code = ("import sys; sys.path.insert(0, %r); import torch, "
                "moved_layer_norm as m; r = m.module.reference; "
                "x = r.get_inputs(); n = m.ModelNew(*r.get_init_inputs()); "
                "torch.set_grad_enabled(False); print(n(*x).shape)" % scratch)
        env = dict(os.environ, XDG_CACHE_HOME=scratch + "/cache")
        for _ in range(2):      # the second finds what the first has built
            done = subprocess.run([sys.executable, "-c", code], env=env,
                                  text=True, capture_output=True, timeout=200,
                                  check=False)
            assert "torch.Size([24, 96])" in done.stdout, done.stderr
            built = list(pathlib.Path(scratch).glob(
                "cache/kforge/exports/*/" + package.FACTS["library"]))
            assert len(built) == 1, built
        library.unlink()
        env["PATH"] = "/nowhere"
        env["XDG_CACHE_HOME"] = scratch + "/empty"
        done = subprocess.run([sys.executable, "-c", code], env=env,
                              text=True, capture_output=True, timeout=200,
                              check=False)
        assert "there is no make" in done.stderr, done.stderr


def main():
    only = sys.argv[1:]
    names = [n for n in PROBLEMS if not only or n in only]
    tests = [] if only else sorted(n for n in globals()
                                   if n.startswith("test_"))
    with tempfile.TemporaryDirectory(prefix="kforge-export-") as scratch, \
            concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(scratch)
        ready = {n: pool.submit(prepare, n, folder) for n in names}
        cases = [("%s agrees with its reference" % n, agreement,
                  (n, folder, ready[n])) for n in names]
        cases += [(n, lambda name: globals()[name](
            load(folder, "export_layer_norm")), (n,)) for n in tests]
        return run_cases(cases)


if __name__ == "__main__":
    sys.exit(main())
