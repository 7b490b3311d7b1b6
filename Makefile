# airgap: `make help` lists the targets.
SHELL := /bin/bash
GO ?= go
ifneq ($(filter-out help,$(MAKECMDGOALS)),)
ifeq ($(shell command -v $(GO)),)
$(error there is no program "$(GO)" on PATH: airgap is built with Go 1.26. sudo has a PATH of its own: sudo env "PATH=$$PATH" make $(MAKECMDGOALS))
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

.PHONY: build
build: licenses/third-party.txt.gz dist/airgap-nvml dist/airgap-probe ## build dist/airgap, static and without cgo, and its helpers dist/airgap-nvml (needs gcc) and dist/airgap-probe
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags "-s -w -X $(STAMPED).release=$(VERSION) -X $(STAMPED).committed=$(SOURCE_DATE_EPOCH)" -o dist/airgap ./cmd/airgap

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
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags "-s -w" -o $@ ./cmd/airgap-probe

# The bytes depend only on the source, Go and gcc.
PLAIN := env -u CGO_CFLAGS -u CGO_LDFLAGS -u CPATH -u GOEXPERIMENT GOFLAGS=-buildvcs=false GOOS=linux GOARCH=amd64 GOAMD64=v1
RELEASE := dist/airgap-$(VERSION)

.PHONY: release
release: ## dist/airgap-VERSION: programs, airgap.rpm, SBOM, sums, signed as bundles are; RELEASE_KEY=FILE: with that key, KEYS=DIR: with those; DIRTY=1: of a changed tree
	@changed=$$(git status --porcelain) || exit 1; if [ -n "$$changed" ] && [ -z "$(DIRTY)" ]; then \
	  printf 'make release: this would be of no commit, for the tree has changes (DIRTY=1 makes it all the same):\n%s\n' "$$changed" >&2; exit 1; fi; \
	case "$$changed,$(VERSION)" in ,* | *-dirty) ;; *) echo 'make release: the version of a changed tree ends with -dirty: git add what is new, or VERSION=$(VERSION)-dirty' >&2; exit 1;; esac
	$(PLAIN) $(MAKE) build VERSION=$(VERSION) SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH)
	rm -rf $(RELEASE)
	dist/airgap release --out $(RELEASE) $(if $(KEYS),--keys $(KEYS)) $(if $(RELEASE_KEY),--sign-key $(RELEASE_KEY))

.PHONY: release-check
release-check: ## two releases of HEAD, in other directories, by other users, are the same bytes; COLD=1: also when all is compiled anew
	.ci/release-check $(if $(COLD),cold)

.PHONY: test
test: ## unit tests: no root, no network beyond loopback, at most 10 minutes on 2 cores
	$(GO) vet ./...
	$(GO) test ./...

.PHONY: race
race: ## the unit tests with the race detector: one package after the other, for each takes several times as long
	$(GO) test -race -p 1 -count=1 -timeout 60m ./...

.PHONY: lint
lint: $(GOLANGCI) ## the linters over both modules, at the pinned version, and plain words in code and pages (go run ./cmd/prose -v NAME)
	$(GOLANGCI) run ./...
	cd e2e && $(GOLANGCI) run ./...
	$(GO) run ./cmd/prose >/dev/null

# Compiled once: minutes, and more than `go run` would keep.
$(GOLANGCI):
	GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	mv $(TOOLS)/golangci-lint $@

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (10s)
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep ^Fuzz); do \
	    echo "== $$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; done

.PHONY: updates
updates: ## modules that both go.mod require directly, of which there are newer versions (internet)
	@for dir in . e2e; do (cd $$dir && \
	  $(GO) list -m -u -f '{{with .Update}}{{$$.Path}} {{$$.Version}} → {{.Version}}{{end}}' \
	    $$($(GO) list -m -f '{{if not (or .Indirect .Main)}}{{.Path}}{{end}}' all)) || exit 1; done

.PHONY: packages
packages: ## the Debian packages the lab needs, installed where they are missing, if this machine's kernel can carry the lab (root)
	@[ $$(id -u) = 0 ] || { echo "the lab's servers want root: make $(or $(MAKECMDGOALS),packages) as root" >&2; exit 1; }
	@cd e2e && $(GO) run ./cmd/kernel
	@missing=$$(for p in $$(cat e2e/debian-packages.txt e2e/upstream/debian-packages.txt); do \
	  dpkg-query -W -f '$${db:Status-Status}' $$p 2>/dev/null | grep -qx installed || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	  echo "installing $$(echo $$missing | wc -w) Debian packages that the lab needs ..."; log=$$(mktemp); \
	  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $$missing; } >$$log 2>&1 </dev/null \
	    || { tail -n 20 $$log; echo "all of what apt said: $$log" >&2; exit 1; }; rm $$log; fi

.PHONY: lab
lab: packages ## what the lab needs, built once into its cache (root; 20 minutes cold)
	cd e2e && $(GO) run ./cmd/lab prepare

.PHONY: lab-test
lab-test: lab ## the lab's own tests: its servers, its network, its upstream (root)
	AIRGAP_REQUIRE_FUSE=1 $(GO) test -count=1 -run TestAMountedStickThatLies ./bundle
	cd e2e && $(GO) vet ./... && AIRGAP_LAB=1 $(GO) test -timeout 20m ./...

.PHONY: demo
demo: packages build lab ## the main job on a terminal: bundle, air-gapped servers, cluster, verdict (root)
	cd e2e && $(GO) run ./cmd/lab demo $(if $(KEEP),--keep)

.PHONY: picture
picture: packages build lab ## the README's picture, from a demo of now (root)
	cd e2e && $(GO) run ./cmd/picture ../docs/demo.svg $(GO) run ./cmd/lab demo

.PHONY: e2e
e2e: $(if $(HOSTS),,packages) build $(if $(HOSTS),,lab) ## lab scenarios: make e2e RUN=journey (root); HOSTS=FILE: those that can on the empty servers which it names, through SSH, nothing of the lab needed
	cd e2e && $(GO) run ./cmd/lab run $(if $(HOSTS),--hosts "$(abspath $(HOSTS))") $(RUN)

.PHONY: bench
bench: packages build lab ## figures against their targets, one line each; RUN=verification: some of them; RUN=scale, of 100,000 pods, wants 12 GB of memory; LARGE=50: of a bundle of 50 GB, which wants that disk (root)
	cd e2e && $(GO) run ./cmd/lab bench $(RUN) $(if $(LARGE),--large $(LARGE))

CHAOS_SEEDS ?= 1000

.PHONY: chaos
chaos: ## verify under faults by chance: CHAOS_SEEDS (1000) seeds, faults and verdicts by sort, the longest time to a right verdict
	AIRGAP_CHAOS_SEEDS=$(CHAOS_SEEDS) $(GO) test ./verify -run '^TestChaos$$' -count=1 -v -timeout 60m 2>&1 | grep -vE '^ *(=== |--- PASS.*/|W[0-9]+ .*mutation_detector)'; exit $${PIPESTATUS[0]}
