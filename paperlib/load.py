"""Weights of anyone's recurrent network as a `Network` or `Gated`, and ablation in its own place.

Nothing is guessed: where names do not tell whether matrices multiply columns or rows, or which of
several layers is meant, the caller says so. No file is unpickled.
"""

import copy
import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import safetensors
import torch
from torch.nn.utils.parametrize import is_parametrized

from .ablation import ablate
from .artifacts import ArtifactError, load_solution
from .network import Solution
from .recurrent import (
    KINDS, PERMANENT, Gated, Network, as_weights, gate_rows, layer_weights, make_cell, weight_of,
)

__all__ = ["ARRAY_NAMES", "ablated", "load_network", "read_trials"]

MODULES = torch.nn.RNNBase | torch.nn.RNNCellBase
# Torch's names in a state dict, and those that stand for a weight that is computed from others.
TORCH = re.compile(r"(weight|bias)_(ih|hh|hr)(_l\d+)?(_reverse)?")
COMPUTED = re.compile(r"parametrizations\.|weight\w*_(orig|g|v)$")
# What plain arrays may be called: the paper's names first, then those of Keras and others.
ARRAY_NAMES = {
    "W_xh": ("W_xh", "W_ih", "W_in", "kernel"),
    "W_hh": ("W_hh", "W_rec", "recurrent_kernel"),
    "W_hy": ("W_hy", "W_out", "dense_kernel"),
    "b_h": ("b_h", "b_rec", "bias"),
    "b_y": ("b_y", "b_out", "dense_bias"),
    "h_0": ("h_0", "h0"),
}
CHECKPOINTS = ("state_dict", "model_state_dict", "model")  # what holds a state dict in one
KERAS = (
    "Of a Keras layer: kernel, recurrent_kernel, bias = layer.get_weights(), then "
    "numpy.savez(path, kernel=kernel, recurrent_kernel=recurrent_kernel, bias=bias, "
    "dense_kernel=…, dense_bias=…), and convention='row'."
)
BY_HAND = (
    "of a recurrence written by hand give the matrices, as in load_network({'W_xh': "
    "model.i2h.weight, 'W_hh': model.h2h.weight, 'b_h': model.h2h.bias, 'W_hy': …, 'b_y': …}, "
    "convention='column')"
)
ARRAYS = ("inputs", "targets", "mask", "h_0")  # of a file of trials
UNSURE = (
    "Weights do not say what the units are: they are taken for tanh. activation='relu' says "
    "otherwise.",
)
CONVENTIONS = (
    "convention='column' where the network computes W_hh @ h (PyTorch, MATLAB, the paper), "
    "convention='row' where it computes h @ W_hh (Keras, Flax and JAX kernels)"
)


