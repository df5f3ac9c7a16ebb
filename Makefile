# The front door. Each line of work is a CMake preset with a build folder of its own, build/NAME.
JOBS ?= $(shell nproc)
NINJA = ninja -j$(JOBS)
CTEST = ctest --no-label-summary --output-on-failure -j$(JOBS)

.PHONY: peer-files release demo test test-clang test-target test-aarch64 bench asan fuzz fuzz-commands fuzz-misuse fuzz-passes fuzz-rewrites \
  fuzz-strides fuzz-cache fuzz-compile fuzz-partial fuzz-reduce fuzz-cuda bless fuzz-budgets peer peer-fuzz peer-partition peer-onnx peer-onnx-export peer-opinfo peer-tokenizer mutate \
  fuzz-build fuzz-hostile package check-package check-wheel python peer-backend \
  peer-architectures peer-training doc \
  format tidy setup clean
release: build/release/build.ninja
	@$(NINJA) -C build/release

setup:
	@script/setup

build/%/build.ninja:
	@cmake --preset $*

# A GPT learns the King James Bible. Builds the command and its plug-in alone.
demo:
	@echo "== demo 1 of 4: packages"
	@script/setup
	@echo "== demo 2 of 4: build the command (7 minutes on 2 cores, the first time)"
	@$(MAKE) -s build/release/build.ninja
	@$(NINJA) -C build/release cleave_tool
	@echo "== demo 3 of 4: the text"
	@script/demo_text build/demo/kjv.txt
	@echo "== demo 4 of 4: train"
	@build/release/bin/cleave train --text build/demo/kjv.txt --layers 4 --width 128 --heads 4 \
	  --context 64 --batch 12 --steps 1000 --out build/demo/gpt.safetensors

# Built by g++; read by clang, its warnings and clang-tidy; all tests and the developer scripts, whatever
# clang says; then how each went.
test:
	@echo "== test 1 of 4: packages"
	@script/setup
	@$(MAKE) -s build/release/build.ninja build/clang/build.ninja
	@cmake --preset release -DCLEAVE_PYTHON=$$($(PYTHON) python/test/run.py --can-build) \
	  -DPython_EXECUTABLE=$$(command -v $(PYTHON)) > /dev/null
	@echo "== test 2 of 4: build with g++"
	@$(NINJA) -C build/release all tests benches
	@status=0; echo "== test 3 of 4: read with clang"; script/tidy build/clang || status=1; \
	echo "== test 4 of 4: run the tests"; script/test_trees "$(CTEST)" build/release || status=1; \
	[ $$status = 0 ] || { echo "== FAILED"; exit 1; }

# Built by clang, and the tests of that build. Before a release, and after changes of what compilers may read
# differently (order of evaluation, floating point, intrinsics).
test-clang: build/clang/build.ninja
	@$(NINJA) -C build/clang all tests benches
	@script/test_trees "$(CTEST)" build/clang

# The Python package in build/release/python, and its tests: make python PYTHON=python3.
PYTHON ?= python3
python: build/release/build.ninja
	@cmake --preset release -DCLEAVE_PYTHON=ON -DPython_EXECUTABLE=$$(command -v $(PYTHON)) > /dev/null
	@$(NINJA) -C build/release cleave_python cleave_stub
	@$(PYTHON) python/test/run.py build/release/python

# torch.compile's training steps beside Inductor's: make peer-backend MODELS="mlp gpt". A minute for each.
peer-backend: build/release/build.ninja
	@cmake --preset release -DCLEAVE_PYTHON=ON -DPython_EXECUTABLE=$$(command -v $(PYTHON)) > /dev/null
	@$(NINJA) -C build/release cleave_python
	@PYTHONPATH=build/release/python $(PYTHON) bench/peer_backend.py $(MODELS)

# What of 66 architectures the backend covers, and how exactly: make peer-architectures MODELS="timm/coat". 20 seconds for each.
peer-architectures: build/release/build.ninja
	@cmake --preset release -DCLEAVE_PYTHON=ON -DPython_EXECUTABLE=$$(command -v $(PYTHON)) > /dev/null
	@$(NINJA) -C build/release cleave_python
	@PYTHONPATH=build/release/python $(PYTHON) bench/peer_architectures.py $(MODELS)

