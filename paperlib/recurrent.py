"""Networks that others trained: with biases, a leak, relu units or gates, run as they were trained.

The paper's network has none of these; `Solution` is that network. A `Network` or `Gated` holds what
`paperlib.load_network` read and only runs: nothing here is trained.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.utils.parametrize import is_parametrized

__all__ = ["GATES", "Gated", "Network"]

CHUNK_BYTES = 2**23  # of one chunk's states
ACTIVATIONS = {"tanh": torch.Tensor.tanh_, "relu": torch.Tensor.relu_}  # in place
# Rows of torch's stacked hidden-to-hidden matrix, by what the gate is called in the literature.
GATES = {
    "GRU": ("reset", "update", "candidate"),
    "LSTM": ("input", "forget", "candidate", "output"),
}
PERMANENT = (
    "make its weights permanent first (torch.nn.utils.parametrize.remove_parametrizations, "
    "torch.nn.utils.remove_weight_norm, torch.nn.utils.prune.remove)"
)
KINDS = {1: "RNN", 3: "GRU", 4: "LSTM"}  # by how many matrices are stacked


@dataclass(frozen=True, eq=False)
class Network:
    """One layer of recurrent units and, where there is one, a linear readout.

    With ``leak_on = "rate"``, ``h_t = (1 − a) h_{t−1} + a f(W_xh x_t + W_hh h_{t−1} + b_h)``; with
    ``"potential"``, ``v_t = (1 − a) v_{t−1} + a (W_xh x_t + W_hh f(v_{t−1}) + b_h)`` and
    ``h_t = f(v_t)``, both continuous-time equations in Euler's steps of ``a = Δt / τ``. Outputs are
    ``W_hy h_t + b_y``. The paper's network is ``a = 1``, f = tanh, no biases, ``h_0 = 0``.

    Attributes
    ----------
    W_xh : ndarray, shape (n_hidden, n_in)
    W_hh : ndarray, shape (n_hidden, n_hidden)
    W_hy : ndarray, shape (n_out, n_hidden), or None
        None: the outputs are the hidden states.
    b_h, h_0 : ndarray, shape (n_hidden,), or None
        None is zero; with ``leak_on = "potential"`` h_0 is the potential v_0.
    b_y : ndarray, shape (n_out,), or None
    activation : str
        ``"tanh"`` or ``"relu"``.
    leak : float in (0, 1]
    leak_on : str
        ``"rate"`` or ``"potential"``.
    remarks : tuple of str
        What whoever loaded the weights has to say of them.

    Raises
    ------
    TypeError, ValueError
        Weights that are not real floating-point arrays, not finite or do not fit each other; an
        unknown activation or leak.
    """

    W_xh: np.ndarray
    W_hh: np.ndarray
    W_hy: np.ndarray | None = None
    b_h: np.ndarray | None = None
    b_y: np.ndarray | None = None
    h_0: np.ndarray | None = None
    activation: str = "tanh"
    leak: float = 1.0
    leak_on: str = "rate"
    remarks: tuple[str, ...] = ()

    def __post_init__(self):
        shapes = {"W_xh": 2, "W_hh": 2, "W_hy": 2, "b_h": 1, "b_y": 1, "h_0": 1}
        for name, ndim in shapes.items():
            if getattr(self, name) is not None or name in ("W_xh", "W_hh"):
                object.__setattr__(self, name, as_weights(name, getattr(self, name), ndim))
        n = self.W_hh.shape[0]
        check_fit(
            vars(self), W_hh=(n, n), W_xh=(n, self.n_in), b_h=(n,), h_0=(n,),
            W_hy=(self.n_out, n), b_y=(self.n_out,),
        )
        if self.activation not in ACTIVATIONS:
            raise ValueError(
                f"activation must be one of {', '.join(ACTIVATIONS)}; got {self.activation!r}"
            )
        check_leak(self.leak, self.leak_on)

    n_hidden = property(lambda self: self.W_hh.shape[0])
    n_in = property(lambda self: self.W_xh.shape[1])
    n_out = property(lambda self: self.n_hidden if self.W_hy is None else self.W_hy.shape[0])

    @property
    def notes(self) -> tuple[str, ...]:
        """In what the network is not that of the paper, and the loader's remarks."""
        found = []
        if self.W_hy is not None and self.b_y is None and self.b_h is not None and self.b_h.any():
            found.append("Its units have biases but its readout has none (b_y): is that so?")
        if any(b is not None and b.any() for b in (self.b_h, self.b_y)):
            found.append("It has biases, which stay as they are: the paper's network has none.")
        if self.h_0 is not None and self.h_0.any():
            found.append("It starts from a state that is not zero: the paper's does not.")
        if self.leak != 1:
            found.append(
                f"It leaks (a = {self.leak:g}, on the {self.leak_on}): its Jacobian is not W_hh "
                "but a mixture with the identity, of the same Schur vectors and couplings, while "
                "the order by modulus and the threshold are those of W_hh alone."
            )
        if self.activation == "relu":
            found.append("Its units are relu: they have no symmetry under a change of sign.")
        if self.W_hy is None:
            found.append("It has no readout: its hidden states are taken as outputs.")
        return (*found, *self.remarks)

    def __repr__(self):
        return (
            f"<Network: {self.n_in} inputs, {self.n_hidden} {self.activation} units, {self.n_out} "
            f"outputs{'' if self.leak == 1 else f', leak {self.leak:g} on the {self.leak_on}'}>"
        )

    def run(self, inputs, W_hh=None) -> np.ndarray:
        """Outputs on trials, another recurrent matrix in the place of its own if one is given.

        Parameters
        ----------
        inputs : array_like, shape (trial, time, n_in)
        W_hh : array_like, shape (n_hidden, n_hidden), optional

        Returns
        -------
        ndarray, shape (trial, time, n_out), float64

        Raises
        ------
        ValueError
            Inputs that are empty, not finite or of other channels, or a matrix that does not fit.
        """
        inputs = as_inputs(inputs, self.n_in)
        W, W_xh = _double(as_recurrent(W_hh, self.W_hh)).T, _double(self.W_xh).T
        zero = np.zeros(self.n_hidden)
        b_h, h_0 = (_double(zero if b is None else b) for b in (self.b_h, self.h_0))
        f, a, potential = ACTIVATIONS[self.activation], self.leak, self.leak_on == "potential"
        read = _reader(self.W_hy, self.b_y)
        outputs = np.empty((*inputs.shape[:2], self.n_out))
        for rows in chunks(len(inputs), self.n_hidden):
            state = h_0.repeat(len(inputs[rows]), 1)
            spare, h = torch.empty_like(state), f(state.clone()) if potential else state
            for t in range(inputs.shape[1]):
                new = torch.addmm(b_h, _double(inputs[rows, t]), W_xh, out=spare).addmm_(h, W)
                new = new if potential else f(new)
                if a == 1:  # lerp_ would make NaN of inf
                    state, spare = new, state
                else:
                    state.lerp_(new, a)
                h = f(h.copy_(state)) if potential else state
                outputs[rows, t] = read(h)
        return outputs


