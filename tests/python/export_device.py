#!/usr/bin/env python3
"""kforge export --as torch for CUDA programs, as far as it can be shown without
a device: the kernels are NVRTC's, the driver is the stand-in, whose device
memory is the process's own, so that tensors are PyTorch's on the processor. What
a stream, a device guard and a graph are, tests/gpu/export asks of a device."""

import contextlib
import ctypes
import os
import pathlib
import shutil
import sys
import tempfile

try:
    import torch
except ImportError:
    print("1..0 # SKIP this Python has no torch")
    sys.exit(0)

from packages import BUILD, ROOT, agree, kforge, load, pair, raises, run_cases

STANDIN = str(BUILD / "tests" / "standin" / "libcuda.so.1")
SOURCES = ROOT / "tests" / "data" / "cuda" / "export"


class Stream:
    """A stream of the stand-in, in the place of PyTorch's current one."""

    def __init__(self):
        self.driver = ctypes.CDLL(STANDIN)
        context = ctypes.c_void_p()
        self.handle = ctypes.c_void_p()
        self.driver.standin_adopt()
        assert self.driver.cuInit(0) == 0
        assert self.driver.cuDevicePrimaryCtxRetain(
            ctypes.byref(context), 0) == 0
        assert self.driver.cuStreamCreate(ctypes.byref(self.handle), 1) == 0

    def wait(self, _device=None):
        assert self.driver.cuStreamSynchronize(self.handle) == 0

    def take(self, device):
        """The module device.py of a package works on it from here on. Each
        list is waited for: PyTorch's memory of the processor is another's as
        soon as it is given back, and that of a GPU in the stream's order."""
        replay = device._List.replay

        def replay_and_wait(*arguments):
            replay(*arguments)
            self.wait()

        device._List.replay = replay_and_wait
        device._stream = lambda _: self.handle.value
        device._guard = lambda _: contextlib.nullcontext()
        device._capturing = lambda: False
        device._wait = self.wait


def home(scratch):
    """kforge's data, with a reference that runs on the processor: there is no
    other device here."""
    folder = scratch / "home"
    folder.mkdir()
    for name in ("platforms", "prompts", "problems", "export", "include",
                 "LICENSE"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "python", folder / "python")
    place = folder / "python" / "kforge_reference" / "device.py"
    text = place.read_text()
    changed = text.replace("_device = torch.device(name)",
                           '_device = torch.device("cpu")', 1)
    assert changed != text
    place.write_text(changed)
    return folder


def export(scratch, name="mixed"):
    out = scratch / name
    status, words = kforge(
        "export", SOURCES / "mixed.py", SOURCES / "kernels.cu",
        SOURCES / "host.c", "-p", "cuda", "--as", "torch", "-o", out,
        env={"KFORGE_HOME": str(home(scratch)), "KFORGE_CUDA_DRIVER": STANDIN,
             "XDG_CACHE_HOME": str(scratch / "cache")})
    assert status == 0, words
    assert "Judged correct" in words, words
    for path in (out / "kforge-export.json", out / "kernelbench.py"):
        text = path.read_text()
        assert "{{" not in text and "{%" not in text, path
        changed = text.replace('"torch_device": "cuda"',
                               '"torch_device": "cpu"').replace(
            '\\"torch_device\\": \\"cuda\\"', '\\"torch_device\\": \\"cpu\\"')
        assert changed != text, path
        path.write_text(changed)
    return out


class World:
    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="kforge-python-")
        scratch = pathlib.Path(self._folder.name)
        os.environ["KFORGE_CUDA_DRIVER"] = STANDIN
        self.out = export(scratch)
        self.package = load(scratch, self.out.name)
        self.stream = Stream()
        self.stream.take(sys.modules[self.package.__name__ + ".device"])

    @staticmethod
    def call(model, *inputs):
        with torch.no_grad():
            return model(*inputs)


def inputs(seed=7):
    torch.manual_seed(seed)
    return [torch.randn(1003), torch.randn(1003)]


