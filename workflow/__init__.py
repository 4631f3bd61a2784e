"""Runs the notebooks and builds the book: ``python -m workflow.drive --profile paper book``.

Nothing here computes a number of the paper; that is ``paperlib`` and the notebooks.
"""


class WorkflowError(Exception):
    """A mistake of the caller or of the machine, told in one clear message and exit code 2."""
