"""Tasks as probability distributions over trials.

Each task is a frozen dataclass whose fields are the parameters of the distribution.
The paper (arXiv:2606.18457, Section 4) fixes names, lengths and numbers of inputs and leaves the
rest open; every reading of it that we offer is a named *convention*, a set of field values.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

__all__ = ["TASKS", "Copy", "FlipFlop", "Integration", "Sine", "Task", "Trials", "make_task"]


class Trials(NamedTuple):
    """A batch of trials.

    Attributes
    ----------
    inputs : Tensor, shape (trial, time, n_in)
    targets : Tensor, shape (trial, time, n_out)
    mask : Tensor, shape (trial, time, n_out)
        1 where the output counts in loss and measures, 0 elsewhere.
    """

    inputs: Tensor
    targets: Tensor
    mask: Tensor


class Task:
    """What every task shares: checks, its convention's name, its parameters as a dict."""

    name: ClassVar[str]
    conventions: ClassVar[dict[str, dict]]
    n_in: int
    n_out: int
    length: int

    @classmethod
    def from_convention(cls, convention: str | None = None, **parameters) -> Task:
        """Build the task from a named convention (the first named one by default)."""
        convention = next(iter(cls.conventions)) if convention is None else convention
        if convention not in cls.conventions:
            raise ValueError(
                f"unknown convention {convention!r} of task {cls.name!r}; "
                f"allowed: {', '.join(cls.conventions)}"
            )
        return cls(**{**cls.conventions[convention], **parameters})

    @property
    def convention(self) -> str:
        """Name of the convention with exactly these parameters, or ``"custom"``."""
        for name, parameters in type(self).conventions.items():
            if self == type(self)(**parameters):
                return name
        return "custom"

    @property
    def parameters(self) -> dict:
        """The fields as a plain dict (tuples become lists, as in JSON)."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    def sample(self, batch: int, generator: torch.Generator) -> Trials:
        """Draw ``batch`` independent trials.

        Parameters
        ----------
        batch : int
            Number of trials, at least 1.
        generator : torch.Generator
            Source of all randomness; nothing else is used.

        Returns
        -------
        Trials
            float32 tensors of shape (batch, length, n_in or n_out).

        Raises
        ------
        ValueError
            If ``batch`` is not a positive integer.
        TypeError
            If ``generator`` is not a ``torch.Generator``.
        """
        if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
            raise ValueError(f"batch must be a positive integer, got {batch!r}")
        if not isinstance(generator, torch.Generator):
            raise TypeError(
                f"generator must be a torch.Generator, got {type(generator).__name__}"
            )
        return self._sample(batch, generator)

    def _sample(self, batch: int, generator: torch.Generator) -> Trials:
        raise NotImplementedError

    def _require(self, condition: bool, field: str, allowed: str) -> None:
        if not condition:
            value = getattr(self, field)
            raise ValueError(f"{self.name}: {field} must be {allowed}, got {value!r}")

    def _require_choice(self, field: str, allowed: tuple[str, ...]) -> None:
        self._require(getattr(self, field) in allowed, field, "one of " + ", ".join(allowed))

    def _require_count(self, *fields: str, least: int = 1) -> None:
        for field in fields:
            value = getattr(self, field)
            whole = isinstance(value, int) and not isinstance(value, bool)
            self._require(whole and value >= least, field, f"an integer of at least {least}")


def _uniform(shape, low: float, high: float, generator: torch.Generator) -> Tensor:
    return low + (high - low) * torch.rand(shape, generator=generator)


def _signs(shape, generator: torch.Generator) -> Tensor:
    return 2.0 * torch.randint(0, 2, shape, generator=generator) - 1.0


@dataclass(frozen=True)
class FlipFlop(Task):
    """Three-bit flip-flop: each channel holds the sign of its last pulse.

    Parameters
    ----------
    length : int
        Time steps of a trial (25 in the paper).
    n_bits : int
        Channels, both of input and of output.
    schedule : {"bernoulli", "intervals"}
        ``"bernoulli"``: a pulse of random sign at each step and channel with
        ``pulse_probability``; the target of a channel is the sign of its last pulse, 0 before
        the first, and every step counts.
        ``"intervals"``: the generator published with Schuessler et al. (2024): one pulse at a
        time, on a random channel, after a silent first step; ``response_delay`` steps later the
        target on that channel is ``target_amplitude`` times its sign, 0 on the others, until
        the next pulse; gaps between a response and the next pulse are uniform in
        [``interval_min``, ``interval_max``]; only response times count.
    pulse_probability : float
        Per step and channel, in (0, 1]; used by ``"bernoulli"``.
    response_delay, interval_min, interval_max : int
        In steps; used by ``"intervals"``.
    target_amplitude : float
        Absolute value of the target.
    """

    length: int = 25
    n_bits: int = 3
    schedule: str = "bernoulli"
    pulse_probability: float = 0.1
    response_delay: int = 5
    interval_min: int = 5
    interval_max: int = 25
    target_amplitude: float = 1.0

    name: ClassVar[str] = "flip_flop"
    conventions: ClassVar[dict[str, dict]] = {
        "pulses_0.10": {},
        "pulses_0.05": {"pulse_probability": 0.05},
        "pulses_0.20": {"pulse_probability": 0.2},
        "schuessler": {"schedule": "intervals", "target_amplitude": 0.5},
    }

    def __post_init__(self):
        self._require_choice("schedule", ("bernoulli", "intervals"))
        self._require_count("length", "n_bits")
        self._require_count("response_delay", "interval_min", "interval_max", least=0)
        self._require(0 < self.pulse_probability <= 1, "pulse_probability", "in (0, 1]")
        self._require(0 < self.target_amplitude < math.inf, "target_amplitude", "positive, finite")
        self._require(
            self.schedule == "bernoulli" or self.length > 1 + self.response_delay,
            "length",
            "longer than the first response, 1 + response_delay",
        )
        self._require(
            self.interval_max >= self.interval_min and self.response_delay + self.interval_min > 0,
            "interval_max",
            "at least interval_min, with response_delay + interval_min positive",
        )

    n_in = property(lambda self: self.n_bits)
    n_out = property(lambda self: self.n_bits)

    def _sample(self, batch, generator):
        sampler = self._bernoulli if self.schedule == "bernoulli" else self._intervals
        return sampler(batch, generator)

    def _bernoulli(self, batch, generator):
        shape = (batch, self.length, self.n_bits)
        pulses = torch.rand(shape, generator=generator) < self.pulse_probability
        inputs = pulses * _signs(shape, generator)
        steps = torch.arange(self.length).view(1, -1, 1)
        last = torch.where(pulses, steps, -1).cummax(dim=1).values
        held = inputs.gather(1, last.clamp(min=0)) * (last >= 0)
        return Trials(inputs, self.target_amplitude * held, torch.ones(shape))

    def _intervals(self, batch, generator):
        shortest = self.response_delay + self.interval_min
        n_pulses = math.ceil(self.length / shortest) + 1
        gaps = torch.randint(
            self.interval_min, self.interval_max + 1, (batch, n_pulses), generator=generator
        )
        onsets = 1 + (gaps + self.response_delay).cumsum(1).roll(1, dims=1)
        onsets[:, 0] = 1
        channels = torch.randint(0, self.n_bits, (batch, n_pulses), generator=generator)
        signs = _signs((batch, n_pulses), generator)

        steps = torch.arange(self.length)
        current = (onsets[:, None, :] <= steps[None, :, None]).sum(-1) - 1  # (trial, time)
        started, current = current >= 0, current.clamp(min=0)
        since = steps - onsets.gather(1, current)
        channel = torch.nn.functional.one_hot(channels.gather(1, current), self.n_bits)
        signed = channel * signs.gather(1, current)[..., None]
        pulse = started & (since == 0)
        response = started & (since >= self.response_delay)
        targets = self.target_amplitude * signed * response[..., None]
        mask = response[..., None].expand_as(targets).float()
        return Trials(signed * pulse[..., None], targets, mask)


@dataclass(frozen=True)
class Sine(Task):
    """Frequency-cued sine generation: the cue's level says which sine to produce.

    The target is ``sin(2π f t)`` from ``t = 0``, with ``f`` uniform per trial.

    Parameters
    ----------
    length : int
        Time steps of a trial (50 in the paper).
    frequency_min, frequency_max : float
        Range of ``f``, in cycles per step, below the Nyquist rate of 0.5.
    n_frequencies : int
        0 draws ``f`` from the whole interval; k ≥ 2 draws from k equally spaced values.
    cue_steps : int
        Steps for which the cue is shown from the start; 0 shows it throughout.
    cue_offset : float
        The cue's level is ``cue_offset + f / frequency_max``.
    """

    length: int = 50
    frequency_min: float = 0.02
    frequency_max: float = 0.1
    n_frequencies: int = 0
    cue_steps: int = 0
    cue_offset: float = 0.0

    name: ClassVar[str] = "sine"
    conventions: ClassVar[dict[str, dict]] = {
        "constant_cue": {},
        "constant_cue_slow": {"frequency_min": 0.01, "frequency_max": 0.05},
        "levels": {"n_frequencies": 51, "cue_offset": 0.25},
        "transient_cue": {"cue_steps": 5},
    }

    n_in: ClassVar[int] = 1
    n_out: ClassVar[int] = 1

    def __post_init__(self):
        self._require_count("length")
        self._require_count("n_frequencies", "cue_steps", least=0)
        self._require(self.n_frequencies != 1, "n_frequencies", "0 or at least 2")
        self._require(0 < self.frequency_min, "frequency_min", "positive")
        self._require(math.isfinite(self.cue_offset), "cue_offset", "finite")
        self._require(
            self.frequency_min <= self.frequency_max < 0.5,
            "frequency_max",
            "at least frequency_min and below 0.5 cycles per step",
        )

    def _sample(self, batch, generator):
        low, high = self.frequency_min, self.frequency_max
        if self.n_frequencies:
            level = torch.randint(0, self.n_frequencies, (batch, 1, 1), generator=generator)
            frequency = low + (high - low) * level / (self.n_frequencies - 1)
        else:
            frequency = _uniform((batch, 1, 1), low, high, generator)
        steps = torch.arange(self.length).view(1, -1, 1)
        shown = steps < (self.cue_steps or self.length)
        inputs = (self.cue_offset + frequency / high) * shown
        targets = torch.sin(2 * math.pi * frequency * steps)
        return Trials(inputs, targets, torch.ones_like(targets))


@dataclass(frozen=True)
class Integration(Task):
    """Context-dependent integration of one of two noisy streams.

    Inputs 0 and 1 are the streams: while the stimulus lasts, a coherence drawn per trial and
    stream, plus white noise at every step of the trial. Inputs 2 and 3 say, one-hot, which
    stream counts. Timing: ``fixation + stimulus + delay + response`` steps, 3 + 20 + 5 + 20 = 48
    in the generator published with Schuessler et al. (2024).

    Parameters
    ----------
    fixation, stimulus, delay, response : int
        Durations in steps.
    coherences : tuple of float
        Values a coherence takes, equally likely.
    noise : float
        Standard deviation of the noise per step.
    target : {"decision", "integral"}
        ``"decision"``: ``±decision_amplitude`` by the sign of the cued coherence while
        responding, 0 before. ``"integral"``: mean of the cued stream over the stimulus window,
        accumulated step by step and held afterwards.
    decision_amplitude : float
        Absolute value of the target of ``"decision"``.
    context : {"stimulus", "trial"}
        Whether the context is shown while the stimulus lasts or throughout.
    counted : {"all", "response"}
        Steps that count.
    """

    fixation: int = 3
    stimulus: int = 20
    delay: int = 5
    response: int = 20
    coherences: tuple[float, ...] = (-1.0, -0.5, -0.25, -0.125, 0.125, 0.25, 0.5, 1.0)
    noise: float = 0.05
    target: str = "decision"
    decision_amplitude: float = 0.5
    context: str = "stimulus"
    counted: str = "all"

    name: ClassVar[str] = "integration"
    conventions: ClassVar[dict[str, dict]] = {
        "decision": {},
        "decision_response": {"counted": "response"},
        "running_integral": {"target": "integral"},
        "final_integral": {"target": "integral", "counted": "response"},
        "running_integral_context_on": {"target": "integral", "context": "trial"},
    }

    n_in: ClassVar[int] = 4
    n_out: ClassVar[int] = 1

    def __post_init__(self):
        self._require_count("stimulus", "response")
        self._require_count("fixation", "delay", least=0)
        object.__setattr__(self, "coherences", tuple(float(c) for c in self.coherences))
        finite = all(math.isfinite(c) and c != 0 for c in self.coherences)
        self._require(bool(self.coherences) and finite, "coherences", "finite, non-zero numbers")
        self._require(0 <= self.noise < math.inf, "noise", "at least 0 and finite")
        self._require(
            0 < self.decision_amplitude < math.inf, "decision_amplitude", "positive, finite"
        )
        self._require_choice("target", ("integral", "decision"))
        self._require_choice("context", ("stimulus", "trial"))
        self._require_choice("counted", ("all", "response"))

    @property
    def length(self) -> int:
        return self.fixation + self.stimulus + self.delay + self.response

    def _sample(self, batch, generator):
        steps = torch.arange(self.length).view(1, -1, 1)
        stimulus = (steps >= self.fixation) & (steps < self.fixation + self.stimulus)
        responding = steps >= self.length - self.response
        values = torch.tensor(self.coherences)
        which = torch.randint(0, len(values), (batch, 1, 2), generator=generator)
        cued = torch.randint(0, 2, (batch, 1, 1), generator=generator)
        noise = self.noise * torch.randn((batch, self.length, 2), generator=generator)

        coherence = values[which]
        streams = coherence * stimulus + noise
        context = torch.cat([cued == 0, cued == 1], dim=2).float()
        context = context * (stimulus if self.context == "stimulus" else torch.ones_like(steps))
        if self.target == "integral":
            stream = streams.gather(2, cued.expand(-1, self.length, -1))
            targets = (stream * stimulus).cumsum(1) / self.stimulus
        else:
            sign = coherence.gather(2, cued).sign()
            targets = self.decision_amplitude * sign * responding
        counted = responding if self.counted == "response" else torch.ones_like(responding)
        mask = counted.expand_as(targets).float()
        return Trials(torch.cat([streams, context], dim=2), targets, mask)


@dataclass(frozen=True)
class Copy(Task):
    """Fixed-length copy with periodic replay (paper, Section 3).

    ``s`` symbols of ``d`` independent signs are shown, one a step; then the input is zero and the
    target repeats the sequence over and over, its first symbol in the first silent step (lag 1).
    Only replay counts.

    Parameters
    ----------
    s : int
        Symbols of a sequence.
    d : int
        Channels: signs of a symbol.
    lags : int
        Replayed steps.
    """

    s: int = 8
    d: int = 8
    lags: int = 128

    name: ClassVar[str] = "copy"
    conventions: ClassVar[dict[str, dict]] = {"periodic_replay": {}}
    replay: ClassVar[bool] = True

    def __post_init__(self):
        self._require_count("s", "d", "lags")

    n_in = property(lambda self: self.d)
    n_out = property(lambda self: self.d)
    length = property(lambda self: self.s + self.lags)

    def symbols(self, batch: int, generator: torch.Generator) -> Tensor:
        """Random sequences, shape (batch, s, d), of −1 and +1."""
        return _signs((batch, self.s, self.d), generator)

    def unroll(self, symbols: Tensor, lags: int) -> tuple[Tensor, Tensor]:
        """Inputs and replayed targets of sequences, time before trials.

        Parameters
        ----------
        symbols : Tensor, shape (…, s, trial, d)
        lags : int

        Returns
        -------
        inputs : Tensor, shape (…, s + lags, trial, d)
        targets : Tensor, shape (…, lags, trial, d)
        """
        silence = symbols.new_zeros(*symbols.shape[:-3], lags, *symbols.shape[-2:])
        targets = torch.cat([symbols] * math.ceil(lags / self.s), dim=-3)[..., :lags, :, :]
        return torch.cat([symbols, silence], dim=-3), targets

    def _sample(self, batch, generator):
        symbols = self.symbols(batch, generator).transpose(0, 1)
        inputs, replayed = (x.transpose(0, 1) for x in self.unroll(symbols, self.lags))
        targets = torch.cat([torch.zeros_like(inputs[:, : self.s]), replayed], dim=1)
        mask = torch.zeros_like(targets)
        mask[:, self.s :] = 1
        return Trials(inputs, targets, mask)


TASKS: dict[str, type[Task]] = {task.name: task for task in (FlipFlop, Sine, Integration, Copy)}


def make_task(name: str, convention: str | None = None, **parameters) -> Task:
    """Build a task by name.

    Parameters
    ----------
    name : str
        ``"flip_flop"``, ``"sine"``, ``"integration"`` or ``"copy"``.
    convention : str, optional
        A name in the task's ``conventions``; the default convention if not given.
    **parameters
        Field values that replace the convention's.

    Raises
    ------
    ValueError
        If the task, the convention or a parameter's value is unknown.
    """
    if name not in TASKS:
        raise ValueError(f"unknown task {name!r}; allowed: {', '.join(TASKS)}")
    known = TASKS[name].__dataclass_fields__
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise ValueError(
            f"unknown parameter {unknown[0]!r} of task {name!r}; allowed: {', '.join(known)}"
        )
    return TASKS[name].from_convention(convention, **parameters)