# Gradients of .pt2 files of the same beside eager mode's: make peer-files MODELS="transformers/llama". 2 seconds for each.
peer-files: build/release/build.ninja
	@cmake --preset release -DCLEAVE_PYTHON=ON -DPython_EXECUTABLE=$$(command -v $(PYTHON)) > /dev/null
	@$(NINJA) -C build/release cleave_python
	@PYTHONPATH=build/release/python $(PYTHON) bench/peer_files.py $(MODELS)

# Training loops of other projects by the backend, 500 steps beside eager's: timm's parts; nanoGPT's train.py, unchanged, where
# a checkout is given: make peer-training NANOGPT=../nanoGPT.
NANOGPT ?= ../nanoGPT
peer-training: build/release/build.ninja
	@cmake --preset release -DCLEAVE_PYTHON=ON -DPython_EXECUTABLE=$$(command -v $(PYTHON)) > /dev/null
	@$(NINJA) -C build/release cleave_python
	@PYTHONPATH=build/release/python $(PYTHON) test/peer/timm_loop.py || [ $$? -eq 77 ]
	@PYTHONPATH=build/release/python $(PYTHON) test/peer/nanogpt.py $(NANOGPT) || [ $$? -eq 77 ]

# What depends on the instruction set goes through all that this machine has in `make test`. This is
# everything else on a lesser processor: make test-target TARGET=x86-64-v3.
TARGET ?= x86-64-v3
test-target: build/release/build.ninja
	@$(NINJA) -C build/release all tests
	@CLEAVE_TEST_TARGET=$(TARGET) script/test_trees "$(CTEST) --label-exclude 'check|peer'" build/release

# All tests as on aarch64: built by the cross compiler, run in an emulator, which takes about ten times
# as long. Skipped where these are missing.
test-aarch64:
	@script/test_aarch64 "$(NINJA)" "$(CTEST)"

# All of them, whatever one says; then the names of those that failed or are over a limit.
bench: build/release/build.ninja
	@$(NINJA) -C build/release all benches examples
	@failed=; run() { echo "== $$1"; shift; "$$@" || failed="$$failed $$(basename $$1)"; }; \
	for b in build/release/bin/bench_*; do \
	  case $$b in *bench_step|*bench_device_*) continue;; esac; run $$b $$b; done; \
	run "whole training steps" bench/peer_models.py build/release/bin/bench_step; \
	run "the examples' steps" bench/peer_examples.py build/release/bin; \
	run "rows of few columns" bench/peer_small.py build/release/bin/cleave --columns 3,8,17,33,100; \
	run "rows of few columns with AVX2" bench/peer_small.py build/release/bin/cleave --columns 3,8,17,33,100 --target x86-64-v3; \
	export PYTHONPATH=build/release/python; \
	run "small modules of many fields" bench/peer_modules.py; \
	run "single operators" bench/peer_operators.py --below 1; \
	run "elements of random functions" bench/peer_bytes.py build/release/bin/cleave 100 --show 0; \
	run "models as PyTorch exports them" bench/peer_passes.py build/release/bin/cleave; \
	run "programs of timm and transformers" bench/peer_programs.py build/release/bin/cleave --rounds 1; \
	test -z "$$failed" || { echo "== failed or over a limit:$$failed"; exit 1; }

# The whole test suite under AddressSanitizer and UndefinedBehaviorSanitizer.
asan: build/asan/build.ninja
	@$(NINJA) -C build/asan all tests
	@ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1 $(CTEST) --test-dir build/asan

# Random graphs against the oracle: make fuzz N=1000 SEED=0.
N ?= 1000
SEED ?= 0
fuzz: build/release/build.ninja
	@$(NINJA) -C build/release fuzz_graphs
	@script/fuzz_on_all_cores build/release/bin/fuzz_graphs $(N) $(SEED) build/wrong_graphs

# Random instances of the passes' goldens, N for each rule: make fuzz-passes N=100 SEED=0 PASS=.
fuzz-passes: build/release/build.ninja
	@$(NINJA) -C build/release fuzz_passes
	@build/release/bin/fuzz_passes $(N) $(SEED) $(PASS)

