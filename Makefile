# Thin on purpose: what happens is in workflow/, which versions in pyproject.toml and its lock.

PROFILE ?= paper
PY := .venv/bin/python
DRIVE = $(PY) -m workflow.drive $(if $(EXECUTOR),--executor $(EXECUTOR))

.DEFAULT_GOAL := help
.PHONY: help .venv book smoke notebook compare test lock clean

help:  ## list the targets
	@awk -F ':.*  ## ' '/^[.a-z]+:.*  ## / {printf "%-12s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The first interpreter of the list that runs and is new enough.
PYTHONS := $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python3.14)
.venv:  ## set up the environment; at once where it is up to date
	@for python in $(PYTHONS); do \
	  "$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' \
	    2>/dev/null && exec "$$python" workflow/make_venv.py; \
	done; \
	echo "make .venv: no Python from 3.11 to 3.14 among: $(PYTHONS). Install one, or name it:" \
	  "make .venv PYTHON=/path/to/python3" >&2; exit 1

book: .venv  ## train, measure and build the book into _build/html (PROFILE=paper, EXECUTOR=default)
	$(DRIVE) --profile $(PROFILE) book

smoke: .venv  ## the same with tiny networks, in about two minutes
	$(DRIVE) --profile smoke book

notebook: .venv  ## run one notebook again, after those it reads: make notebook NAME=figure_2
	@test -n "$(NAME)" || { echo "make notebook: say which, as in NAME=figure_2; one of:" \
	  $(basename $(notdir $(wildcard notebooks/*.py))) >&2; exit 2; }
	$(DRIVE) --profile $(PROFILE) notebooks $(NAME) --force

compare: .venv  ## two runs beside each other: make compare A=published B=build/paper
	@test -n "$(A)" -a -n "$(B)" || { echo "make compare: say which folders, as in" \
	  "A=published B=build/paper" >&2; exit 2; }
	$(PY) -m workflow.compare $(A) $(B)

# The tests read the smoke profile's book in a folder of its own: a reader's _build/html stays.
# Removed first, because an incremental build does not repeat its warnings.
TEST_HTML := build/smoke/html
test: .venv  ## build the smoke profile's results and book, then run every test and notebook
	rm -rf $(TEST_HTML) build/nbmake
	$(DRIVE) --profile smoke --html $(TEST_HTML) book
	$(DRIVE) --profile smoke nbmake
	PAPERLIB_HTML=$(TEST_HTML) $(PY) -m pytest --nbmake --nbmake-timeout=600 tests build/nbmake/*.ipynb

# What torch asks for on Linux and its CPU build does without: kept out of the lock.
CUDA_ONLY := cuda-bindings cuda-toolkit nvidia-cudnn-cu13 nvidia-cusparselt-cu13 \
	nvidia-nccl-cu13 nvidia-nvshmem-cu13 triton
lock: .venv  ## solve requirements.lock anew from pyproject.toml (UPGRADE=1: newest versions)
	@printf '%s\n' $(CUDA_ONLY) > .venv/cuda-only.txt
	$(PY) -m uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 \
	  --generate-hashes --no-emit-package torch --excludes .venv/cuda-only.txt \
	  --annotation-style line --custom-compile-command 'make lock' --quiet \
	  $(if $(UPGRADE),--upgrade) --output-file requirements.lock

clean:  ## remove everything that was made, trained networks too; .venv stays
	rm -rf build _build .snakemake .pytest_cache paperlib.egg-info notebooks/*.ipynb
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
