# make help lists the targets. A build needs Go only; .ci/run installs what the others need.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
export CGO_ENABLED = 0

# The recorder needs root; sudo is there for those who are not.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

GOBUILD := go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)'

# testsummary is go test with readable output. RESULTS=FILE collects the results of several runs.
GOTEST := go run ./scripts/testsummary $(if $(RESULTS),-results $(RESULTS))

# What go generate writes, from bpf/*.c and bpf/*.h.
GENERATED = $(wildcard bpf/*_bpfel.go bpf/*_bpfel.o) tracer/event/events_gen.go docs/events.md

# Packages with a test behind a build tag: only those are built again for it. Those that record this machine
# run one after the other: some empty the page cache, others count what is read.
KERNELTESTS = ./tracer/record/... ./cmd/...
VMTESTS = ./scripts/vmtest/... ./scripts/boottest/... ./scripts/idletest/...

# The systems and architectures that analyse traces, and record them if they are Linux.
PLATFORMS = linux/amd64 linux/arm64 darwin/arm64 windows/amd64

# Those that only build: traces can be analysed there, there are no BPF programs to record with.
OTHERS = linux/arm linux/riscv64

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## make bin/bootscope: one static binary, needs Go only
	$(GOBUILD) -o bin/bootscope ./cmd/bootscope

.PHONY: cross
cross: ## make build/bootscope-SYSTEM-ARCHITECTURE for every platform
	@set -e; for p in $(PLATFORMS) $(OTHERS); do \
		out=build/bootscope-$$(echo $$p | tr / -); echo "build $$out"; \
		GOARM=7 GOOS=$${p%/*} GOARCH=$${p#*/} $(GOBUILD) -o $$out ./cmd/bootscope; \
	done

.PHONY: demo
demo: build ## record a real Python start-up, print the report, write demo.chrome.json
	$(SUDO) bin/bootscope record --force -o demo.bst -- python3 -c 'import asyncio, http.server, email.message'
	@$(if $(SUDO),$(SUDO) chown "$$(id -u):$$(id -g)" demo.bst)
	bin/bootscope report demo.bst
	bin/bootscope export --force --format chrome -o demo.chrome.json demo.bst
	@echo "Open demo.chrome.json in ui.perfetto.dev or in chrome://tracing."

.PHONY: test
test: ## run the unit tests: fast, no root
	$(GOTEST) -- ./...

.PHONY: kerneltest
kerneltest: build ## run the tests that record on this machine: root
	@if [ "$$(id -u)" != 0 ]; then echo "make kerneltest loads BPF programs: run it as root" >&2; exit 1; fi
	$(GOTEST) -logs -again -- -count=1 -tags kerneltest -timeout 20m -p 1 $(KERNELTESTS)

.PHONY: browsertest
browsertest: ## load trace events in Chromium's trace viewer, write pictures to build/: chromium
	$(GOTEST) -logs -- -count=1 -tags browsertest -timeout 10m -run ChromeViewer ./export

.PHONY: accuracy
accuracy: ## compare import trees with what Python logs itself, write docs/accuracy.md: root
	$(SUDO) env PATH="$$PATH" HOME="$$HOME" go test -count=1 -tags kerneltest -timeout 20m -run TestImportAccuracy -v ./cmd/bootscope -update

.PHONY: vmtest
vmtest: build ## boot Debian's kernels in QEMU and record there: minutes, downloads packages
	$(GOTEST) -logs -again -- -count=1 -tags vmtest -timeout 50m $(VMTESTS)

.PHONY: vmtest-kernels
vmtest-kernels: build ## the part of it that tries every probe on every kernel; UPDATE=-update writes docs/kernels.md
	$(GOTEST) -logs -- -count=1 -tags vmtest -timeout 50m -run TestKernels ./scripts/vmtest $(UPDATE)

.PHONY: vmtest-complete
vmtest-complete: build ## build a kernel of what bootscope check --kernel-config prints, and try every probe there
	$(GOTEST) -logs -- -count=1 -tags vmtest -timeout 50m -run TestBuiltKernels/complete ./scripts/vmtest -complete

.PHONY: bench
bench: build ## measure what tracing costs, beside other tracers, write docs/cost.md: a quiet machine, root, 25 minutes
	$(SUDO) env PATH="$$PATH" HOME="$$HOME" go run ./scripts/bench -write docs/cost.md

.PHONY: bench-smoke
bench-smoke: build ## see that the benchmarks run, and print their tables: root, a minute
	$(SUDO) env PATH="$$PATH" HOME="$$HOME" go run ./scripts/bench -rounds 1 -scale 0.02

.PHONY: size
size: ## say what is in the binary for arm64; fail if it is over 10 MB
	go run ./scripts/size

.PHONY: generate
generate: ## compile the BPF programs and write what is made from them: clang, libbpf-dev
	go generate ./bpf

.PHONY: generate-check
generate-check: ## fail if generated files differ from their sources
	@mkdir -p build && sha256sum $(GENERATED) > build/generated.sum
	go generate ./bpf
	@sha256sum --check --quiet build/generated.sum || \
		{ echo "generated files were out of date: commit what make generate has now made" >&2; exit 1; }

.PHONY: lint
lint: ## check the format, go vet for every platform, staticcheck, import directions, go.mod
	@unformatted=$$(git ls-files -z '*.go' | xargs -0 gofmt -l); \
		if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:" $$unformatted >&2; exit 1; fi
	go mod tidy -diff
	@set -e; for p in $(PLATFORMS); do echo "go vet for $$p"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} go vet ./...; done
	go vet -tags kerneltest,vmtest,browsertest ./...
	go tool staticcheck -tags kerneltest,vmtest,browsertest ./...
	go test ./scripts/layering
