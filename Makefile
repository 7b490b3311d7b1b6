# airgap: `make help` lists the targets.
SHELL := /bin/bash
GO ?= go
ifneq ($(filter-out help,$(MAKECMDGOALS)),)
ifeq ($(shell command -v $(GO)),)
$(error program "$(GO)" is not on PATH: airgap needs Go 1.26 to build. sudo sets another PATH: run sudo env "PATH=$$PATH" make $(MAKECMDGOALS))
endif
endif
# A fixed length, so that clones of any depth have the same name. Files that the
# program makes have the time of the commit, not of the clock.
VERSION ?= $(shell git describe --tags --always --abbrev=12 --dirty 2>/dev/null || echo devel)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)
TOOLS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/airgap-tools
STAMPED := airgap.dev/airgap/internal/version
LINT_VERSION := v2.15.0
GOLANGCI := $(TOOLS)/golangci-lint-$(LINT_VERSION)
FUZZTIME ?= 10s
# NVIDIA's header marks functions that go-nvml must wrap as deprecated.
test lint fuzz dist/airgap-nvml: export CGO_CFLAGS ?= -O2 -g -Wno-deprecated-declarations

.PHONY: help
help: ## list these targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# -s drops the debug information anyway. These are also the flags of the lab's recipes, so half of
# airgap's dependencies are compiled once for both.
STATIC := -trimpath -buildvcs=false -gcflags=all=-dwarf=false

.PHONY: build
build: licenses/third-party.txt.gz dist/airgap-nvml dist/airgap-probe ## build dist/airgap, static and without cgo, and its helpers dist/airgap-nvml (needs gcc) and dist/airgap-probe
	CGO_ENABLED=0 $(GO) build $(STATIC) -ldflags "-s -w -X $(STAMPED).release=$(VERSION) -X $(STAMPED).committed=$(SOURCE_DATE_EPOCH)" -o dist/airgap ./cmd/airgap

# The program contains the licences, for distribution.
.PHONY: licenses/third-party.txt.gz
licenses/third-party.txt.gz:
	@rm -f licenses/third-party.* && $(GO) run ./cmd/licenses ./cmd/airgap ./cmd/airgap-nvml ./cmd/airgap-probe >$@.new && mv $@.new $@

# For glibc 2.28 of RHEL 8. There libdl and libpthread are separate libraries, so the
# link names them, though gcc here needs neither. NVML's functions are bound
# late (-z lazy): the program starts without their library or without some of them. Go's
# cache does not see a change of glibc.h, so a flag has its checksum. Its directory is not
# a flag, since the build ID depends on the flags.
NVML_SOURCE := $(CURDIR)/cmd/airgap-nvml
NVML_LINK := -Wl,-z,lazy -Wl,--wrap=__libc_start_main -Wl,--push-state,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0 -Wl,--pop-state
NVML_OUT ?= dist/airgap-nvml

.PHONY: dist/airgap-nvml
dist/airgap-nvml:
	$(if $(NVML_GOCACHE),GOCACHE=$(NVML_GOCACHE)) CGO_ENABLED=1 CPATH=$(NVML_SOURCE)$${CPATH:+:$$CPATH} CGO_CFLAGS="$(CGO_CFLAGS) -include glibc.h -DSUM=$$(cksum <$(NVML_SOURCE)/glibc.h | cut -d' ' -f1)" \
	  $(GO) build -trimpath -buildvcs=false -tags netgo,osusergo -ldflags "-s -w -linkmode=external -extldflags '$(NVML_LINK)'" -o $(NVML_OUT) ./cmd/airgap-nvml

.PHONY: dist/airgap-probe
dist/airgap-probe:
	CGO_ENABLED=0 $(GO) build $(STATIC) -ldflags "-s -w" -o $@ ./cmd/airgap-probe

# The bytes depend only on the source, Go and gcc.
PLAIN := env -u CGO_CFLAGS -u CGO_LDFLAGS -u CPATH -u GOEXPERIMENT GOFLAGS=-buildvcs=false GOOS=linux GOARCH=amd64 GOAMD64=v1
RELEASE := dist/airgap-$(VERSION)

.PHONY: release
release: ## dist/airgap-VERSION: programs, airgap.rpm, SBOM and checksums, signed like bundles; RELEASE_KEY=FILE or KEYS=DIR: use these keys; DIRTY=1: accept a changed tree
	@changed=$$(git status --porcelain) || exit 1; if [ -n "$$changed" ] && [ -z "$(DIRTY)" ]; then \
	  printf 'make release: the tree has changes that no commit contains. Commit them, or set DIRTY=1:\n%s\n' "$$changed" >&2; exit 1; fi; \
	case "$$changed,$(VERSION)" in ,* | *-dirty) ;; *) echo 'make release: the version of a changed tree must end with -dirty: git add the new files, or set VERSION=$(VERSION)-dirty' >&2; exit 1;; esac
	$(PLAIN) $(MAKE) build VERSION=$(VERSION) SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH)
	rm -rf $(RELEASE)
	dist/airgap release --out $(RELEASE) $(if $(KEYS),--keys $(KEYS)) $(if $(NEW_KEYS),--new-keys) $(if $(RELEASE_KEY),--sign-key $(RELEASE_KEY))