# Random graphs with all passes against them without any: make fuzz-rewrites N=1000 SEED=0.
fuzz-rewrites: build/release/build.ninja
	@$(NINJA) -C build/release fuzz_rewrites
	@script/fuzz_on_all_cores build/release/bin/fuzz_rewrites $(N) $(SEED)

# Random graphs in every way that a program can be had: make fuzz-compile N=1000 SEED=0.
fuzz-compile: build/release/build.ninja
	@$(NINJA) -C build/release fuzz_compile
	@script/fuzz_on_all_cores build/release/bin/fuzz_compile $(N) $(SEED) build/wrong_graphs

# Random graphs taken apart in every way: make fuzz-partial N=1000 SEED=0.
fuzz-partial: build/release/build.ninja
	@$(NINJA) -C build/release fuzz_partial
	@script/fuzz_on_all_cores build/release/bin/fuzz_partial $(N) $(SEED) build/wrong_graphs

# Random graphs with planted defects, reduced, and by brute force: make fuzz-reduce N=100 SEED=0.
fuzz-reduce: build/release/build.ninja
	@$(NINJA) -C build/release fuzz_reduce cleave_planted
	@build/release/bin/fuzz_reduce $(N) $(SEED) build/planted_graphs $(JOBS)

# Kernels of random graphs as the threads of a GPU run them: make fuzz-cuda N=1000 SEED=0.
fuzz-cuda: build/release/build.ninja
	@$(NINJA) -C build/release fuzz_cuda
	@script/fuzz_on_all_cores build/release/bin/fuzz_cuda $(N) $(SEED)

# Random graphs with strides against them without: make fuzz-strides N=1000 SEED=0.
fuzz-strides: build/release/build.ninja
	@$(NINJA) -C build/release fuzz_strides
	@script/fuzz_on_all_cores build/release/bin/fuzz_strides $(N) $(SEED) build/wrong_graphs

# Many processes on one cache, faults at each of its calls, altered entries:
# make fuzz-cache P=64 G=200 R=20 N=1000000 SEED=0.
fuzz-cache: build/release/build.ninja
	@$(NINJA) -C build/release fuzz_cache
	@build/release/bin/fuzz_cache processes $(or $(P),8) $(or $(G),20) $(or $(R),3) $(SEED)
	@build/release/bin/fuzz_cache faults $(SEED)
	@build/release/bin/fuzz_cache altered $(N) $(SEED)

# What passes make of their goldens' cases, into the goldens: make bless PASS=.
bless: build/release/build.ninja
	@$(NINJA) -C build/release cleave_tool
	@script/bless $(PASS)

# Random training graphs under memory budgets: make fuzz-budgets N=1000 SEED=0 BUDGETS=5.
fuzz-budgets: build/release/build.ninja
	@$(NINJA) -C build/release fuzz_budgets
	@build/release/bin/fuzz_budgets $(N) $(SEED) $(BUDGETS)

# Random command lines over odd files, options and outputs: make fuzz-commands N=1000 SEED=0.
fuzz-commands: build/release/build.ninja
	@$(NINJA) -C build/release cleave_tool
	@python3 test/tool/fuzz_commands.py build/release/bin/cleave $(N) $(SEED) --jobs $(JOBS)

# Random sequences of calls of the public API, under AddressSanitizer and
# UndefinedBehaviorSanitizer: make fuzz-misuse N=1000 SEED=0.
fuzz-misuse: build/asan/build.ninja
	@$(NINJA) -C build/asan fuzz_misuse
	@ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1 \
	  build/asan/bin/fuzz_misuse $(N) $(SEED)

# Every sample of every operator, and the examples' models, beside PyTorch 2.13.
peer: build/release/build.ninja
	@$(NINJA) -C build/release write_samples examples bin/cleave run_pretrained
	@python3 test/peer/samples.py build/release/bin/write_samples
	@python3 test/peer/examples.py build/release/bin --f64
	@python3 test/peer/autocast.py build/release/bin
	@python3 test/peer/pretrained.py build/release/bin/run_pretrained
	@python3 test/peer/fine_tune.py build/release/bin/cleave

