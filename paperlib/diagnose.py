"""One network's ablation profile: what it loses without each coupling block, and beside what.

The damage of a block stands beside that of other orders inside the sectors (`Sectors.shuffled`)
and of random removals of the same size (`paperlib.controls`), because either can be as large.
"""

import json
import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from . import _diagnosis_page as page
from . import metrics
from .ablation import ORDERED
from .artifacts import write_atomically
from .controls import CONTROLS
from .report import number, plain_label
from .schur import SUBSETS, SchurError, Sectors, check_alpha, ordered_schur
from .training import check_counts, check_seeds, is_number

__all__ = ["Diagnosis", "diagnose"]

BLOCKS = page.BLOCKS
FACTS = ("unablated", "empty", "changes nothing")  # readings that judge no change
FEW_TRIALS = 30
NEAR = 0.01  # a threshold closer than this share of ρ to a modulus is called close
_TABLE = ("removed", "kind", "draw", "quantity", "value")


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What `diagnose` found.

    Attributes
    ----------
    table : DataFrame
        Tidy, columns removed, kind, draw, quantity, value. Kind ``"block"`` is the ablation
        itself: on all trials where draw is missing, on the first `draw_trials` where it is 0.
        The other kinds (``"order"`` and the names of `paperlib.controls.CONTROLS`) have draws
        1, 2, … on those trials. Quantities: the measure (fvu, discrepancy or metric), change
        (the measure minus its value unablated, on the same trials), removed_mass and, where they
        are defined, s_dt (fvu on all trials only) and replay_accuracy.
    summary : DataFrame
        One row per subset: removed, the measure, change, removed_mass; change_drawn, the change
        on the first `draw_trials` trials, beside which the next stand; order_low and order_high,
        ends of the change over random orders; control_median, of the change over all controls;
        control_share, the share of controls that change the measure at least as much, in either
        direction; reading, the same in words.
    sectors : DataFrame
        Columns alpha, n_R, n_C, alpha_gap, mass_RR, mass_CR, mass_CC.
    warnings, notes : tuple of str
        What makes these numbers doubtful; what of the network differs from the paper's setting.
    meta : dict
        Settings, shapes, versions. Plain JSON types.
    split : Sectors
        The network's sectors at alpha.
    """

    table: pd.DataFrame
    summary: pd.DataFrame
    sectors: pd.DataFrame
    warnings: tuple
    notes: tuple
    meta: dict
    split: Sectors = field(repr=False)

    @property
    def alt(self):
        """What `figure` shows, in words."""
        return page.alt(self)

    def figure(self, columns=2):
        """Spectrum, Schur form, change by subset, and n_R over alpha.

        Parameters
        ----------
        columns : 1 or 2
            Panels side by side.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return page.figure(self, columns)

    def save(self, out):
        """Write diagnosis.csv, .png, .json and a self-contained report.html into a folder.

        Parameters
        ----------
        out : str or Path

        Returns
        -------
        Path
            Of the report.

        Raises
        ------
        ArtifactError
            If a file cannot be written.
        """
        out = Path(out)
        wide = page.png(self)
        record = {**self.meta, "warnings": self.warnings, "notes": self.notes}
        contents = {
            "diagnosis.csv": self.table.to_csv(
                index=False, float_format="%.17g", lineterminator="\n"
            ),
            "diagnosis.png": wide,
            "diagnosis.json": json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False),
            "report.html": page.document(self, wide),
        }
        for name, content in contents.items():
            with write_atomically(out / name) as temporary:
                data = content if isinstance(content, bytes) else content.encode()
                temporary.write_bytes(data)
        return out / "report.html"

    def text(self):
        """The summary as an aligned table, then warnings and notes."""
        return page.text(self)

    def __repr__(self):
        meta = self.meta
        return (
            f"<Diagnosis: {page.measure_label(meta)} of a network of {meta['n_hidden']} units on "
            f"{meta['trials']} trials, n_R = {meta['n_R']} at alpha = {meta['alpha']:g}, "
            f"{len(self.warnings)} warnings; see summary, text(), figure(), save()>"
        )

    def _repr_html_(self):
        return page.body(self)