.PHONY: release-check
release-check: ## two releases of HEAD, built in different directories by different users, are identical; COLD=1: the second build uses an empty cache
	.ci/release-check $(if $(COLD),cold)

.PHONY: test
test: ## unit tests: no root, no network beyond loopback, at most 20 minutes on 2 cores
	$(GO) vet ./...
	$(GO) test -vet=off ./verify ./registry ./verify/dataplane ./... # vetted above; the longest first, so that no CPU is idle at the end

.PHONY: race
race: ## unit tests with the race detector, one package at a time: each takes several times as long
	$(GO) test -race -p 1 -count=1 -timeout 60m ./...

.PHONY: lint
lint: $(GOLANGCI) ## the pinned linters on both modules, and the check for plain English (go run ./cmd/prose -v NAME)
	$(GOLANGCI) run ./...
	cd e2e && $(GOLANGCI) run ./...
	$(GO) run ./cmd/prose >/dev/null

# Compiled once: it takes minutes, and `go run` does not cache the linked program.
$(GOLANGCI):
	GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	mv $(TOOLS)/golangci-lint $@

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep ^Fuzz); do \
	    echo "== $$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; done

.PHONY: updates
updates: ## list direct dependencies of both modules that have newer versions (internet)
	@for dir in . e2e; do (cd $$dir && \
	  $(GO) list -m -u -f '{{with .Update}}{{$$.Path}} {{$$.Version}} → {{.Version}}{{end}}' \
	    $$($(GO) list -m -f '{{if not (or .Indirect .Main)}}{{.Path}}{{end}}' all)) || exit 1; done

.PHONY: packages
packages: ## check the kernel and install the Debian packages that the lab needs (root)
	@[ $$(id -u) = 0 ] || { echo "the lab's servers need root: run make $(or $(MAKECMDGOALS),packages) as root" >&2; exit 1; }
	@cd e2e && $(GO) run ./cmd/kernel
	@missing=$$(for p in $$(cat e2e/debian-packages.txt e2e/upstream/debian-packages.txt); do \
	  dpkg-query -W -f '$${db:Status-Status}' $$p 2>/dev/null | grep -qx installed || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	  echo "installing $$(echo $$missing | wc -w) Debian packages that the lab needs ..."; log=$$(mktemp); \
	  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $$missing; } >$$log 2>&1 </dev/null \
	    || { tail -n 20 $$log; echo "full output of apt: $$log" >&2; exit 1; }; rm $$log; fi

.PHONY: lab
lab: packages ## build the lab's parts once into its cache (root; 20 minutes the first time)
	cd e2e && $(GO) run ./cmd/lab prepare

.PHONY: lab-test
lab-test: build lab ## tests of the lab: its servers, network and upstream (root)
	AIRGAP_REQUIRE_FUSE=1 $(GO) test -count=1 -run '^(TestAMountedStickThatLies|TestNoLocks)$$' ./bundle
	cd e2e && $(GO) vet ./... && AIRGAP_LAB=1 $(GO) test -timeout 20m ./...

.PHONY: first-run
first-run: ## say how long the first run takes, before it
	@[ -e "$${AIRGAP_LAB_CACHE:-$$HOME/.cache/airgap-lab}/stages/programs kubernetes" ] || \
	  echo "The first run compiles Kubernetes and its parts: about 20 minutes on 2 idle cores. Later runs take two minutes."

.PHONY: demo
demo: first-run packages build ## show the whole journey: bundle, air-gapped servers, cluster, verdict (root)
	cd e2e && $(GO) run ./cmd/lab demo $(if $(KEEP),--keep)

.PHONY: picture
picture: packages build ## record the README's picture from a demo (root)
	cd e2e && $(GO) run ./cmd/picture ../docs/demo.svg $(GO) run ./cmd/lab demo

.PHONY: e2e
e2e: $(if $(HOSTS),,packages) build $(if $(HOSTS),,lab) ## lab scenarios: make e2e RUN=journey (root); HOSTS=FILE: run on the empty servers in FILE through SSH, without the lab
	cd e2e && $(GO) run ./cmd/lab run $(if $(HOSTS),--hosts "$(abspath $(HOSTS))") $(RUN)

.PHONY: bench
bench: packages build lab ## figures and their limits, one line each; RUN=verification: one part; RUN=fleet: 300 simulated hosts; RUN=solver: plans next to dnf; RUN=firstminute: the demo with empty caches; RUN=scale (100,000 pods) needs 12 GB of memory; LARGE=50 needs disk for a bundle of 50 GB (root)
	cd e2e && $(GO) run ./cmd/lab bench $(RUN) $(if $(LARGE),--large $(LARGE))

CHAOS_SEEDS ?= 1000

.PHONY: chaos
chaos: ## verify under random faults: CHAOS_SEEDS (1000) seeds; prints faults and verdicts by kind, and the longest time to a right verdict
	AIRGAP_CHAOS_SEEDS=$(CHAOS_SEEDS) $(GO) test ./verify -run '^TestChaos$$' -count=1 -v -timeout 60m 2>&1 | grep -vE '^ *(=== |--- PASS.*/|W[0-9]+ .*mutation_detector)'; exit $${PIPESTATUS[0]}