def test_the_module_agrees_with_its_reference(world):
    reference, model = pair(world.package)
    for seed in (1, 2, 3):
        x, y = inputs(seed)
        agree(reference(x, y), world.call(model, x, y))


def test_what_is_kept_is_made_again_when_weights_change(world):
    reference, model = pair(world.package)
    x, y = inputs()
    agree(reference(x, y), world.call(model, x, y))
    with torch.no_grad():
        for each in (reference, model):
            each.w.mul_(3)
    agree(reference(x, y), world.call(model, x, y))
    with torch.no_grad():
        for each in (reference, model):
            each.load_state_dict({"w": torch.arange(1003.0)})
    agree(reference(x, y), world.call(model, x, y))
    before = world.call(model, x, y)
    model.w.data[5] = 1e6       # nobody counts this
    assert torch.equal(before, world.call(model, x, y))
    model.refresh()
    assert not torch.equal(before, world.call(model, x, y))


def test_tensors_of_any_alignment_are_taken(world):
    reference, model = pair(world.package)
    x, y = (torch.randn(1004)[1:] for _ in range(2))
    assert x.data_ptr() % 64, "an aligned one shows nothing"
    agree(reference(x, y), world.call(model, x, y))


def test_what_it_was_not_made_for_is_refused(world):
    _, model = pair(world.package)
    x, y = inputs()
    raises(world.package, "not contiguous", model, x,
           torch.randn(2006)[::2])
    raises(world.package, "has dtype", model, x, y.double())
    raises(world.package, "no gradient", model, x, y)
    _, model = pair(world.package, on_mismatch="fallback")
    with torch.no_grad():
        assert model(x, y.double()).dtype == torch.float64


def test_a_fault_of_the_driver_is_a_sentence(world):
    _, model = pair(world.package)
    device = sys.modules[world.package.__name__ + ".device"]
    x, y = inputs()
    world.call(model, x, y)
    world.stream.driver.standin_fail(b"cuLaunchKernelEx", 0, 701)
    try:
        world.call(model, x, y)
    except RuntimeError as error:
        assert "mixed: CUDA cannot launch multiply: " in str(error), error
        assert "(701)" in str(error), error
    else:
        raise AssertionError("the fault was not seen")
    finally:
        world.stream.driver.standin_reset()
    device._capturing = lambda: True
    try:
        with torch.no_grad():
            model.w.add_(1)
        model.eval()
        world.call(model, x, y)
    except RuntimeError as error:
        assert "before capturing" in str(error), error
    else:
        raise AssertionError("weights were prepared in a capture")
    finally:
        device._capturing = lambda: False


def test_one_file_has_it_all(world):
    """As KernelBench's evaluator takes it: the text, without its folder."""
    text = (world.out / "kernelbench.py").read_text()
    context = {}
    for name in [n for n in sys.modules if n.startswith("kforge_export_")]:
        del sys.modules[name]
    exec(compile(text, "<string>", "exec"), context)
    name = context["ModelNew"].__bases__[0].__module__.rpartition(".")[0]
    assert not os.path.exists(os.path.dirname(
        sys.modules[name].__file__)), "the folder is still there"
    assert "__global__ void multiply" in text
    world.stream.take(sys.modules[name + ".device"])
    reference, _ = pair(world.package)
    torch.manual_seed(42)
    model = context["ModelNew"](*world.package.module.reference
                                .get_init_inputs())
    model.load_state_dict(reference.state_dict())
    x, y = inputs()
    agree(reference(x, y), world.call(model, x, y))


def why_not():
    """Why nothing here can be run, or None."""
    status, words = kforge("platforms", "--json",
                           env={"KFORGE_CUDA_DRIVER": STANDIN})
    return "no NVRTC here: set CUDA_HOME" \
        if status or "compiler: none" in words else None


def main():
    tests = [(name[5:].replace("_", " "), function)
             for name, function in globals().items()
             if name.startswith("test_")]
    why = why_not()
    if why:
        print("1..0 # SKIP " + why)
        return 0
    world = World()
    return run_cases([(title, function, (world,))
                      for title, function in tests])


if __name__ == "__main__":
    sys.exit(main())
