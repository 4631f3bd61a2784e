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
    study_results,
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
from .load import ARRAY_NAMES, ablated, load_network, read_trials
from .metrics import fvu, replay_accuracy, replay_by_lag, s_dt
from .network import Solution, rollout
from .recurrent import GATES, Gated, Network
from .refit import refit_profile, refit_readout
from .response import accounts_profile, response
from .schur import SUBSETS, OrderedSchur, Sectors, check_alpha, ordered_schur
from .suite import SUITE, load_suite
from .tasks import Copy, FlipFlop, Integration, Sine, Trials, make_task
from .training import generator, train

__version__ = "0.1.0"

__all__ = [
    "ARRAY_NAMES", "GATES", "SUBSETS", "SUITE", "ArtifactError", "Copy", "Curriculum",
    "Diagnosis", "FlipFlop", "Gated", "Integration", "Network", "OrderedSchur", "Paths",
    "Sectors", "Sine", "Solution", "Trials", "ablate", "ablated", "ablation_profile",
    "accounts_profile", "cayley", "check_alpha", "control_draws", "count_repeats",
    "coupling_profile", "criterion_rows", "dense_default", "dense_normal", "dense_orthogonal",
    "departure_profile", "diagnose", "figures", "fvu", "generator", "load_network",
    "load_or_train", "load_solution", "load_suite", "make_construction", "make_task",
    "order_draws", "order_gaps", "ordered_schur", "project_root", "read_results", "read_trials",
    "refit_profile", "refit_readout", "replay_accuracy", "replay_by_lag", "report", "reported",
    "response", "rollout", "s_dt", "save_solution", "study_results", "train", "train_copy",
    "training_sequences", "variant_scores", "write_results",
]