def diagnose(
    network, inputs, targets=None, mask=None, *, metric=None, alpha=0.9, alphas=None, orders=20,
    controls=20, draw_trials=512, seed=0, progress=False, **loading,
):
    """Measure a network under every subset of removed couplings, other orders and controls.

    Parameters
    ----------
    network : Network, Gated, or anything that `paperlib.load_network` takes
        With ``W_hh`` and ``run(inputs, W_hh=None)``; see `paperlib.load`. What is measured of a
        torch module is its recurrent layer and its readout; a warning says where its ``forward``
        gives something else.
    inputs : array or tensor, shape (trial, time, n_in)
        Orders and controls are measured on the first `draw_trials` trials: shuffle trials that
        are sorted by condition.
    targets : array or tensor, shape (trial, time, n_out), optional
        The last axis may be left out where there is one output.
        The measure is then the FVU (`paperlib.fvu`) and, for targets of −1 and +1, the replay
        accuracy is reported beside it. Without targets or metric it is the discrepancy: the FVU
        with the unablated network's outputs as targets, the d of the paper's ε-stabilisers.
    mask : array of 0 and 1, optional
        Entries that count, shape (trial, time) or broadcastable to the outputs.
    metric : callable, optional
        ``metric(outputs) -> float`` in place of targets; outputs are those of all trials or of
        the first `draw_trials`, shape (trial, time, n_out). Whether higher is better is not
        assumed: only changes are shown.
    alpha : float in (0, 1]
        Threshold of the leading sector, ``|λ| ≥ α ρ(W_hh)``.
    alphas : sequence of float in (0, 1], optional
        At which sectors are listed; 0.50, 0.51, … 0.99 by default, alpha always among them.
    orders, controls : int
        Random orders; draws of each control and block. 0 draws none.
    draw_trials : int
        Trials on which they are measured.
    seed : int
        Of orders and controls.
    progress : bool
        Show a bar.
    **loading
        Options of `paperlib.load_network`, as ``gate=`` and ``readout=``, where it is called.

    Returns
    -------
    Diagnosis

    Raises
    ------
    TypeError, ValueError
        Arguments that do not fit, outputs of the unablated network that are not finite, a measure
        that is not defined, a metric that fails. The message names the argument.
    SchurError
        As `paperlib.ordered_schur`.

    Notes
    -----
    A subset that holds no more mass than rounding of the stored weights has no orders and no
    controls. Outputs of an ablated network that are not finite give inf or NaN and a warning.
    """
    alpha = check_alpha(alpha)
    alphas = np.round(np.arange(0.5, 0.995, 0.01), 2) if alphas is None else np.ravel(alphas)
    alphas = sorted({alpha, *(check_alpha(value) for value in np.asarray(alphas).tolist())})
    # None of one is a wish; anything else that is no count is an error.
    drawn = {"orders": orders, "controls": controls}
    check_counts(**{k: v for k, v in drawn.items() if v is False or v != 0})
    orders, controls = map(int, drawn.values())
    (draw_trials,) = check_counts(draw_trials=draw_trials)
    (seed,) = check_seeds([seed])
    if metric is not None and not callable(metric):
        raise TypeError(f"metric must be a function of outputs, got {metric!r}")
    if metric is not None and (targets is not None or mask is not None):
        raise ValueError("metric takes the place of targets and mask: give one or the other")
    source = network
    if not (hasattr(network, "run") and hasattr(network, "W_hh")):
        from .load import load_network

        network = load_network(source, **loading)
    elif loading:
        raise TypeError(
            f"{', '.join(loading)}: no option of diagnose, and the network is loaded already; give "
            "options of load_network to it"
        )
    inputs = _inputs(inputs, network)
    split = ordered_schur(network.W_hh).sectors(alpha)

    base = np.asarray(network.run(inputs))
    bad = np.argwhere(~np.isfinite(base))
    if len(bad):
        raise ValueError(
            f"network: its outputs on these inputs are not finite (first at trial {bad[0][0]}, "
            f"step {bad[0][1]}); check its weights and the scale of inputs"
        )
    n_draw = min(draw_trials, len(inputs))
    measure, score = _measure(network, base, targets, mask, metric, n_draw)
    # On the trials of the draws first, so that a metric that only takes all trials fails at once.
    # Copied, as a metric may write into what it is given.
    before = {n: score(base[:n].copy(), "the unablated network") for n in (n_draw, len(inputs))}
    rows, broken, floor = [], {}, split.coordinates.mass_floor

    def add(removed, kind, draw, mass, values):
        with np.errstate(invalid="ignore"):
            change = values[measure] - before[len(inputs) if draw is None else n_draw][measure]
        values = {**values, "change": change, "removed_mass": mass}
        if measure == "fvu" and draw is None:
            values["s_dt"] = metrics.s_dt(change, mass, floor)
        rows.extend((removed, kind, draw, *item) for item in values.items())

    add("none", "block", None, 0.0, before[len(inputs)])
    add("none", "block", 0, 0.0, before[n_draw])
    plan = _Plan(split, orders, controls, seed)
    for removed, kind, draw, mass, W in tqdm(plan, desc="ablating", disable=not progress):
        what = f"the network without {removed}" + (f", {kind} {draw}" if draw else "")
        outputs = np.asarray(network.run(inputs if draw is None else inputs[:n_draw], W))
        values = score(outputs, what)
        broken[removed] = broken.get(removed, 0) + (not np.isfinite(values[measure]))
        add(removed, kind, draw, mass, values)

    table = pd.DataFrame(rows, columns=_TABLE).astype({"draw": "Int64", "value": float})
    summary = _summary(table, measure, split)
    sectors = pd.DataFrame([
        (s.alpha, s.n_R, s.coordinates.n - s.n_R, s.alpha_gap, *map(s.removed_mass, BLOCKS))
        for s in map(split.coordinates.sectors, alphas)
    ], columns=("alpha", "n_R", "n_C", "alpha_gap", *(f"mass_{b}" for b in BLOCKS)))
    packages = ("paperlib", "numpy", "scipy", "pandas", "torch")
    meta = {
        "measure": measure, "metric": _name_of(metric), "alpha": alpha, "orders": orders,
        "controls": controls, "draw_trials": n_draw, "seed": seed, "trials": len(inputs), "steps": inputs.shape[1],
        "n_in": inputs.shape[2], "n_hidden": split.coordinates.n, "n_out": base.shape[2],
        "network": type(network).__name__, "W_hh_precision": split.coordinates.precision,
        "n_R": split.n_R, "alpha_gap": split.alpha_gap,
        "spectral_radius": split.coordinates.spectral_radius,
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
    }
    remarks = tuple(getattr(network, "remarks", ()))
    warnings = [
        *remarks, *_about_the_module(source, network, inputs), *_about_the_spectrum(split),
        *_about_the_numbers(table, summary, meta, broken), *plan.failed,
    ]
    notes = (note for note in network.notes if note not in remarks)
    return Diagnosis(table, summary, sectors, tuple(warnings), tuple(notes), meta, split)


