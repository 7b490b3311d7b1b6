# airgap: `make help` lists what there is.
SHELL := /bin/bash
GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
TOOLS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/airgap-tools
LINT_VERSION := v2.15.0
GOLANGCI := $(TOOLS)/golangci-lint-$(LINT_VERSION)
FUZZTIME ?= 10s
# NVIDIA's header marks as deprecated what go-nvml has to wrap.
test lint fuzz dist/airgap-nvml: export CGO_CFLAGS ?= -O2 -g -Wno-deprecated-declarations

.PHONY: help
help: ## list these targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: build
build: dist/airgap-nvml ## build dist/airgap, static and without cgo, and its helper dist/airgap-nvml (needs gcc)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.release=$(VERSION)" -o dist/airgap ./cmd/airgap

# For glibc 2.28, RHEL 8's. There libdl and libpthread are libraries by themselves,
# so it asks for them though gcc here needs neither. NVML's functions are bound
# late (-z lazy): it starts where their library is missing or lacks some. Go's
# cache does not see when glibc.h changes, hence its sum.
NVML_SOURCE := $(CURDIR)/cmd/airgap-nvml
NVML_LINK := -Wl,-z,lazy -Wl,--wrap=__libc_start_main -Wl,--push-state,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0 -Wl,--pop-state
NVML_OUT ?= dist/airgap-nvml

.PHONY: dist/airgap-nvml
dist/airgap-nvml:
	CGO_ENABLED=1 CGO_CFLAGS="$(CGO_CFLAGS) -include $(NVML_SOURCE)/glibc.h -DSUM=$$(cksum <$(NVML_SOURCE)/glibc.h | cut -d' ' -f1)" \
	  $(GO) build -trimpath -tags netgo,osusergo -ldflags "-s -w -linkmode=external -extldflags '$(NVML_LINK)'" -o $(NVML_OUT) ./cmd/airgap-nvml

.PHONY: test
test: ## unit tests: no root, no network beyond loopback, at most 5 minutes
	$(GO) vet ./...
	$(GO) test ./...

.PHONY: lint
lint: $(GOLANGCI) ## the linters over both modules, at the pinned version
	$(GOLANGCI) run ./...
	cd e2e && $(GOLANGCI) run ./...

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

.PHONY: packages
packages: ## the Debian packages the lab needs, installed where they are missing (root)
	@missing=$$(for p in $$(cat e2e/debian-packages.txt e2e/upstream/debian-packages.txt); do \
	  dpkg-query -W -f '$${db:Status-Status}' $$p 2>/dev/null | grep -qx installed || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	  apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends $$missing; fi

.PHONY: lab
lab: packages ## what the lab needs, built once into its cache (root; 15 minutes cold)
	cd e2e && $(GO) run ./cmd/lab prepare

.PHONY: lab-test
lab-test: lab ## the lab's own tests: its servers, its network, its upstream (root)
	cd e2e && $(GO) vet ./... && AIRGAP_LAB=1 $(GO) test -timeout 20m ./...

.PHONY: demo
demo: build lab ## the main job on a terminal: bundle, air-gapped servers, cluster, verdict (root)
	cd e2e && $(GO) run ./cmd/lab demo $(if $(KEEP),--keep)

.PHONY: e2e
e2e: build lab ## lab scenarios: make e2e RUN=journey (root)
	cd e2e && $(GO) run ./cmd/lab run $(RUN)

.PHONY: bench
bench: build lab ## figures against their targets, one line each; RUN=verification: some of them; RUN=scale, of 100,000 pods, wants 12 GB of memory; LARGE=50: of a bundle of 50 GB, which wants that disk (root)
	cd e2e && $(GO) run ./cmd/lab bench $(RUN) $(if $(LARGE),--large $(LARGE))
