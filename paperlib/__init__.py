"""Train tanh RNNs, write ``W_hh`` in ordered real Schur coordinates, ablate couplings, measure.

>>> import paperlib as pl
>>> task = pl.FlipFlop()
>>> solutions = pl.train(task, pl.dense_orthogonal, seeds=range(3))
>>> coords = pl.ordered_schur(solutions[0].W_hh)   # Q, T, blocks ordered by |λ|
>>> split = coords.sectors(alpha=0.9)              # n_R, gap to the threshold, masks
>>> W_without = split.without("CC")                # Q T̃ Qᵀ
>>> table = pl.ablation_profile(solutions, task)   # tidy: seed × removed × quantity
"""

from . import figures, report
from .ablation import ablate, ablation_profile, order_draws, order_gaps, variant_scores
from .artifacts import (
    ArtifactError,
    Paths,
    load_or_train,
    load_solution,
    project_root,
    read_results,
    reported,
    save_solution,
    write_results,
)
from .constructions import cayley, dense_default, dense_normal, dense_orthogonal, make_construction
from .controls import control_draws
from .couplings import coupling_profile
from .curriculum import (
    Curriculum,
    count_repeats,
    criterion_rows,
    train_copy,
    training_sequences,
)
from .departure import departure_profile
from .diagnose import Diagnosis, diagnose
from .metrics import fvu, replay_accuracy, replay_by_lag, s_dt
from .network import Solution, rollout
from .refit import refit_profile, refit_readout
from .response import accounts_profile, response
from .schur import SUBSETS, OrderedSchur, Sectors, check_alpha, ordered_schur
from .suite import SUITE, load_suite
from .tasks import Copy, FlipFlop, Integration, Sine, Trials, make_task
from .training import generator, train

__version__ = "0.1.0"

__all__ = [
    "SUBSETS", "SUITE", "ArtifactError", "Diagnosis", "diagnose", "accounts_profile", "departure_profile", "coupling_profile", "response", "Copy", "Curriculum", "FlipFlop", "Integration",
    "OrderedSchur", "Paths", "Sectors", "Sine", "Solution", "Trials", "ablate",
    "ablation_profile", "cayley", "check_alpha", "control_draws", "count_repeats",
    "criterion_rows", "dense_default", "dense_normal", "dense_orthogonal", "figures", "fvu",
    "generator", "load_or_train", "load_solution", "load_suite", "make_construction",
    "make_task", "order_draws", "order_gaps", "ordered_schur", "project_root", "read_results",
    "refit_profile", "refit_readout", "replay_accuracy", "replay_by_lag", "report", "reported",
    "rollout", "s_dt", "save_solution", "train", "train_copy", "training_sequences",
    "variant_scores", "write_results",
]