class _Plan:
    """Every variant but the unablated: (removed, kind, draw, removed mass, matrix)."""

    def __init__(self, split, orders, controls, seed):
        floor = split.coordinates.mass_floor
        self.split, self.orders, self.controls, self.seed = split, orders, controls, seed
        self.held = [s for s in SUBSETS[1:] if split.removed_mass(s) > floor]
        self.ordered = [s for s in self.held if s in ORDERED]
        self.blocks = [b for b in BLOCKS if b in self.held]
        self.failed = ()

    def __len__(self):
        draws = self.orders * len(self.ordered)
        draws += self.controls * len(CONTROLS) * len(self.blocks)
        return len(SUBSETS[1:]) + len(self.held) + draws

    def __iter__(self):
        split = self.split
        for removed in SUBSETS[1:]:
            yield removed, "block", None, split.removed_mass(removed), split.without(removed)
        for removed in self.held:
            yield removed, "block", 0, split.removed_mass(removed), split.without(removed)
        # Streams of their own: more orders do not change the controls.
        rng, refused = np.random.default_rng([self.seed, 0]), 0
        for draw in range(1, self.orders + 1) if self.ordered else ():
            try:
                other = split.shuffled(rng)
            except SchurError:
                refused += 1
                continue
            for removed in self.ordered:
                yield removed, "order", draw, other.removed_mass(removed), other.without(removed)
        if refused:
            self.failed = (
                f"{refused} of {self.orders} random orders are left out: the Schur form could not "
                "be reordered accurately.",
            )
        rng, W = np.random.default_rng([self.seed, 1]), split.coordinates.W
        for removed in self.blocks:
            mass = split.removed_mass(removed)
            for kind, control in CONTROLS.items():
                for draw in range(1, self.controls + 1):
                    yield removed, kind, draw, mass, W - control(split, removed, rng)


