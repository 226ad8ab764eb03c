"""A problem file in the KernelBench form, loaded and made callable."""

import contextlib
import importlib.util
import inspect
import random
import sys
import tokenize

import torch

from . import device, tensors
from .failure import Refused, from_exception
from .state import State, slots

MODULE_NAME = "kforge_problem"
CAST_LINE = "# kforge: dtype "
BUILD_SEED = 42     # of the constructor, as KernelBench has it


def seed_all(seed):
    random.seed(seed)
    torch.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def prepare_torch(threads, device_name="cpu", repeatable=False):
    """Full precision, the candidates' number of threads, and the device.
    repeatable: as device.keep_repeatable has it."""
    torch.set_num_threads(threads)
    device.choose(device_name)
    device.keep_repeatable(repeatable)
    device.hold_precision()


def cast_of(path):
    """The type of a line `# kforge: dtype float16` of the file, in which the
    problem is to be run instead of its own types; or None."""
    with open(path, "rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT and token.start[1] == 0 and \
                    token.string.startswith(CAST_LINE):
                return tensors.BY_NAME[token.string[len(CAST_LINE):].strip()]
    return None


class Inputs:
    """What get_inputs() returned: its leaves in order, and how to put other
    leaves in their place."""

    def __init__(self, args, kwargs, parameter_names, dtype=None):
        self.leaves = []    # tensors, None, int, float, bool
        self._dtype = dtype  # of floating-point tensors; None: their own
        self.names = []
        self._args = []
        for i, value in enumerate(args):
            self._args.append(self._take(value, parameter_names(i)))
        self._kwargs = {key: self._take(value, key)
                        for key, value in kwargs.items()}

    def _take(self, value, name):
        if isinstance(value, (list, tuple)):
            parts = [self._take(item, "%s.%d" % (name, i))
                     for i, item in enumerate(value)]
            return (type(value), parts)
        if isinstance(value, dict):
            return (dict, [(key, self._take(item, "%s.%s" % (name, key)))
                           for key, item in value.items()])
        self.leaves.append(self._leaf(value, name))
        self.names.append(name)
        return len(self.leaves) - 1

    def _leaf(self, value, name):
        if isinstance(value, torch.Tensor):
            why = tensors.unusable(device.put(value))
            if why:
                raise Refused("unsupported", "input %s %s" % (name, why))
            if self._dtype and value.is_floating_point():
                value = value.to(self._dtype)
            return device.put(value.detach()).contiguous().clone()
        if value is None or isinstance(value, (bool, float)):
            return value
        if isinstance(value, int):
            if not -2**63 <= value < 2**63:
                raise Refused("unsupported", "input %s is an integer of more "
                              "than 64 bits" % name)
            return value
        raise Refused("unsupported", "input %s is a %s; tensors, numbers, "
                      "None, and lists, tuples and dicts of them are "
                      "supported" % (name, type(value).__name__))

    def build(self, leaves):
        """(args, kwargs) with these leaves."""
        return ([self._give(part, leaves) for part in self._args],
                {key: self._give(part, leaves)
                 for key, part in self._kwargs.items()})

    def _give(self, part, leaves):
        if isinstance(part, int):
            return leaves[part]
        kind, items = part
        if kind is dict:
            return {key: self._give(item, leaves) for key, item in items}
        built = [self._give(item, leaves) for item in items]
        if kind is list:
            return built
        return kind(*built) if hasattr(kind, "_fields") else tuple(built)

    def tensor_indices(self):
        """Places of tensors and Nones among the leaves: the contract's in[].
        """
        return [i for i, leaf in enumerate(self.leaves)
                if leaf is None or isinstance(leaf, torch.Tensor)]

    def scalars(self):
        """(name, value) of Python numbers, in order: the contract's scalar[].
        """
        return [(self.names[i], leaf) for i, leaf in enumerate(self.leaves)
                if leaf is not None and not isinstance(leaf, torch.Tensor)]

    def form(self):
        """What must be alike for every seed."""
        return [("tensor", leaf.dtype, tuple(leaf.shape))
                if isinstance(leaf, torch.Tensor) else ("value", leaf)
                for leaf in self.leaves]


class Problem:
    def __init__(self, path):
        self.path = path
        self._init = None
        with self._guard("loading the file"):
            spec = importlib.util.spec_from_file_location(MODULE_NAME, path)
            self.module = importlib.util.module_from_spec(spec)
            sys.modules[MODULE_NAME] = self.module
            seed_all(BUILD_SEED)
            spec.loader.exec_module(self.module)
            self.dtype = cast_of(path)
        if not inspect.isclass(getattr(self.module, "Model", None)) or \
                not issubclass(self.module.Model, torch.nn.Module):
            raise Refused("no_model", "%s defines no class Model derived "
                          "from torch.nn.Module" % self._name())
        if not callable(getattr(self.module, "get_inputs", None)):
            raise Refused("no_inputs", "%s defines no function get_inputs()"
                          % self._name())

    def _name(self):
        return self.path.rsplit("/", 1)[-1]

    @contextlib.contextmanager
    def _guard(self, what):
        """Around all that the file's own lines do: their faults are told as
        the file's, and what they set of torch ends with them."""
        device.hold_precision()
        try:
            yield
        except (Exception, SystemExit) as error:
            raise from_exception(what, self.path, error) from None
        finally:
            device.hold_precision()

    def init_arguments(self):
        """(args, kwargs) of the constructor."""
        with self._guard("get_init_inputs()"):
            seed_all(BUILD_SEED)
            get = getattr(self.module, "get_init_inputs", list)
            return self._split(get())

    def construct(self):
        """A new Model; the same one every time."""
        args, kwargs = self.init_arguments()
        with self._guard("Model()"), torch.no_grad():
            seed_all(BUILD_SEED)
            return device.put(self.module.Model(*args, **kwargs))

    @staticmethod
    def _split(given):
        """A list of arguments, a dict of named ones, or [list, dict]."""
        if isinstance(given, dict):
            return [], given
        if isinstance(given, (list, tuple)):
            if len(given) == 2 and isinstance(given[0], (list, tuple)) and \
                    isinstance(given[1], dict):
                return given[0], given[1]
            return given, {}
        return [given], {}

    def inputs(self, seed):
        with self._guard("get_inputs()"), torch.no_grad():
            seed_all(seed)
            given = self.module.get_inputs()
            if isinstance(given, dict):
                return Inputs([], given, str, self.dtype)
            if not isinstance(given, (list, tuple)):
                given = [given]
            return Inputs(given, {}, self._parameter_name, self.dtype)

    def _parameter_name(self, i):
        names = []
        with contextlib.suppress(ValueError, TypeError):
            names = list(inspect.signature(
                self.module.Model.forward).parameters.values())[1:]
        names = [p.name for p in names if p.kind in (
            p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return names[i] if i < len(names) else "in%d" % i

    def reference(self, dtype=None):
        return Reference(self, dtype)

    @contextlib.contextmanager
    def guard_forward(self):
        try:
            with self._guard("forward"):
                yield
        except Refused as refused:
            if self.dtype is None or "not implemented for" not in refused.text:
                raise
            raise Refused("unsupported", "PyTorch %s cannot run it in %s on "
                          "%s (%s); choose another --dtype"
                          % (torch.__version__, tensors.NAME[self.dtype],
                             device.name() or "the CPU",
                             refused.text)) from None


class Reference:
    """A Model that can be called again and again from its first state.

    dtype: cast all its floating-point tensors to this, after they were made;
    None: to the problem's, if it asks for one.
    """

    def __init__(self, problem, dtype=None):
        self._problem = problem
        self.module = problem.construct()
        for tensor in list(self.module.parameters()) + \
                list(self.module.buffers()):
            if torch.nn.parameter.is_lazy(tensor):
                raise Refused("unsupported", "the model has lazy parameters, "
                              "whose shapes are not known before a call")
        self.slots = slots(self.module)
        for slot in self.slots:
            why = tensors.unusable(slot.tensor)
            if why:
                raise Refused("unsupported", "weight %s %s" % (
                    slot.name, why))
        self.state = State(self.module, MODULE_NAME)
        if dtype is not None or problem.dtype is not None:
            self.state.cast(dtype or problem.dtype)
        self.state.save()

    def weights(self):
        """Copies of all weights as they are after restoring."""
        self.state.restore(everything=True)
        return [slot.tensor.detach().contiguous().clone()
                for slot in self.slots]

    def load(self, weights):
        for slot, value in zip(self.slots, weights):
            slot.tensor.data.copy_(value)

    def __call__(self, inputs, leaves, weights=None, seed=BUILD_SEED,
                 restore=True, keep=True):
        """Outputs as a list of contiguous tensors. keep: the leaves are used
        again, so forward, which may change them, gets copies."""
        if restore:
            self.state.restore(everything=True)
        if weights is not None:
            self.load(weights)
        fresh = [leaf.clone() if keep and isinstance(leaf, torch.Tensor)
                 else leaf for leaf in leaves]
        args, kwargs = inputs.build(fresh)
        with self._problem.guard_forward(), torch.no_grad():
            seed_all(seed)
            result = self.module(*args, **kwargs)
            device.settle()
        outputs = []
        _flatten_outputs(result, "the output", outputs)
        if not outputs:
            raise Refused("unsupported", "forward returns no tensor")
        return outputs


def _flatten_outputs(value, name, outputs):
    if isinstance(value, torch.Tensor):
        why = tensors.unusable(value)
        if why:
            raise Refused("unsupported", "%s of forward %s" % (name, why))
        outputs.append(value.detach().contiguous().clone())
    elif isinstance(value, (list, tuple)):
        for item in value:
            _flatten_outputs(item, name, outputs)
    elif isinstance(value, dict):
        for item in value.values():
            _flatten_outputs(item, name, outputs)
    elif value is not None:
        raise Refused("unsupported", "forward returns the type %s; tensors, and "
                      "lists, tuples and dicts of them are supported"
                      % type(value).__name__)