class Gated:
    """A GRU or LSTM of torch, of which one gate's recurrent matrix can be ablated.

    The paper is about plain networks: what a coupling of one gate means is beyond it.

    Parameters
    ----------
    module : torch.nn.GRU, GRUCell, LSTM or LSTMCell
        One layer, one direction, no projection. It is copied and not touched.
    gate : str
        Of `GATES`.
    W_hy : ndarray, shape (n_out, n_hidden), optional
    b_y : ndarray, shape (n_out,), optional
    remarks : tuple of str

    Raises
    ------
    TypeError, ValueError
        As `Network`, or an unknown gate.
    """

    def __init__(self, module, gate, W_hy=None, b_y=None, remarks=()):
        self.kind, own = layer_weights(module)
        self.gate, self.rows = gate, gate_rows(self.kind, gate, module.hidden_size)
        own = {name: as_weights(name, value, value.ndim) for name, value in own.items()}
        self.n_hidden, self.n_in = module.hidden_size, module.input_size
        self._cell = make_cell(self.kind, {k: v.astype(np.float64) for k, v in own.items()})
        self.W_hh = own["weight_hh"][self.rows]
        self.W_hy = None if W_hy is None else as_weights("W_hy", W_hy, 2)
        self.b_y = None if b_y is None else as_weights("b_y", b_y, 1)
        self.n_out = self.n_hidden if self.W_hy is None else self.W_hy.shape[0]
        check_fit(vars(self), W_hy=(self.n_out, self.n_hidden), b_y=(self.n_out,))
        self.remarks = tuple(remarks)
        self.notes = (
            f"Beyond the paper: W_hh is that of the gate {gate!r} of a {self.kind}. Its "
            "eigenvalues alone say little of the dynamics, and the other gates stay as they are.",
            *remarks,
        )

    def __repr__(self):
        return (
            f"<Gated: {self.n_in} inputs, {self.kind} of {self.n_hidden} units, gate {self.gate}, "
            f"{self.n_out} outputs>"
        )

    def replaced(self, W_hh) -> "Gated":
        """The same network with another matrix of its gate."""
        other = copy.copy(self)
        other.W_hh = as_recurrent(W_hh, self.W_hh)
        return other

    def run(self, inputs, W_hh=None) -> np.ndarray:
        """Outputs on trials, as `Network.run`."""
        inputs = as_inputs(inputs, self.n_in)
        cell, read = copy.deepcopy(self._cell), _reader(self.W_hy, self.b_y)
        cell.weight_hh[self.rows] = _double(as_recurrent(W_hh, self.W_hh))
        outputs = np.empty((*inputs.shape[:2], self.n_out))
        for rows in chunks(len(inputs), 4 * self.n_hidden):
            state = None
            for t in range(inputs.shape[1]):
                state = cell(_double(inputs[rows, t]), state)
                outputs[rows, t] = read(state[0] if self.kind == "LSTM" else state)
        return outputs