def _array(name, value):
    """Numbers as an array, NumPy's or torch's; anything else is refused by name."""
    value = value.detach().cpu() if hasattr(value, "detach") else value
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be one array of real numbers: {error}") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be an array of real numbers, got dtype {array.dtype}")
    return array


def _inputs(inputs, network):
    inputs = _array("inputs", inputs)
    allowed = f"inputs must have shape (trial, time, {network.n_in}) and not be empty"
    if inputs.ndim != 3 or 0 in inputs.shape:
        advice = "; a single trial is inputs[None]" if inputs.ndim == 2 else ""
        raise ValueError(f"{allowed}, got shape {inputs.shape}{advice}")
    if inputs.shape[2] != network.n_in:
        swapped = network.n_in in inputs.shape[:2]
        advice = "; its axes look swapped, see numpy.moveaxis" if swapped else ""
        raise ValueError(f"{allowed}, got shape {inputs.shape}{advice}")
    bad = np.argwhere(~np.isfinite(inputs))
    if len(bad):
        raise ValueError(
            f"inputs must be finite, got {inputs[tuple(bad[0])]} at trial, step, channel "
            f"{tuple(map(int, bad[0]))} ({len(bad)} entries are not)"
        )
    return inputs


def _measure(network, base, targets, mask, metric, n_draw):
    """Name of the measure, and a function of outputs and whose they are: {quantity: value}."""
    if metric is not None:
        return "metric", lambda outputs, what: {"metric": _metric(metric, outputs, what, len(base))}
    if targets is None:
        name, known, remedy = "discrepancy", base, "give targets= or metric="
    else:
        name, known, remedy = "fvu", _array("targets", targets), "give metric="
        if (*known.shape, 1) == base.shape:
            known = known[..., None]
        if known.shape != base.shape:
            advice = _about_the_shape(known, base, network)
            raise ValueError(
                f"targets must have the shape of the outputs, (trial, time, channel) = "
                f"{base.shape}, got {known.shape}{advice}"
            )
    _, known, mask = metrics._prepare(known, known, None if mask is None else _array("mask", mask))
    for n in dict.fromkeys((len(known), n_draw)):
        try:
            metrics.fvu(known[:n], known[:n], mask[:n])
        except ValueError:
            what = "the unablated network's outputs" if targets is None else "targets"
            where = "" if n == len(known) else (
                f" on the first {n} trials too, on which orders and controls are measured (shuffle "
                "the trials or raise draw_trials)"
            )
            raise ValueError(
                f"{what} must vary where the mask is 1{where}: {name} is undefined; {remedy}"
            ) from None
    signs = targets is not None and (np.abs(known[mask]) == 1).all()

    def score(outputs, what):
        given = outputs, known[: len(outputs)], mask[: len(outputs)]
        values = {name: metrics.fvu(*given)}
        return {**values, "replay_accuracy": metrics.replay_accuracy(*given)} if signs else values

    return name, score


def _about_the_shape(targets, base, network):
    """What may be wrong with targets that do not have the shape of the outputs."""
    (n_trials, steps, n_out), shape = base.shape, targets.shape
    if targets.ndim == 3 and targets.swapaxes(0, 1).shape == base.shape:
        return "; trial and time look swapped: targets.swapaxes(0, 1)"
    if shape in {(n_trials, n_out), (n_trials, 1, n_out)} or shape == (n_trials,) and n_out == 1:
        return (
            "; targets of the last step alone: repeat them over time, with a mask that is 1 at "
            "the last step and 0 before"
        )
    if getattr(network, "W_hy", base) is None:
        return "; the network has no readout, so its outputs are its hidden states: give one"
    return ""


