# Every target sets itself up. The package is installed editable, so Python sources take effect as they are
# saved; only a change of the core or of the build files compiles again, and then only what changed: the build
# tools live in the environment (not in pip's throw-away one) and objects stay in build/.

PYTHON ?= python3
WORKERS ?= 2
MINUTES ?= 10
CELLS ?= gcc14 clang19 free-threaded python314
WHEELS ?= native aarch64

VENV := .venv
SANITIZE := .venv-sanitize
# Python compiles a module when it is first imported; of what is installed, most never is.
PIP_FLAGS := -qq --disable-pip-version-check --no-compile
BUILD_TOOLS := "scikit-build-core>=0.11" "nanobind>=2.5" cmake ninja
# (pip knows --config-settings by its short name from 23.1 on; Debian 12 has 23.0.)
EDITABLE := --no-build-isolation --config-settings=cmake.define.DUALFIELD_DEVELOPMENT=ON

# Folders are listed too: their times tell of removed files.
BUILD_INPUTS := CMakeLists.txt pyproject.toml $(shell find core) $(shell find src -type d -not -name __pycache__)
CORE_SOURCES := $(shell find core tests/tsan tests/fuzz -name '*.[ch]pp' -o -name '*.[ch]')

.DEFAULT_GOAL := help
.PHONY: help demo test lint docs sanitize tsan fuzz bench build-time portability wheels papers papers-quick clean

help:
	@echo "make demo      build, then train and evaluate a small model beside CRFsuite, and write its report"
	@echo "make test      build, then run the tests"
	@echo "make lint      check style and types: ruff, mypy, clang-format"
	@echo "make docs      build the site into site/, refusing warnings"
	@echo "make sanitize  run the tests of the core under the address and undefined-behaviour sanitizers"
	@echo "make tsan      run what works on several threads under the thread sanitizer"
	@echo "make fuzz      try random and hostile input for MINUTES=10, under the sanitizers"
	@echo "make bench     compare with CRFsuite on CoNLL-2000"
	@echo "make build-time  how long builds take and how much memory they need, beside their ceilings"
	@echo "make portability  build and test with other compilers and Pythons, in chroots; needs root; CELLS says which"
	@echo "make wheels    wheels for this machine and for AArch64, each tried in an empty environment, into build/wheels"
	@echo "make papers-quick  the papers' figures at reduced size, in minutes, into build/papers-quick"
	@echo "make papers    the papers' figures in full, for hours, into benchmarks/results; goes on where it stopped"
	@echo "make clean     remove environments, builds and caches"

demo: $(VENV)/.demo
	$(VENV)/bin/dualfield demo

test: $(VENV)/.test
	$(VENV)/bin/pytest -n $(WORKERS)

lint: $(VENV)/.lint
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/clang-format --dry-run --Werror $(CORE_SOURCES)

docs: $(VENV)/.docs
	rm -rf site
	$(VENV)/bin/sphinx-build -q -W --keep-going -c docs -d build/docs . site
	@echo "The site begins at site/index.html"

bench: $(VENV)/.bench
	$(VENV)/bin/python benchmarks/peers/conll2000.py

build-time: $(VENV)/.tools
	$(VENV)/bin/python benchmarks/build_time.py

portability:
	set -e; for cell in $(CELLS); do echo "==> $$cell"; tests/portability/in_chroot.sh $$cell; done

# Numbers of the wheel for AArch64 are compared with those of the development build.
wheels: $(VENV)/.test
	$(VENV)/bin/python tests/portability/wheels.py $(WHEELS)

# Single-threaded, so that oracle calls and seconds can be compared.
papers papers-quick: $(VENV)/.bench
	OMP_NUM_THREADS=1 $(VENV)/bin/python benchmarks/papers/everything.py $(if $(filter papers-quick,$@),--quick)

# Python itself is not instrumented, so the runtime comes first by preloading; libstdc++ goes with it, or the
# sanitizer cannot follow C++ exceptions. CPython never frees everything, so leaks say nothing. Capturing only
# Python's own output lets the report of a crash through.
PRELOAD = $(shell $(CXX) -print-file-name=libasan.so) $(shell $(CXX) -print-file-name=libstdc++.so)
sanitize: $(SANITIZE)/.test
	LD_PRELOAD="$(PRELOAD)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	$(SANITIZE)/bin/python -m pytest -n $(WORKERS) --thin 16 --capture=sys tests/core tests/fields tests/solvers \
		tests/features/test_encode.py tests/features/test_templates.py tests/features/test_tokens.py \
		tests/tagging/test_column_tagger.py tests/tagging/test_sequence_tagger.py tests/compat/pycrfsuite \
		tests/distributed/test_ranks.py tests/distributed/test_joined_runs.py