# Random graphs beside PyTorch's results and gradients: make peer-fuzz N=1000 SEED=0.
peer-fuzz: build/release/build.ninja
	@$(NINJA) -C build/release write_graphs
	@python3 test/peer/graphs.py build/release/bin/write_graphs $(N) $(SEED)

# Mode pytorch beside PyTorch's own partitioner on random graphs: make peer-partition N=200 SEED=0.
peer-partition: build/release/build.ninja
	@$(NINJA) -C build/release write_graphs bin/cleave
	@python3 test/peer/partition.py build/release/bin/cleave build/release/bin/write_graphs $(N) $(SEED)

# The cases of ONNX's own node suite: passed, refused and why, wrong. Skipped where the package onnx
# isn't installed for PYTHON: make peer-onnx PYTHON=python3.
PYTHON ?= python3
peer-onnx: build/release/build.ninja
	@$(NINJA) -C build/release run_onnx_cases
	@python3 test/peer/onnx_node_suite.py build/release/bin/run_onnx_cases --python $(PYTHON)

# Every sample of every operator written as ONNX, accepted by onnx.checker, run by onnxruntime; then
# the examples' models. Skipped where these packages aren't installed for PYTHON. Some operators:
# make peer-onnx-export OPERATORS="add sort".
peer-onnx-export: build/release/build.ninja
	@$(NINJA) -C build/release write_onnx_samples bin/cleave
	@python3 test/peer/onnx_export.py build/release/bin/write_onnx_samples --python $(PYTHON) $(OPERATORS)
	@python3 test/peer/onnx_export.py build/release/bin/write_onnx_samples --python $(PYTHON) --opset 18 --first 8 $(OPERATORS)
	@$(PYTHON) test/peer/onnx_export_models.py build/release/bin/cleave || [ $$? -eq 77 ]

# PyTorch's own samples of its operators, forward and backward, in every dtype: passed, refused and
# why, wrong. All samples of two operators: make peer-opinfo SAMPLES=0 OPERATORS="add softmax".
SAMPLES ?= 12
OPERATORS ?=
peer-opinfo: build/release/build.ninja
	@$(NINJA) -C build/release run_exported_calls
	@python3 test/peer/opinfo.py build/release/bin/run_exported_calls --samples $(SAMPLES) $(OPERATORS)

# Tokenizers beside the Python package tokenizers: one of each kind, N drawn ones, tokens a second.
# Skipped where it isn't installed for PYTHON: make peer-tokenizer PYTHON=python3 N=1000 SEED=0.
peer-tokenizer: build/release/build.ninja
	@$(NINJA) -C build/release run_tokenizer
	@$(PYTHON) test/peer/tokenizer_files.py build/release/bin/run_tokenizer --texts 1000 --random $(N) --seed $(SEED) --time

# Rules of the operators broken one at a time: do the laws see it?
mutate: build/release/build.ninja
	@$(NINJA) -C build/release test_law
	@script/mutate --jobs $(JOBS)

fuzz-build: build/fuzz/build.ninja
	@$(NINJA) -C build/fuzz fuzzers

# Every reader of files on any bytes, one after the other, within memory of a multiple of the file's
# size: make fuzz-hostile MINUTES=30 READERS="zip onnx". What is found lies in build/fuzz/found. With
# KEEP=1 the fewest files that reach as much go to test/fuzz, to begin with the next time.
MINUTES ?= 30
READERS ?=
KEEP ?=
fuzz-hostile: fuzz-build
	@script/fuzz_hostile build/fuzz $(MINUTES) $(READERS)
	@test -z "$(KEEP)" || script/fuzz_hostile --keep build/fuzz $(READERS)

# cleave_VERSION_ARCHITECTURE.deb in build/release/package; check-package installs it in a fresh
# Debian 12 and runs README's first example there, check-wheel does so for `pip install .`.
package: build/release/build.ninja
	@$(NINJA) -C build/release package
	@ls build/release/package/*.deb
check-package: package
	@script/check_package build/release/package/cleave_*.deb
check-wheel:
	@script/check_wheel

doc: build/release/build.ninja
	@$(NINJA) -C build/release write_ops write_passes write_options
	@script/doc build/release

format:
	@script/format --write

tidy: build/clang/build.ninja
	@script/tidy build/clang

clean:
	@rm -rf build