def _name_of(metric):
    """What a metric is called; a function without a name, and no metric, give None."""
    name = getattr(metric, "__name__", None if metric is None else type(metric).__name__)
    return None if name == "<lambda>" else name


def _metric(metric, outputs, what, n_trials):
    """One finite number from the user's function; NaN for outputs that are not finite."""
    if not np.isfinite(outputs).all():
        return np.nan
    advice = "" if len(outputs) == n_trials else (
        f" (orders and controls are measured on the first {len(outputs)} of {n_trials} trials: let "
        f"metric take so many, or pass draw_trials={n_trials})"
    )
    try:
        value = metric(outputs)
    except Exception as error:
        raise ValueError(
            f"metric failed on the outputs of {what}: {type(error).__name__}: {error}{advice}"
        ) from error
    got = value.item() if hasattr(value, "item") and np.ndim(value) == 0 else value
    if not is_number(got):
        raise ValueError(
            f"metric must return one finite real number, got {value!r} for {what}{advice}"
        )
    return float(got)


def _reading(shares):
    """In words, beside which kinds of control a block's change is large."""
    as_large = list(shares.index[shares >= 0.05])
    if not as_large:
        some = "nearly " if shares.any() else ""
        return f"more than {some}any random removal of its size"
    if len(as_large) < len(shares):
        smaller = ", ".join(kind for kind in shares.index if kind not in as_large)
        return f"more than {smaller}, but no more than {', '.join(as_large)} removals of its size"
    if (shares == 1).all():
        return "less than any random removal of its size"
    return "no more than random removals of its size"