# A programme of its own: under Python, every access of the interpreter would be looked at too.
tsan: build/tsan/threads
	build/tsan/threads

build/tsan/threads: tests/tsan/threads.cpp $(CORE_SOURCES)
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -O1 -g -fopenmp-simd -Wall -Wextra -fsanitize=thread -pthread -Icore $< -o $@

# A driver a target: the target tells which blocks it runs, the driver does not. The target comes first, so that of
# functions which both have, the instrumented one is kept. The library's assertions see an index out of range.
FUZZERS := $(patsubst tests/fuzz/targets/%.cpp,build/fuzz/%,$(wildcard tests/fuzz/targets/*.cpp))
FUZZ_FLAGS := -std=c++20 -O2 -g1 -fopenmp-simd -Wall -Wextra -D_GLIBCXX_ASSERTIONS -Icore -Itests/fuzz \
	-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all

fuzz: $(FUZZERS) $(SANITIZE)/.test
	$(SANITIZE)/bin/python tests/fuzz/everything.py --minutes $(MINUTES) --workers $(WORKERS) --preload "$(PRELOAD)" \
		$(if $(SEED),--seed $(SEED))

$(FUZZERS): build/fuzz/%: build/fuzz/%.o build/fuzz/driver.o
	$(CXX) $(FUZZ_FLAGS) $^ -o $@

build/fuzz/driver.o: tests/fuzz/driver.cpp
	@mkdir -p $(@D)
	$(CXX) $(FUZZ_FLAGS) -c $< -o $@

build/fuzz/%.o: tests/fuzz/targets/%.cpp $(CORE_SOURCES)
	@mkdir -p $(@D)
	$(CXX) $(FUZZ_FLAGS) -fsanitize-coverage=trace-pc -c $< -o $@

clean:
	rm -rf $(VENV) $(SANITIZE) build dist site .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.tools $(SANITIZE)/.tools: %/.tools: pyproject.toml
	@echo "Setting up $* ..."
	$(PYTHON) -m venv $*
	$*/bin/pip install $(PIP_FLAGS) $(BUILD_TOOLS)
	@touch $@

$(VENV)/.package: $(VENV)/.tools $(BUILD_INPUTS)
	@echo "Building dualfield ..."
	$(VENV)/bin/pip install $(PIP_FLAGS) $(EDITABLE) --config-settings=build-dir=build/development -e .
	@touch $@

$(SANITIZE)/.package: $(SANITIZE)/.tools $(BUILD_INPUTS)
	@echo "Building dualfield with sanitizers ..."
	$(SANITIZE)/bin/pip install $(PIP_FLAGS) $(EDITABLE) --config-settings=build-dir=build/sanitize \
		--config-settings=install.strip=false --config-settings=cmake.define.DUALFIELD_SANITIZE=ON -e .
	@touch $@

# An extra of the package that is already installed adds its tools and builds nothing.
EXTRAS := $(addprefix $(VENV)/.,test lint bench docs examples)
$(EXTRAS): $(VENV)/.%: pyproject.toml | $(VENV)/.package
	$(VENV)/bin/pip install $(PIP_FLAGS) "dualfield[$*]"
	@touch $@

# The report, and CRFsuite to compare with: a small wheel, and where there is none the demonstration says so.
$(VENV)/.demo: pyproject.toml | $(VENV)/.package
	@$(VENV)/bin/pip install $(PIP_FLAGS) --only-binary :all: "dualfield[report]" python-crfsuite && touch $@ || { \
		echo "python-crfsuite could not be installed; the demonstration goes on without it."; \
		$(VENV)/bin/pip install $(PIP_FLAGS) "dualfield[report]"; }

$(SANITIZE)/.test: pyproject.toml | $(SANITIZE)/.package
	$(SANITIZE)/bin/pip install $(PIP_FLAGS) "dualfield[test]"
	@touch $@