def load_network(
    source, *, convention=None, readout=None, rnn=None, activation=None, gate=None, leak=1.0,
    leak_on="rate", h_0=None,
):
    """Read a trained network of one recurrent layer.

    Parameters
    ----------
    source : module, mapping or path
        A ``torch.nn`` RNN, GRU or LSTM, layer or cell, or a module that contains one; a state dict,
        also as "state_dict", "model_state_dict" or "model" of a checkpoint; a mapping of arrays,
        each by one of its names in `paperlib.ARRAY_NAMES`; a `Solution`; or a file: ``.pt`` or
        ``.pth``, ``.npz``, ``.safetensors``. Of a module only the recurrent layer and one linear
        readout are run: `paperlib.diagnose` warns where its ``forward`` gives something else.
    convention : {"column", "row"}, optional
        Whether matrices multiply column vectors, ``W_hh @ h``, or row vectors, ``h @ W_hh``.
        Needed where the names are not torch's; "row" transposes every matrix of the source. A wrong
        one is refused where shapes tell, by ``W_xh`` or ``W_hy``. Nothing tells where n_in =
        n_hidden and there is no readout or n_out = n_hidden too.
    readout : str, False, array of shape (n_out, n_hidden) or torch.nn.Linear, optional
        Which linear layer reads the outputs, by its name in source, or the readout itself, in the
        place of the source's matrix and bias; False for none. Needed where several could be meant.
    rnn : str, optional
        Which recurrent layer, by its name, where there are several; ``""`` is source itself.
    activation : {"tanh", "relu"}, optional
        Of the units; a module says it itself.
    gate : str, optional
        For a GRU or LSTM, of which gate the recurrent matrix is meant; see `paperlib.GATES`.
    leak, leak_on, h_0
        As for `Network`.

    Returns
    -------
    Network or Gated

    Raises
    ------
    ArtifactError
        If a file is missing, damaged, of another kind, or a pickle that would run code.
    TypeError, ValueError
        If the network is not of one layer and direction, an argument is missing or contradicts the
        source, or weights are not finite or do not fit each other.
    """
    if convention not in (None, "column", "row"):
        raise ValueError(f"convention must be 'column' or 'row', got {convention!r}: {CONVENTIONS}")
    options = {"leak": leak, "leak_on": leak_on, "h_0": h_0}
    if isinstance(source, (Network, Gated)):
        given = (convention, readout, rnn, activation, gate, h_0)
        if any(value is not None for value in given) or (leak, leak_on) != (1, "rate"):
            raise ValueError("source is a network already: further arguments are for weights")
        return source
    if isinstance(source, (str, Path)):
        source = _read(Path(source))
    if isinstance(source, torch.nn.Module):
        layer, name = _layer(source, rnn)
        activation = _activation(layer, activation)
        own = layer_weights(layer)[1]
        around = _around(source, name, layer.hidden_size)
        return _from_torch(own, *around, convention, readout, activation, gate, options)
    if isinstance(source, Solution):
        if convention == "row" or activation not in (None, "tanh"):
            wrong = f"convention={convention!r}, activation={activation!r}"
            raise ValueError(f"a Solution is of tanh units and of columns: leave out {wrong}")
        source = {name: getattr(source, name) for name in ("W_xh", "W_hh", "W_hy")}
        convention, activation = "column", "tanh"
    if not isinstance(source, Mapping):
        raise TypeError(
            "source must be a torch module, a mapping of weights or a path, got "
            f"{type(source).__name__}"
        )
    for key in CHECKPOINTS:
        if isinstance(source.get(key), Mapping):
            source = source[key]
    source = {str(key): value for key, value in source.items()}
    computed = next(filter(COMPUTED.search, source), None)
    if computed is not None:
        raise ValueError(
            f"source holds {computed}, of which a weight is made: give the module, or {PERMANENT}"
        )
    if any(key.rpartition(".")[2].startswith("weight_hh") for key in source):
        found = _from_state(source, rnn)
        return _from_torch(*found, convention, readout, activation, gate, options, UNSURE)
    return _from_arrays(source, convention, readout, rnn, activation, gate, options)


@contextmanager
def ablated(network, removed, alpha=0.9, *, rnn=None, gate=None):
    """The network without the named couplings, inside a ``with`` block.

    Parameters
    ----------
    network : torch.nn.Module, Network, Gated or Solution
        Of a module the recurrent matrix is replaced in place and put back bit for bit at the end,
        also after an exception; what an optimiser did to that matrix inside is undone by it.
    removed : str
        One of `paperlib.SUBSETS`.
    alpha : float in (0, 1]
    rnn, gate
        As for `load_network`; a `Gated` knows its gate.

    Yields
    ------
    Module, Network, Gated or Solution
        The module itself, or another network.

    Raises
    ------
    TypeError, ValueError
        As `load_network` and `paperlib.ablate`, and for a recurrent matrix that is parametrised.
    """
    if not isinstance(network, torch.nn.Module):
        if not isinstance(network, (Network, Gated, Solution)):
            raise TypeError(f"network must be a module or a network, got {type(network).__name__}")
        if rnn is not None or gate not in (None, getattr(network, "gate", None)):
            raise ValueError(f"rnn={rnn!r} and gate={gate!r} are for modules: leave them out")
        W_hh = ablate(network.W_hh, removed, alpha)
        yield network.replaced(W_hh) if isinstance(network, Gated) else replace(network, W_hh=W_hh)
        return
    layer = _layer(network, rnn)[0]
    rows = gate_rows(layer_weights(layer)[0], gate, layer.hidden_size)
    name = "weight_hh_l0" if isinstance(layer, torch.nn.RNNBase) else "weight_hh"
    if is_parametrized(layer, name):
        raise TypeError(
            f"{name} is parametrised: it cannot be replaced in place; ablate load_network(module)"
        )
    weight = weight_of(layer, name)
    W_hh = ablate(as_weights("W_hh", weight[rows], 2), removed, alpha)
    before = weight.detach().clone()
    try:
        with torch.no_grad():
            weight[rows] = torch.as_tensor(W_hh).to(weight)
        yield network
    finally:
        with torch.no_grad():
            weight.copy_(before)