def gate_rows(kind, gate, n_hidden) -> slice:
    """Rows of a gate in the stacked ``weight_hh``; all of a plain RNN's, which has no gate."""
    if kind == "RNN":
        if gate is not None:
            raise ValueError(f"gate={gate!r}: a plain RNN has none")
        return slice(None)
    if gate not in GATES[kind]:
        raise ValueError(
            f"gate must name the matrix of the {kind} to ablate, one of "
            f"{', '.join(GATES[kind])}; got {gate!r}"
        )
    start = GATES[kind].index(gate) * n_hidden
    return slice(start, start + n_hidden)


def layer_weights(layer) -> tuple[str, dict]:
    """Kind and weights of torch's RNN, GRU or LSTM, layer or cell, of one layer and direction."""
    if not isinstance(layer, torch.nn.RNNBase | torch.nn.RNNCellBase):
        raise TypeError(f"module must be an RNN, GRU or LSTM, got {type(layer).__name__}")
    for attribute, usual, why in (
        ("num_layers", 1, "the analysis is of one recurrent matrix; take one layer out"),
        ("bidirectional", False, "it has two recurrent matrices that run apart"),
        ("proj_size", 0, "what returns is projected, not the hidden state"),
    ):
        value = getattr(layer, attribute, usual)
        if value != usual:
            raise ValueError(f"{type(layer).__name__} has {attribute} = {value}: {why}")
    end = "_l0" if isinstance(layer, torch.nn.RNNBase) else ""
    names = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if layer.bias else [])]
    own = {name: weight_of(layer, name + end) for name in names}
    return KINDS[len(own["weight_hh"]) // layer.hidden_size], own


def weight_of(module, name) -> torch.Tensor:
    """A module's weight, unless a hook computes it: read it is stale, replaced it is undone."""
    if is_parametrized(module, name):
        module = copy.deepcopy(module).eval()  # to read one may change its buffers
    weight = getattr(module, name)
    if not isinstance(weight, torch.nn.Parameter) and not is_parametrized(module, name):
        raise TypeError(f"{name} is no parameter: a hook computes it at each call; {PERMANENT}")
    return weight


def make_cell(kind, weights) -> torch.nn.Module:
    """A cell with arrays as its weights; on "meta" as torch's random numbers are the caller's."""
    cell = getattr(torch.nn, f"{kind}Cell")(
        weights["weight_ih"].shape[1], weights["weight_hh"].shape[1], bias="bias_ih" in weights,
        device="meta",
    )
    cell.load_state_dict({k: torch.from_numpy(v) for k, v in weights.items()}, assign=True)
    return cell.requires_grad_(False)


def _double(array) -> torch.Tensor:
    """A copy in double precision, which torch can take also where the array is read-only."""
    return torch.from_numpy(np.array(array, dtype=np.float64))


def _reader(W_hy, b_y) -> Callable:
    """Outputs of hidden states, shape (trial, n_out)."""
    if W_hy is None:
        return lambda h: h.numpy()
    W, b = _double(W_hy).T, _double(np.zeros(len(W_hy)) if b_y is None else b_y)
    return lambda h: torch.addmm(b, h, W).numpy()


def chunks(n_trials: int, n_hidden: int):
    """Slices of trials whose states take about `CHUNK_BYTES`."""
    size = max(1, CHUNK_BYTES // (8 * n_hidden))
    return [slice(start, start + size) for start in range(0, n_trials, size)]


def check_fit(weights, **shapes) -> None:
    """Refuse weights that do not fit each other, and a bias of no readout."""
    if weights["W_hy"] is None and weights["b_y"] is not None:
        raise ValueError("b_y is the bias of a readout, but there is no W_hy: leave it out")
    for name, shape in shapes.items():
        if weights[name] is not None and weights[name].shape != shape:
            raise ValueError(
                f"{name} must have shape {shape} to fit the other weights, got "
                f"{weights[name].shape}"
            )


def check_leak(leak, leak_on) -> None:
    """Refuse a leak that is none."""
    real = isinstance(leak, (int, float, np.number)) and not isinstance(leak, bool)
    if not (real and 0 < leak <= 1):
        raise ValueError(f"leak must be in (0, 1], Δt / τ of one step, got {leak!r}")
    if leak_on not in ("rate", "potential"):
        raise ValueError(f"leak_on must be 'rate' or 'potential', got {leak_on!r}")


def as_weights(name: str, value, ndim: int) -> np.ndarray:
    """Weights as a float32 or float64 array of their own, checked.

    Raises
    ------
    TypeError
        If they are no array of single or double precision.
    ValueError
        If they have other axes, are empty or are not finite.
    """
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_quantized:
            raise TypeError(f"{name} is sparse or quantised: make it a dense float array first")
        if value.dtype not in (torch.float32, torch.float64):  # numpy has not all of the others
            dtype = str(value.dtype).removeprefix("torch.")
            raise TypeError(f"{name} has dtype {dtype}: cast it to float32 or float64 first")
        value = value.detach().cpu().numpy()
    try:
        array = np.array(value)
    except ValueError as error:
        raise TypeError(f"{name} is no array: {error}") from error
    if array.dtype not in (np.float32, np.float64):
        raise TypeError(f"{name} has dtype {array.dtype}: cast it to float32 or float64 first")
    if array.ndim != ndim or array.size == 0:
        raise ValueError(f"{name} must have {ndim} axes and not be empty, got shape {array.shape}")
    if not np.isfinite(array).all():
        bad = int((~np.isfinite(array)).sum())
        raise ValueError(f"{name} holds {bad} numbers that are NaN or infinite, of {array.size}")
    return array


def as_recurrent(W_hh, own: np.ndarray) -> np.ndarray:
    """Another recurrent matrix, checked, or the own one."""
    W = own if W_hh is None else as_weights("W_hh", W_hh, 2)
    if W.shape != own.shape:
        raise ValueError(f"W_hh must have shape {own.shape} as the network's own, got {W.shape}")
    return W


def as_inputs(inputs, n_in: int) -> np.ndarray:
    """Inputs as an array (trial, time, n_in) of real numbers, checked.

    Raises
    ------
    TypeError, ValueError
        If they are not numbers, not finite, empty or of other axes or channels.
    """
    if isinstance(inputs, torch.Tensor):
        inputs = inputs.detach().cpu().numpy()
    inputs = np.asarray(inputs)
    if inputs.dtype.kind not in "fiub":
        raise TypeError(f"inputs must be real numbers, got dtype {inputs.dtype}")
    if inputs.ndim != 3 or inputs.size == 0:
        raise ValueError(
            f"inputs must have axes (trial, time, channel) and not be empty, got shape "
            f"{inputs.shape}"
        )
    if inputs.shape[2] != n_in:
        hint = ""
        if n_in in inputs.shape:
            hint = f" (axis {inputs.shape.index(n_in)} has {n_in}: move it last)"
        raise ValueError(f"inputs have {inputs.shape[2]} channels, the network takes {n_in}{hint}")
    if not np.isfinite([inputs.min(), inputs.max()]).all():  # no temporary as large as inputs
        raise ValueError("inputs hold numbers that are NaN or infinite")
    return inputs
