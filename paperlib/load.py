"""Weights of anyone's recurrent network as a `Network` or `Gated`, and ablation in its own place.

Nothing is guessed: where names do not tell whether matrices multiply columns or rows, or which of
several layers is meant, the caller says so. No file is unpickled.
"""

import pickle
import warnings
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
from .recurrent import GATES, Gated, Network, as_weights, gate_rows

__all__ = ["ablated", "load_network"]

MODULES = torch.nn.RNNBase | torch.nn.RNNCellBase
HIDDEN = ("weight_hh_l0", "weight_hh")  # of a layer, of a cell
# What plain arrays are called: the paper's names first, then others', Keras' and Flax' among them.
NAMES = {
    "W_xh": ("W_xh", "W_ih", "W_in", "kernel"),
    "W_hh": ("W_hh", "W_rec", "recurrent_kernel"),
    "W_hy": ("W_hy", "W_out", "dense_kernel"),
    "b_h": ("b_h", "b_rec", "bias"),
    "b_y": ("b_y", "b_out", "dense_bias"),
    "h_0": ("h_0", "h0"),
}
UNSURE = (
    "Weights do not say what the units are: they are taken for tanh. activation='relu' says otherwise."
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
        A ``torch.nn`` RNN, GRU or LSTM, layer or cell, or a module that contains one; a state dict;
        a mapping of arrays named as in `NAMES`; a `Solution`; or a file: ``.pt`` or ``.pth`` (a
        state dict), ``.npz``, ``.safetensors``.
    convention : {"column", "row"}, optional
        Whether matrices multiply column vectors, ``W_hh @ h``, or row vectors, ``h @ W_hh``.
        Needed where the names are not torch's; "row" transposes every matrix. A wrong one is
        refused where shapes tell: a square ``W_xh`` and no readout do not.
    readout : str, False, array or torch.nn.Linear, optional
        Which linear layer reads the outputs, by its name in source, or the readout itself; False
        for none. Needed where several could be meant.
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
    if isinstance(source, (Network, Gated)):
        return source
    if convention not in (None, "column", "row"):
        raise ValueError(f"convention must be 'column' or 'row', got {convention!r}: {CONVENTIONS}")
    options = {"leak": leak, "leak_on": leak_on, "h_0": h_0}
    if isinstance(source, (str, Path)):
        source = _read(Path(source))
    if isinstance(source, torch.nn.Module):
        layer, name = _layer(source, rnn)
        activation = _activation(layer, activation)
        modules = {k: m for k, m in source.named_modules() if isinstance(m, torch.nn.Linear)}
        tensors = {f"{k}.{p}": v for k, m in modules.items() for p, v in m.named_parameters()}
        tensors |= {
            f"{name}.{k}".lstrip("."): getattr(layer, k)
            for k in dir(layer)
            if k.startswith(("weight_", "bias_")) and getattr(layer, k) is not None
        }
        return _from_torch(tensors, convention, readout, name, activation, gate, options, layer)
    if isinstance(source, Solution):
        source, convention = vars(source), convention or "column"
        source = {name: source[name] for name in ("W_xh", "W_hh", "W_hy")}
        activation = activation or "tanh"
    if not isinstance(source, Mapping):
        raise TypeError(
            f"source must be a torch module, a mapping of weights or a path, got {type(source).__name__}"
        )
    if any(str(key).rpartition(".")[2].startswith("weight_hh") for key in source):
        return _from_torch(dict(source), convention, readout, rnn, activation, gate, options)
    return _from_arrays(dict(source), convention, readout, rnn, activation, gate, options)


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
        W_hh = ablate(network.W_hh, removed, alpha)
        yield network.replaced(W_hh) if isinstance(network, Gated) else replace(network, W_hh=W_hh)
        return
    layer, _ = _layer(network, rnn)
    _check_gate(layer, gate)
    name = next(name for name in HIDDEN if hasattr(layer, name))
    if is_parametrized(layer, name):
        raise TypeError(f"{name} is parametrised: it cannot be replaced in place; load_network reads it")
    weight = getattr(layer, name)
    rows = slice(None) if gate is None else gate_rows(layer, gate)
    W_hh = ablate(as_weights("W_hh", weight[rows], 2), removed, alpha)
    before = weight.detach().clone()
    try:
        with torch.no_grad():
            weight[rows] = torch.as_tensor(W_hh).to(weight)
        yield network
    finally:
        with torch.no_grad():
            weight.copy_(before)


def _layer(module, rnn):
    """The recurrent layer of a module, and its name."""
    found = {k: m for k, m in module.named_modules() if isinstance(m, MODULES)}
    layer = found[_chosen("rnn", rnn, found, "recurrent layer")]
    name = next(k for k, m in found.items() if m is layer)
    kind = type(layer).__name__
    for attribute, usual, why in (
        ("num_layers", 1, "layers: the analysis is of one recurrent matrix; take one layer out"),
        ("bidirectional", False, "directions: it has two recurrent matrices that run apart"),
        ("proj_size", 0, "projected units: what returns is not the hidden state"),
    ):
        value = getattr(layer, attribute, usual)
        if value != usual:
            raise ValueError(f"{kind} has {attribute} = {value}, not {usual}: several {why}")
    return layer, name


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
    own = getattr(layer, "nonlinearity", None)
    if own is not None and activation not in (None, own):
        raise ValueError(f"activation={activation!r}, but the module's units are {own}")
    return own or activation


def _check_gate(layer, gate) -> None:
    gates = GATES.get(type(layer).__name__.removesuffix("Cell"))
    if gates is None and gate is not None:
        raise ValueError(f"gate={gate!r}: a {type(layer).__name__} has none")
    if gates is not None:
        gate_rows(layer, gate)


def _from_torch(tensors, convention, readout, rnn, activation, gate, options, layer=None):
    """A network of torch's names, as in a state dict."""
    if convention == "row":
        raise ValueError("convention='row', but torch's weights multiply columns: leave it out")
    cut = {key: key.rpartition(".") for key in map(str, tensors)}
    prefixes = list(dict.fromkeys(p for p, _, k in cut.values() if k.startswith("weight_hh")))
    prefix = _chosen("rnn", rnn, dict.fromkeys(prefixes), "recurrent layer")
    own = {k: tensors[key] for key, (p, _, k) in cut.items() if p == prefix and k.startswith(("weight_", "bias_"))}
    for name in own:
        for part, why in (("_reverse", "bidirectional"), ("_hr_", "projected")):
            if part in name:
                raise ValueError(f"{prefix or 'source'} is {why} ({name}): only one recurrent matrix is analysed")
        if name[-3:] not in ("_l0", "_ih", "_hh"):
            raise ValueError(
                f"{prefix or 'source'} has several layers ({name}): the analysis is of one "
                "recurrent matrix; take one layer out"
            )
    own = {
        k.removesuffix("_l0"): as_weights(k, v, 2 if k.startswith("weight") else 1)
        for k, v in own.items()
    }
    missing = [name for name in ("weight_ih", "weight_hh") if name not in own]
    if missing:
        raise ValueError(f"{prefix or 'source'} lacks {missing[0]}")
    height, n = own["weight_hh"].shape
    kinds = {1: "RNN", 3: "GRU", 4: "LSTM"}
    if height % n or height // n not in kinds:
        raise ValueError(f"weight_hh has shape ({height}, {n}): neither an RNN's nor a GRU's nor an LSTM's")
    kind = kinds[height // n]
    rest = {key: tensors[key] for key, (p, _, _) in cut.items() if p != prefix}
    W_hy, b_y, used = _readout(rest, readout, n)
    remarks = _unused(set(rest) - used)
    if kind != "RNN":
        if options["leak"] != 1 or options["h_0"] is not None:
            raise ValueError(f"leak and h_0 are for plain networks, this is a {kind}")
        cell = getattr(torch.nn, f"{kind}Cell")(own["weight_ih"].shape[1], n, bias="bias_ih" in own)
        cell.load_state_dict({k: torch.from_numpy(v) for k, v in own.items()})
        return Gated(cell, gate, W_hy, b_y, remarks)
    if gate is not None:
        raise ValueError(f"gate={gate!r}: a plain RNN has none")
    if activation is None and layer is None:
        remarks += (UNSURE,)
    biases = [own[k] for k in ("bias_ih", "bias_hh") if k in own]
    return Network(
        own["weight_ih"], own["weight_hh"], W_hy, sum(biases) if biases else None, b_y,
        activation=activation or "tanh", remarks=remarks, **options,
    )


def _readout(tensors, readout, n_hidden):
    """Matrix and bias of the readout, and the keys they came from."""
    if readout is False:
        return None, None, set()
    if isinstance(readout, torch.nn.Linear):
        return readout.weight, readout.bias, set()
    if readout is not None and not isinstance(readout, str):
        return readout, None, set()
    found = {
        key.rpartition(".")[0]: key for key, value in tensors.items()
        if key.endswith(".weight") and np.ndim(value) == 2 and value.shape[1] == n_hidden
    }
    if readout is None and not found:
        return None, None, set()
    name = _chosen("readout", readout, found, "linear readout")
    bias = f"{name}.bias"
    return tensors[found[name]], tensors.get(bias), {found[name], bias}


def _unused(keys) -> tuple[str, ...]:
    if not keys:
        return ()
    return (
        f"Not used of the source: {', '.join(sorted(keys))}. Inputs go straight into the recurrent "
        "layer, and outputs are those of the readout.",
    )


def _from_arrays(arrays, convention, readout, rnn, activation, gate, options):
    """A network of plain arrays."""
    for argument, value in {"rnn": rnn, "gate": gate}.items():
        if value is not None:
            raise ValueError(f"{argument}={value!r} is for torch modules and state dicts")
    there = _listed(arrays)
    found = {
        ours: arrays.pop(next(name for name in theirs if name in arrays))
        for ours, theirs in NAMES.items() if any(name in arrays for name in theirs)
    }
    for name in ("W_hh", "W_xh"):
        if name not in found:
            raise ValueError(
                f"no {name} in the source: it has {there}; name it one of "
                f"{', '.join(NAMES[name])}"
            )
    if readout is not None:
        found["W_hy"], bias, _ = _readout({}, readout, None)
        found["b_y"] = found.get("b_y") if bias is None else bias
        if found["W_hy"] is None:
            del found["W_hy"]
            found.pop("b_y")
    if convention is None:
        raise ValueError(f"these names do not tell which way the matrices work: say {CONVENTIONS}")
    if options["h_0"] is None:
        options["h_0"] = found.get("h_0")
    found.pop("h_0", None)
    found = {
        k: v if v is None else as_weights(k, v, 2 if k.startswith("W") else 1)
        for k, v in found.items()
    }
    turned = {k: v.T if v is not None and v.ndim == 2 else v for k, v in found.items()}
    other = {"column": "row", "row": "column"}[convention]
    here, turned = (found, turned) if convention == "column" else (turned, found)
    if not _fits(here) and _fits(turned):
        raise ValueError(
            f"W_xh has shape {found['W_xh'].shape} beside a W_hh of {found['W_hh'].shape}: that "
            f"fits convention={other!r}, not {convention!r}"
        )
    remarks = _unused(map(str, arrays)) if arrays else ()
    remarks += () if activation else (UNSURE,)
    return Network(**here, activation=activation or "tanh", remarks=remarks, **options)


def _fits(arrays) -> bool:
    n = arrays["W_hh"].shape[0]
    W_hy = arrays.get("W_hy")
    return arrays["W_xh"].shape[0] == n and (W_hy is None or W_hy.shape[1] == n)


def _read(path: Path):
    """Weights in a file, as a mapping or a `Solution`."""
    readers = {".pt": _read_pt, ".pth": _read_pt, ".npz": _read_npz, ".safetensors": _read_safetensors}
    if path.suffix not in readers:
        raise ArtifactError(
            f"{path}: weights are read from {', '.join(readers)}, not from {path.suffix or 'no suffix'!r}"
        )
    if path.is_dir():
        raise ArtifactError(f"{path} is a folder, not a file")
    try:
        if path.stat().st_size == 0:
            raise ArtifactError(f"{path} is empty")
        return readers[path.suffix](path)
    except FileNotFoundError:
        raise ArtifactError(f"{path} does not exist") from None
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
    for key in ("state_dict", "model_state_dict"):
        if isinstance(loaded, Mapping) and isinstance(loaded.get(key), Mapping):
            loaded = loaded[key]
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