def read_trials(path, time_first=False):
    """Arrays of a .npz by name, and the names that mean nothing here.

    Parameters
    ----------
    path : path
        With ``inputs`` (trial, time, channel) and, if there are any, targets, mask and h_0.
    time_first : bool
        Whether its arrays are (time, trial, channel).

    Returns
    -------
    arrays : dict of ndarray
        As `paperlib.diagnose` takes them; h_0 is for `load_network`.
    others : list of str
        Names of arrays that are not used.

    Raises
    ------
    ArtifactError
        If the file is missing, no .npz of plain arrays, or has no inputs.
    """
    try:
        # Opened here: numpy leaves a file that it cannot read open.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
            found = {name: stored[name] for name in stored.files if name in ARRAYS}
            others = sorted(set(stored.files) - set(found))
    except FileNotFoundError:
        raise ArtifactError(f"{path} does not exist") from None
    except (AttributeError, EOFError, OSError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise ArtifactError(
            f"{path} cannot be read as a .npz of plain arrays ({error}); write it with "
            "numpy.savez(path, inputs=…, targets=…)"
        ) from error
    if "inputs" not in found:
        raise ArtifactError(
            f"{path} has no array named inputs; it holds {', '.join(others) or 'nothing'}"
        )
    for name in ("inputs", "targets", "mask"):
        if time_first and name in found and found[name].ndim >= 2:
            found[name] = found[name].swapaxes(0, 1)
    return found, others


def forward_differs(module, network, inputs, n_trials=3):
    """What a module's own ``forward`` says against the network that was read from it, if anything.

    A copy in evaluation mode is run on a few trials, batch first and time first.
    """
    few, gaps, reasons = inputs[: n_trials + (n_trials == inputs.shape[1])], [], []
    ours = network.run(few)
    try:
        module = copy.deepcopy(module).eval()
        like = next(module.parameters())
    except (RuntimeError, StopIteration) as error:
        return f"The module's own forward could not be compared: {error}."
    same = {ours.shape: ours, ours.shape[1::-1] + ours.shape[2:]: ours.swapaxes(0, 1)}
    same |= {ours[:, -1].shape: ours[:, -1]}
    given = torch.as_tensor(np.ascontiguousarray(few)).to(like)
    for x in (given, given.swapaxes(0, 1)):
        try:
            with torch.no_grad(), torch.random.fork_rng(devices=[]):
                theirs = module(x)
        except Exception as error:  # whatever somebody's forward raises
            reasons.append(f"{type(error).__name__}: {error}".partition("\n")[0])
            continue
        theirs = theirs[0] if isinstance(theirs, tuple) else theirs
        if not isinstance(theirs, torch.Tensor) or tuple(theirs.shape) not in same:
            reasons.append(f"it gives {getattr(theirs, 'shape', type(theirs).__name__)}")
            continue
        known = same[tuple(theirs.shape)]
        scale = max(np.abs(known).max(), np.finfo(float).tiny)
        gaps.append(np.abs(theirs.cpu().double().numpy() - known).max() / scale)
    if not gaps:
        return f"The module's own forward could not be compared: {'; '.join(reasons)}."
    if min(gaps) <= 1e-3:
        return None
    return (
        "The recurrent layer and the linear readout alone, which are measured here, give other "
        f"outputs than the module's own forward, by up to {100 * min(gaps):.3g} % of the largest: "
        "something else acts on inputs or outputs. Outputs can be passed on by metric=, inputs "
        "can be given as they reach the layer."
    )


def _layer(module, rnn):
    """The recurrent layer of a module, and its name."""
    found = {k: m for k, m in module.named_modules() if isinstance(m, MODULES)}
    if not found:
        raise ValueError(f"source holds no torch.nn RNN, GRU or LSTM, layer or cell: {BY_HAND}")
    name = _chosen("rnn", rnn, found, "recurrent layer")
    return found[name], name


def _around(module, layer, n_hidden):
    """Names of what a module holds besides its recurrent layer, and what of it may read out."""
    linear = {k: m for k, m in module.named_modules() if isinstance(m, torch.nn.Linear)}
    inside = tuple(f"{name}." if name else "" for name in (layer, *linear))
    rest = {k for k, _ in module.named_parameters() if not k.startswith(inside)}
    rest |= {f"{k}.weight" for k in linear}
    rest |= {f"{k}.bias" for k, m in linear.items() if m.bias is not None}
    return rest, {k: m for k, m in linear.items() if m.in_features == n_hidden}


def _chosen(argument, wanted, found, what):
    """The key that is meant: the one there is, or the named one."""
    if wanted is not None and wanted not in found:
        raise ValueError(f"{argument}={wanted!r} is no {what} here; there is {_listed(found)}")
    if wanted is None and len(found) != 1:
        advice = f": say which by {argument}=" if found else ""
        raise ValueError(f"one {what} is needed, found {_listed(found)}{advice}")
    return next(iter(found)) if wanted is None else wanted


def _listed(names) -> str:
    return ", ".join(repr(name) for name in names) or "none"


def _activation(layer, activation):
    """Of a module's units; None for gates."""
    mode = {"RNN_TANH": "tanh", "RNN_RELU": "relu"}.get(getattr(layer, "mode", None))
    own = getattr(layer, "nonlinearity", mode)
    if own is not None and activation not in (None, own):
        raise ValueError(f"activation={activation!r}, but the module's units are {own}")
    return own or activation


def _from_state(source, rnn):
    """Of a state dict the recurrent layer's weights, the rest and what of it may read out."""
    cut = {key: key.rpartition(".")[::2] for key in source}
    cut = {key: (prefix, name) for key, (prefix, name) in cut.items() if TORCH.fullmatch(name)}
    prefixes = dict.fromkeys(p for p, name in cut.values() if name.startswith("weight_hh"))
    prefix = _chosen("rnn", rnn, prefixes, "recurrent layer")
    own = {key: name for key, (p, name) in cut.items() if p == prefix}
    for mark, why in (("_reverse", "is bidirectional"), ("_hr", "is projected"), ("_l[^0]", None)):
        name = next((name for name in own.values() if re.search(mark, name)), None)
        if name is not None:
            raise ValueError(
                f"{prefix or 'source'} {why or 'has several layers'} ({name}): the analysis is of "
                "one recurrent matrix" + ("; take one layer out" if why is None else "")
            )
    rest = source.keys() - own.keys()
    own = {
        name.removesuffix("_l0"): as_weights(name, source[key], 2 if "weight" in name else 1)
        for key, name in own.items()
    }
    if "weight_ih" not in own:
        raise ValueError(f"{prefix or 'source'} lacks weight_ih")
    height, n = own["weight_hh"].shape
    kind = KINDS.get(height / n)
    if kind is None:
        raise ValueError(
            f"weight_hh has shape ({height}, {n}): neither an RNN's nor a GRU's nor an LSTM's"
        )
    for name, value in own.items():
        if len(value) != height:
            raise ValueError(
                f"{name} has shape {value.shape}: beside a weight_hh of ({height}, {n}) its first "
                f"axis is {height}"
            )
    if kind != "RNN" and ("bias_ih" in own) != ("bias_hh" in own):
        raise ValueError(f"{prefix or 'source'} has one of bias_ih and bias_hh: a {kind} has both")
    linear = {
        key.removesuffix(".weight"): (source[key], source.get(key.removesuffix("weight") + "bias"))
        for key in sorted(rest)
        if key.endswith(".weight") and np.ndim(source[key]) == 2 and source[key].shape[1] == n
    }
    return own, rest, linear


def _from_torch(own, rest, linear, convention, readout, activation, gate, options, unsure=()):
    """A network of torch's weights; ``linear`` is what of the rest may be the readout."""
    if convention == "row":
        raise ValueError("convention='row', but torch's weights multiply columns: leave it out")
    height, n = own["weight_hh"].shape
    kind = KINDS[height // n]
    gate_rows(kind, gate, n)
    W_hy, b_y, name = _readout(readout, linear)
    remarks = _unused(rest - {f"{name}.weight", f"{name}.bias"})
    own = {k: as_weights(k, v, v.ndim) for k, v in own.items()}
    if kind == "RNN":
        biases = [own[k].astype(np.float64) for k in ("bias_ih", "bias_hh") if k in own]
        return Network(
            own["weight_ih"], own["weight_hh"], W_hy, sum(biases) if biases else None, b_y,
            activation=activation or "tanh", remarks=remarks + (() if activation else unsure),
            **options,
        )
    plain = (options["leak"], options["leak_on"]) == (1, "rate") and options["h_0"] is None
    if activation is not None or not plain:
        raise ValueError(f"activation, leak, leak_on and h_0 are for plain networks, not a {kind}")
    return Gated(make_cell(kind, own), gate, W_hy, b_y, remarks)


def _readout(readout, linear):
    """Matrix, bias and, if it is one of ``linear``, name of the readout."""
    name = None
    if readout is False or (readout is None and not linear):
        return None, None, name
    if readout is None or isinstance(readout, str):
        name = _chosen("readout", readout, linear, "linear readout")
        readout = linear[name]
    if isinstance(readout, torch.nn.Linear):
        readout = weight_of(readout, "weight"), readout.bias
    return (*(readout if isinstance(readout, tuple) else (readout, None)), name)


def _unused(keys) -> tuple[str, ...]:
    if not keys:
        return ()
    return (
        f"Not used of the source: {', '.join(sorted(keys))}. Inputs go straight into the recurrent "
        "layer, and outputs are those of the readout.",
    )


def _from_arrays(arrays, convention, readout, rnn, activation, gate, options):
    """A network of plain arrays."""
    if rnn is not None or gate is not None:
        raise ValueError(f"rnn={rnn!r}, gate={gate!r}: they are for torch's modules and weights")
    there = _listed(arrays)
    found = {
        ours: arrays.pop(next(name for name in theirs if name in arrays))
        for ours, theirs in ARRAY_NAMES.items() if any(name in arrays for name in theirs)
    }
    missing = [name for name in ("W_xh", "W_hh") if name not in found]
    if missing:
        names = "; ".join(f"{name}: {', '.join(ARRAY_NAMES[name])}" for name in ARRAY_NAMES)
        keras = any(re.fullmatch(r"arr_\d+|.*kernel.*", key) for key in arrays)
        raise ValueError(
            f"no {' and no '.join(missing)} in the source, which has {there}. Arrays go by these "
            f"names, of which the first two are needed: {names}.{f' {KERAS}' * keras}"
        )
    if convention is None:
        raise ValueError(f"these names do not tell which way the matrices work: say {CONVENTIONS}")
    if options["h_0"] is None:
        options["h_0"] = found.get("h_0")
    found.pop("h_0", None)
    found = {k: as_weights(k, v, 2 if k.startswith("W") else 1) for k, v in found.items()}
    turned = {k: v.T if v.ndim == 2 else v for k, v in found.items()}
    here, there = (found, turned) if convention == "column" else (turned, found)
    if _misfit(here) and not _misfit(there):
        name, other = _misfit(here), {"column": "row", "row": "column"}[convention]
        raise ValueError(
            f"{name} has shape {found[name].shape} beside a W_hh of {found['W_hh'].shape}: that "
            f"fits convention={other!r}, not {convention!r}"
        )
    if readout is not None:
        here["W_hy"], here["b_y"], _ = _readout(readout, {})
    remarks = _unused(arrays) + (() if activation else UNSURE)
    return Network(**here, activation=activation or "tanh", remarks=remarks, **options)


def _misfit(arrays) -> str | None:
    """The first matrix that does not fit W_hh."""
    n = len(arrays["W_hh"])
    axes = {"W_xh": 0, "W_hy": 1}
    return next((k for k, axis in axes.items() if k in arrays and arrays[k].shape[axis] != n), None)


def _read(path: Path):
    """Weights in a file, as a mapping or a `Solution`."""
    readers = {
        ".pt": _read_pt, ".pth": _read_pt, ".npz": _read_npz, ".safetensors": _read_safetensors,
    }
    if path.is_dir():
        raise ArtifactError(f"{path} is a folder, not a file")
    if path.suffix not in readers:
        raise ArtifactError(
            f"{path}: weights are read from {', '.join(readers)}, not from "
            + (path.suffix or "a file without suffix")
        )
    try:
        if path.stat().st_size == 0:
            raise ArtifactError(f"{path} is empty")
        return readers[path.suffix](path)
    except FileNotFoundError:
        raise ArtifactError(f"{path} does not exist") from None
    except PermissionError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}") from error
    except ArtifactError:
        raise
    except Exception as error:  # whatever a damaged file makes a reader raise
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ArtifactError(f"{path} is damaged or no {path.suffix} file ({reason})") from error


def _read_pt(path: Path):
    try:
        with warnings.catch_warnings(action="ignore"):  # of what is refused below
            loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ArtifactError(
            f"{path} is a pickle that holds more than weights, or is damaged; it is not opened, "
            "because that could run any code. Where you trust it, save the weights alone: "
            "torch.save(model.state_dict(), 'weights.pt')"
        ) from error
    if not isinstance(loaded, Mapping):
        raise ArtifactError(f"{path} holds a {type(loaded).__name__}, not a state dict")
    return loaded


def _read_npz(path: Path):
    # Opened here: numpy leaves a file that it cannot read open.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _read_safetensors(path: Path):
    with safetensors.safe_open(path, framework="pt") as file:
        if "paperlib" in (file.metadata() or {}):
            return load_solution(path)
        return {name: file.get_tensor(name) for name in file.keys()}