def _varies(values):
    """Whether draws differ by more than rounding; a single one, or one not finite, is taken to."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2 or not np.isfinite(values).all():
        return len(values) > 0
    return bool(np.ptp(values) > 1e-9 * np.abs(values).max())


def _summary(table, measure, split):
    """One row a subset; see `Diagnosis.summary`."""
    rows = []
    for removed in SUBSETS:
        ours = table[table["removed"] == removed]
        changes = ours[ours["quantity"] == "change"]
        full = ours[ours["draw"].isna()].set_index("quantity")["value"]
        own = changes[(changes["kind"] == "block") & changes["draw"].notna()]["value"]
        others = changes[changes["kind"] == "order"]["value"]
        others = others if _varies(others) else others[:0]  # as where RR is empty
        drawn = changes[changes["kind"].isin(CONTROLS)]
        # A single coupling permuted is itself, and no control.
        drawn = drawn[drawn.groupby("kind")["value"].transform(_varies).astype(bool)]
        # Not finite is as large a change as there is; equal removals differ by rounding.
        sizes, size = (np.nan_to_num(np.abs(x), nan=np.inf) for x in (drawn["value"], own))
        as_large = pd.Series(sizes >= size * (1 - 1e-9) if len(sizes) else [], dtype=float)
        if removed == "none":
            reading = FACTS[0]
        elif full["removed_mass"] <= split.coordinates.mass_floor:
            reading = FACTS[1]
        elif abs(full["change"]) <= 1e-12 * max(1, abs(full[measure] - full["change"])):
            reading = FACTS[2]
        elif drawn.empty:
            reading = "no controls drawn"
        else:
            reading = _reading(as_large.groupby(drawn["kind"].to_numpy(), sort=False).mean())
        if measure == "fvu" and reading not in FACTS and full["change"] < 0:
            reading = f"better without it; {reading}"
        rows.append({
            "removed": removed, measure: full[measure], "change": full["change"],
            "removed_mass": full["removed_mass"],
            "change_drawn": own.iloc[0] if len(own) else full["change"], "order_low": others.min(),
            "order_high": others.max(), "control_median": drawn["value"].median(),
            "control_share": as_large.mean(), "reading": reading,
        })
    return pd.DataFrame(rows)


def _about_the_module(source, network, inputs):
    """Whether a torch module does what is measured; nothing to say of other sources."""
    from torch.nn import Module

    if source is network or not isinstance(source, Module):
        return ()
    from .load import forward_differs

    said = forward_differs(source, network, inputs)
    return () if said is None else (said,)


def _about_the_spectrum(split):
    """Warnings that need no trial."""
    form, n_R, found = split.coordinates, split.n_R, []
    radius, n, alpha = form.spectral_radius, form.n, split.alpha
    if radius == 0:
        found.append(
            "The spectral radius is 0: no eigenvalue leads, and all coordinates are in R."
        )
    else:
        nearest = form.moduli[np.abs(form.moduli - alpha * radius).argmin()] / radius
        above = np.floor(100 * nearest + 1e-9) + 1
        other = (above if nearest >= alpha else np.floor(100 * nearest)) / 100
        n_other = form.sectors(other).n_R if 0 < other <= 1 else n_R
        if split.alpha_gap < NEAR and n_other != n_R:
            found.append(
                f"The threshold sits {number(100 * split.alpha_gap, 2)} % of the spectral radius "
                f"from an eigenvalue: with alpha = {other:g} n_R would be {n_other} instead of "
                f"{n_R}."
            )
    if split.removed_mass(SUBSETS[-1]) <= form.mass_floor:
        return (*found, "W_hh is normal up to rounding: it has no couplings to remove.")
    if radius and n_R == n:
        found.append(
            f"alpha = {alpha:g} puts all {n} coordinates into R, so only T_RR exists: the smallest "
            f"modulus is {number(form.moduli.min() / radius)} of the spectral radius."
        )
    starts = np.array([start for start, _ in form.blocks])
    # Rounding of the stored weights moves the moduli of a normal matrix by up to about this much.
    width = max(form.tie_width, form.precision * metrics.frobenius(form.W))
    for name, block, inside in (("R", "RR", starts < n_R), ("C", "CC", starts >= n_R)):
        near = -np.diff(form.moduli[starts[inside]]) <= width
        tied, blocks = np.count_nonzero(np.r_[near, False] | np.r_[False, near]), inside.sum()
        if blocks == 1:
            found.append(f"{name} is one block of eigenvalues: {plain_label(block)} is empty.")
        elif tied:
            found.append(
                f"{'All' if tied == blocks else tied} of the {blocks} blocks of {name} have the "
                f"modulus of another up to rounding: their order, and with it "
                f"{plain_label(block)}, is arbitrary. See the range over orders."
            )
    return tuple(found)


def _about_the_numbers(table, summary, meta, broken):
    """Warnings that follow from what was measured."""
    rows, found = summary.set_index("removed"), []
    if meta["trials"] < FEW_TRIALS:
        found.append(
            f"There are {meta['trials']} trials: with fewer than {FEW_TRIALS} the numbers depend "
            "on which."
        )
    if meta["measure"] == "fvu" and rows["fvu"]["none"] >= 1:
        found.append(
            f"The unablated network's FVU is {number(rows['fvu']['none'])}, no better than always "
            "answering the mean target: its damage says little. If it was trained on these trials, "
            "look at how it was read: activation=, leak=, convention=, the readout, and whether "
            "time comes first."
        )
    for removed, count in broken.items():
        if count:
            found.append(
                f"Without {plain_label(removed)} the outputs are not finite in {count} of "
                "the runs (ablation, orders and controls together)."
            )
    changes = table[(table["quantity"] == "change") & (table["draw"] == 0)]
    largest = np.nanmax(np.abs([*changes["value"], *rows["change"]]))
    for block in BLOCKS:
        change, drawn, low, high = rows.loc[
            block, ["change", "change_drawn", "order_low", "order_high"]
        ]
        outside = max(low - drawn, drawn - high) > 0.01 * largest
        if outside or high - low > max(abs(drawn), 0.01 * largest):
            found.append(
                f"Without {plain_label(block)} the measure changes by {number(drawn)} with the "
                f"blocks ordered by modulus, and by {number(low)} to {number(high)} in "
                f"{meta['orders']} random orders: " + (
                    "the change belongs to that order." if outside else
                    "a range wider than the change itself."
                )
            )
        if abs(drawn - change) > 0.25 * largest:
            found.append(
                f"Without {plain_label(block)} the measure changes by {number(change)} on all "
                f"trials and by {number(drawn)} on the first {meta['draw_trials']}, on which "
                "orders and controls are measured: shuffle the trials or raise draw_trials."
            )
    return tuple(found)
