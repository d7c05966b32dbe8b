# Nothing but Python 3.11 or newer and make is needed: everything else goes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
EXTRAS ?= dev
install = $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(1)]' --constraint constraints.txt

# Of the order of `make test-random`: another one each time, unless it is given.
ifndef SEED
SEED := $(shell date +%s)
endif

.PHONY: demo docs test test-random kernels mutate check generate detectors format calibrate calibrate-full bench bench-quick fuzz clean

# The embedded model is asked for one token a prompt; docs/embedded.md says why these probes and sizes.
CHARACTERS := --probe jobs_lum --probe inventories --probe gest_creative --probe gest_translation
SIZES := --set jobs_lum.sample=120 --set inventories.sample=120 --set gest_creative.sample=48
CHOOSE := --set gest_translation.sample=40 --set gest_translation.design=choose

demo: $(RUNS)  ## audit the embedded model (characters, by probability) beside two simulated ones; a report
	$(BIN)/equipoise run embedded --suite quick --probabilities $(CHARACTERS) $(SIZES) $(CHOOSE) --out demo.equipoise
	@$(BIN)/equipoise run simulated/stereotyping --suite ci $(CHARACTERS) --out demo-stereotyping.equipoise >/dev/null
	@$(BIN)/equipoise run simulated/unbiased --suite ci $(CHARACTERS) --out demo-unbiased.equipoise >/dev/null
	$(BIN)/equipoise report demo.equipoise demo-stereotyping.equipoise demo-unbiased.equipoise -o demo.html
	@echo
	@echo "The answers and results are in demo.equipoise: $(BIN)/equipoise show demo.equipoise"
	@echo "The report is in demo.html: open it in a browser."

test: $(READY)  ## run all tests
	POLARS_MAX_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup

test-random: ORDER := --random-order-bucket=global --random-order-seed=$(SEED)
test-random: $(READY)  ## run all tests in a random order, and print its seed
	@echo "The order of the tests has the seed $(SEED); to repeat it: make test-random SEED=$(SEED)"
	POLARS_MAX_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup $(ORDER)

kernels: $(READY)  ## check that results are the same on other processors: under each kernel of OpenBLAS
	$(BIN)/python -m benchmarks.kernels

mutate: $(READY)  ## change the code in 300 small ways, and list the changes that no test notices (AREA=other)
	$(BIN)/python -m benchmarks.mutate --area $(or $(AREA),statistics)

check: $(READY)  ## lint, types, import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

generate: $(READY)  ## fill the generated tables of docs/ and of the cards, and the JSON Schemas
	$(BIN)/python docs/generate.py

detectors: $(READY)  ## how often real answers are read wrongly; written into cards and docs (needs the answers)
	$(BIN)/python -m benchmarks.detectors --write

docs: $(READY)  ## build the documentation site into build/site
	$(BIN)/python docs/gather.py
	$(BIN)/zensical build --strict --clean

format: $(READY)  ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

calibrate: $(READY)  ## simulate models, and write how intervals, marks, tests and gates hold to docs/calibration.md (40 minutes; needs the corpora)
	POLARS_MAX_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.calibrate --write

calibrate-full: $(READY)  ## the same with 2,000 runs a row (two hours or more)
	POLARS_MAX_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.calibrate --full --write

bench: $(READY)  ## measure beside peers, and write docs/benchmarks.md (half an hour)
	$(BIN)/python -m benchmarks --write

bench-quick: $(READY)  ## the same in small, for scoring, asking and starting; nothing is written
	$(BIN)/python -m benchmarks --quick

fuzz: $(READY)  ## throw random damage at everything, and write the counts into docs/faults.md (ten minutes)
	$(BIN)/python -m benchmarks.fuzz --write

clean:  ## remove the virtual environments
	rm -rf $(VENV) .venv-*

$(RUNS): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	$(call install,embedded)
	touch $@

$(READY): $(RUNS)
	$(call install,$(EXTRAS))
	touch $@
