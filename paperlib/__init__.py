"""Train tanh RNNs, write ``W_hh`` in ordered real Schur coordinates, ablate couplings, measure."""
__version__ = "0.1.0"
