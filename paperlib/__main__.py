"""``python -m paperlib diagnose WEIGHTS DATA``: the ablation profile of a network in a file."""

import argparse
import hashlib
import re
import sys
from dataclasses import replace
from pathlib import Path


# Arguments of the library that are options here.
OPTIONS = ("activation", "alpha", "controls", "convention", "draw_trials", "gate", "leak_on",
           "leak", "orders", "readout", "rnn", "seed")


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        """One line, and not the usage before it."""
        self.exit(2, f"paperlib: error: {message}\n")


def as_options(text):
    """A message in the words of the command line: ``--activation relu`` for ``activation='relu'``.

    Names of options stand before an equals sign there, or as `gate=` alone.
    """
    for name in OPTIONS:
        option = "--" + name.replace("_", "-")
        text = re.sub(rf"\b{name}=(?:False|'none')", f"{option} none", text)
        text = re.sub(rf"(?<![\w-]){name}='?([\w.]*)'?", rf"{option} \1", text)
    return re.sub(r"(--[\w-]+) (?=[,;:)]|$)", r"\1", text)


def parser():
    """The command line's arguments."""
    from .load import ARRAY_NAMES, KERAS

    top = _Parser(prog="paperlib", description=__doc__.partition(": ")[2])
    commands = top.add_subparsers(dest="command", required=True, metavar="diagnose")
    names = "\n".join(f"  {name:5} {', '.join(known[1:])}" for name, known in ARRAY_NAMES.items())
    add = commands.add_parser(
        "diagnose", help="what a trained network loses without each coupling block",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"Names of arrays in WEIGHTS where it is no state dict, and other names that will "
        f"do:\n{names}\n{as_options(KERAS)}",
    ).add_argument
    add("weights", metavar="WEIGHTS", help="a state dict (.pt, .pth), .npz or .safetensors")
    add(
        "data", metavar="DATA",
        help="a .npz with inputs (trial, time, channel), and targets, mask, h_0 if there are any",
    )
    add(
        "--out", metavar="FOLDER", default="build/diagnosis",
        help="where the report is written (%(default)s)",
    )
    add(
        "--alpha", type=float, default=0.9,
        help="threshold of the leading sector, of the spectral radius (%(default)s)",
    )
    add("--readout", metavar="NAME", help="linear layer of the outputs; 'none': the hidden states")
    add("--rnn", metavar="NAME", help="recurrent layer, where there are several")
    add("--convention", choices=("column", "row"), help="of plain arrays: W @ h or h @ W")
    add("--activation", choices=("tanh", "relu"), help="of the units, which a file does not tell")
    add("--gate", metavar="NAME", help="of a GRU or LSTM: whose matrix is ablated")
    add(
        "--leak", metavar="A", type=float, default=1.0,
        help="time step over time constant (%(default)g, no leak)",
    )
    add(
        "--leak-on", choices=("rate", "potential"), default="rate", help="what leaks (%(default)s)"
    )
    for name, default, what in (
        ("orders", 20, "random orders inside the sectors"),
        ("controls", 20, "random removals of each kind"),
        ("draw-trials", 512, "trials for orders and controls"),
        ("seed", 0, "of orders and controls"),
    ):
        add(f"--{name}", metavar="N", type=int, default=default, help=f"{what} (%(default)s)")
    add("--time-first", action="store_true", help="arrays of DATA are (time, trial, channel)")
    add("--quiet", action="store_true", help="print nothing but the path of the report")
    return top


def run(arguments):
    """Diagnose, write the report and say what was found."""
    from .diagnose import diagnose
    from .load import load_network, read_trials

    data, others = read_trials(arguments.data, arguments.time_first)
    readout = False if arguments.readout == "none" else arguments.readout
    network = load_network(
        arguments.weights, readout=readout, convention=arguments.convention, rnn=arguments.rnn,
        activation=arguments.activation, gate=arguments.gate, leak=arguments.leak,
        leak_on=arguments.leak_on, h_0=data.pop("h_0", None),
    )
    found = diagnose(
        network, **data, alpha=arguments.alpha, orders=arguments.orders,
        controls=arguments.controls, draw_trials=arguments.draw_trials, seed=arguments.seed,
        progress=not arguments.quiet and sys.stderr.isatty(),
    )
    files = {name: Path(getattr(arguments, name)) for name in ("weights", "data")}
    read = {
        name: f"{path.name}, SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for name, path in files.items()
    }
    unused = (f"Not used of {files['data'].name}: {', '.join(others)}.",) if others else ()
    found = replace(
        found, meta={**found.meta, **read}, notes=tuple(map(as_options, found.notes)),
        warnings=tuple(map(as_options, (*unused, *found.warnings))),
    )
    replaced = (Path(arguments.out) / "report.html").exists()
    report = found.save(arguments.out)
    if arguments.quiet:
        print(report)
    else:
        print(f"{found.text()}\n\nReport: {report}{' (in place of an older one)' * replaced}")


def main(argv=None):
    """Run a command; return what the process ends with."""
    arguments = parser().parse_args(argv)
    if hasattr(sys.stdout, "reconfigure"):  # a terminal may have no λ or −
        sys.stdout.reconfigure(errors="replace")
    try:
        run(arguments)
    except (OSError, TypeError, ValueError, RuntimeError, MemoryError) as error:
        text = as_options(" ".join(str(error).split())) or type(error).__name__
        print(f"paperlib: error: {text}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("paperlib: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
