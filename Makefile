# Every target sets up what it needs: Go fetches the modules and the pinned tools.
GO ?= go
BIN := bin/tune
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
FUZZTIME ?= 60s
# The packages whose code runs on several goroutines.
CONCURRENT := . ./cmd/... ./search/... ./results/... ./kernels/...

.PHONY: all build cc test stress race lint fmt generate bench fuzz demo clean

all: build

build:
	CGO_ENABLED=0 $(GO) build -o $(BIN) ./cmd/tune

# The native kernels compile C. A compiler is installed where that is possible without a question; without one
# everything else works, and the tests that need it say so and are skipped.
cc:
	@command -v gcc >/dev/null || command -v clang >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq gcc libc6-dev; \
	else echo "no C compiler found: for the native kernels install gcc (apt-get install gcc)"; fi

# Two minutes of the main job: search, export, and verify what was exported.
demo: build cc
	@dir=runs/demo-$$(date +%Y%m%d-%H%M%S); set -e; \
	$(BIN) run --config treehash --dir $$dir; \
	$(BIN) verify $$dir/best.json; \
	$(BIN) sim $$dir/best.program.json --seed 2026

test: cc
	$(GO) test ./...

# The longer suites: many more kills, cuts and random programs.
stress: cc
	$(GO) test -tags stress -timeout 60m ./...

race: cc
	CGO_ENABLED=1 $(GO) test -race -short -timeout 20m $(CONCURRENT)

lint: race
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "gofmt would change:"; echo "$$out"; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

fmt:
	gofmt -w $$(git ls-files '*.go')

# Rewrites the golden files of the tests.
generate:
	$(GO) test ./kernels/treehash/scalar ./kernels/gemm ./kernels/user -update

bench:
	$(GO) test -run '^$$' -bench . ./...

# Each fuzzer runs for FUZZTIME.
fuzz:
	$(GO) test -run '^$$' -fuzz '^FuzzRead$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 100x ./sim
	$(GO) test -run '^$$' -fuzz '^FuzzExpr$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 100x ./space
	$(GO) test -run '^$$' -fuzz '^FuzzRead$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 100x ./space
	$(GO) test -run '^$$' -fuzz '^FuzzReadJournal$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 100x ./results
	$(GO) test -run '^$$' -fuzz '^FuzzExpr$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 100x ./space/t1
	$(GO) test -run '^$$' -fuzz '^FuzzRead$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 100x ./space/t1
	$(GO) test -run '^$$' -fuzz '^FuzzRead$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 100x ./kernels/user
	$(GO) test -run '^$$' -fuzz '^FuzzRead$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 100x ./results/exchange

clean:
	rm -rf bin
