# Every target sets up what it needs: Go fetches the modules and the pinned tools.
GO ?= go
BIN := bin/tune
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
FUZZTIME ?= 60s
# The packages whose code runs on several goroutines. A strategy runs on one; search runs them all at several jobs.
# Those whose tests take longest come first.
CONCURRENT := . ./search ./kernels/remote ./kernels/native/worker ./results ./kernels/native/... ./search/bench ./search/searchtest \
	./results/session ./results/schedule ./results/library ./kernels ./kernels/recorded
# Of the commands and of users' kernels those tests that search, show, stop and resume.
RUNS := TestSourceOutcomes|TestCommandOutcomes|TestLive|TestPlain|TestPace|TestWork(ing)?$$|TestCounter|TestInterrupt|TestJobs|TestTwo|TestBudget$$|TestEvents|TestFull|TestTerminal|TestScript/(run|resume|progress)$$

.PHONY: all build cc peers test stress race lint fmt generate bench fuzz demo trust record record-all shapes models ablation man clean browser-test chromium screenshots

all: build

build:
	CGO_ENABLED=0 $(GO) build -o $(BIN) ./cmd/tune

# The manual pages, as man/tune.1 and one for each command.
man: build
	@$(BIN) man man

# What bench compares kernels of language models with: ggml, 11 MB of an npm package, into the cache of this user. Tests that need it are
# skipped without it.
peers: build
	@$(BIN) peers fetch

# The native kernels compile C. A compiler is installed where that is possible without a question; without one
# everything else works, and the tests that need it say so and are skipped.
cc:
	@command -v gcc >/dev/null || command -v clang >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq gcc libc6-dev; \
	else echo "no C compiler found: for the native kernels install gcc (apt-get install gcc)"; fi

# Two minutes of the main job: search, export, and verify what was exported.
demo: build
	@dir=runs/demo-$$(date +%Y%m%d-%H%M%S); set -e; \
	$(BIN) run --config treehash --dir $$dir; \
	$(BIN) verify $$dir/best.json; \
	$(BIN) sim $$dir/best.program.json --seed 2026

# What tune's promises are worth: kernels that cheat and honest ones and what became of each, how often a contest errs, the memory of
# a simulated day; see docs/trust.md. Four hours or more on a machine that does nothing else; internal/trust takes parts of it.
trust: cc
	CGO_ENABLED=0 $(GO) run ./internal/trust

# An hour of the main job, with the chart of how the best cost fell; the same where the indices are outputs too.
record: build
	$(call record,values)

record-all: build
	$(call record,all)

define record
	@dir=runs/record-$(1)-$$(date +%Y%m%d-%H%M%S); set -e; \
	$(BIN) run treehash --shape outputs=$(1) --budget 1h --seed 1 --dir $$dir; \
	$(BIN) verify $$dir/best.json; \
	$(BIN) export $$dir --format svg --output $$dir/convergence.svg; \
	$(BIN) explain $$dir; \
	echo "chart     $$dir/convergence.svg"
endef

# The table of other shapes in the README: each search ends at the evaluation that found its winner. And what no schedule of the winner's operations
# can be shorter than.
SHAPES := height=8,rounds=12,batch=128/157052 height=10,rounds=16,batch=512/6951 height=12,rounds=20,batch=64/13358 height=5,rounds=10,batch=100/918
shapes: build
	@stamp=$$(date +%Y%m%d-%H%M%S); set -e; for shape in $(SHAPES); do \
	evals=$${shape#*/} shape=$${shape%/*}; dir=runs/shape-$$shape-$$stamp; \
	$(BIN) run treehash --shape $$shape --evals $$evals --seed 1 --dir $$dir; \
	$(BIN) verify $$dir/best.json; \
	$(BIN) explain $$dir; \
	done

# The table of model kernels in the README, beside ggml. It takes about 25 minutes.
models: build peers
	$(BIN) bench qgemm --peers ggml --budget 30s --shapes "m=1,format=q8_0;m=4,format=q8_0;m=32,format=q8_0;m=1,format=q4_0;m=4,format=q4_0;m=32,format=q4_0;m=1,format=q4_k;m=32,format=q4_k;m=32,format=q5_k"
	$(BIN) bench gemm-bf16 --budget 90s --shapes "m=512,n=512,k=512;m=1024,n=1024,k=1024"
	$(BIN) bench attention --peers ggml --budget 30s --shapes "queries=1,context=4096,kv=f16;queries=512,context=512,kv=f32"
	$(BIN) bench rowwise --peers ggml --budget 60s --shapes "op=softmax,rows=32,cols=4096;op=rmsnorm,rows=32,cols=4096;op=rope,rows=4096,cols=128,heads=32;op=swiglu,rows=32,cols=11008;op=gelu,rows=32,cols=11008"

# What each idea of the vector generator is worth: 12,000 evaluations with it switched off, for each of three seeds. It takes about an hour on two
# cores, and finds the same on any machine.
ablation: build
	$(BIN) bench ablate treehash --evals 12000 --seeds 3 $(foreach idea,$(IDEAS),--off $(idea))

IDEAS := reach=3 fuse=false defer_c=false split_records=0 last_table=false store_broadcasts=0 store_copies=0 window_gather=0 spread=false \
	madd_1=0,madd_2=0,madd_3=0 first_flow=0,next_flow=0,chain_flow=0 derive_constants=0 constant_flow=0,address_flow=0 \
	madd_first=false load_round=0,vector_round=0,scalar_round=0,flow_round=0

# Without vet, which would check all packages again with each build: lint does it once. The packages whose tests take longest, or wait most,
# come first, so that none of them is left alone at the end.
LONG := ./cmd/tune ./kernels/native/worker ./kernels/remote ./kernels/user ./search/strategies ./kernels/native ./kernels/library
# Pages are opened in a browser where one is installed: the library that drives it is large, so other machines do not build it.
BROWSER = $(shell command -v chromium-headless-shell || command -v headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome)
TAGS = $(if $(BROWSER),-tags browser)
# With a larger heap than Go gives itself, its compiler takes a sixth less time, its linker a fifth, and so do tests that search. Those that measure
# memory say which heap they have.
# One package more than there are processors is compiled or tested at a time, because tests wait for a part of their time. All this is without cgo, as in
# make build: so what is compiled is shared, and Go's own linker takes a third less time than with the linker of C.
# Tests start hundreds of workers, of a small binary that starts in half the time of theirs.
# A fresh clone waits for its modules: meanwhile most of what Go's own library has of these programs is compiled. STD imports nearly all of it.
STD := net/http/httptest net/http/pprof go/build go/types image/gif testing/fstest testing/synctest debug/elf html/template log/slog database/sql archive/tar
test browser-test lint: export CGO_ENABLED := 0
test: export GOGC := 400
test: cc
	@$(GO) list -export $(STD) >/dev/null & $(GO) mod download; wait
	$(GO) build -o bin/test-worker ./kernels/native/nativetest/child
	TEST_WORKER=$(CURDIR)/bin/test-worker $(GO) test $(TAGS) -vet=off -timeout 40m -p $$(($$(getconf _NPROCESSORS_ONLN) + 1)) $(LONG) ./...

# The longer suites: many more kills, cuts and random programs.
stress: cc
	$(GO) test -tags stress -timeout 60m ./...

# What is skipped measures one candidate after the other, or is long arithmetic on one goroutine.
race: cc
	CGO_ENABLED=1 $(GO) test -race -vet=off -short -timeout 20m \
		-skip 'TestThreads|TestInPlace|TestRoofs|TestConfirm|TestDamagedHeap|TestHopeless|TestPeak|TestMinSeconds|TestGlimpse|TestHostileCandidates|TestTimeHiddenWork|TestContestAlike|TestContestGain|TestSequential(Alike|Slower|Noise)|TestTruncationAtEveryOffset|TestEveryFlippedBitIsNoticed|TestResume/(auto|surrogate)|TestKnobs|TestChecksFail|TestCreateReadsBack|TestListReadsNoWholeJournal|TestCompareBrief|ExampleFunc|TestLiar|TestDrawExhausts|TestDrawIsUniform|TestLater|TestFunctionsAreShort|TestFuzzersAreRun' $(CONCURRENT)
	CGO_ENABLED=1 $(GO) test -race -vet=off -short -timeout 20m -run '$(RUNS)' ./cmd/tune ./kernels/user

lint: race
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "gofmt would change:"; echo "$$out"; exit 1; }
	$(GO) vet -tags browser,bench ./... && cd examples && $(GO) vet ./...
	$(GO) run $(STATICCHECK) -tags browser,bench ./...

fmt:
	gofmt -w $$(git ls-files '*.go')

# Rewrites what tests compare with files: the golden files, the lists and the schemas in docs, and the list of imports in ARCHITECTURE.md.
generate:
	$(GO) test . ./results/report ./kernels/treehash ./kernels/treehash/internal/scalar ./kernels/gemm ./kernels/gemmi8 ./kernels/gemm16 ./kernels/qgemm ./kernels/elementwise ./kernels/rowwise ./kernels/attention ./kernels/user ./results/library ./search/strategies \
		-run 'Architecture|Docs|Golden|Schema|Text|Traces' -update

# The tag adds a benchmark of all kernels in a package that they import: with it in make test, all would be compiled for that package again.
bench:
	$(GO) test -tags bench -run '^$$' -bench . ./...

# Each fuzzer runs for FUZZTIME.
FUZZERS := sim:Read space:Expr space:Formula space:Read space:SyntaxError space/t1:Expr space/t1:Read search/strategies:Parse results:ReadJournal results/exchange:Read \
	kernels/user:Read kernels/asktell:Reply kernels/blocks:Dequantise kernels/blocks:Quantise kernels/gguf:Open kernels/library/choice:Library \
	kernels/model:Parse internal/cpu:BytesOf internal/plain:Plain cmd/tune:Config cmd/tune:Duration
fuzz:
	@set -e; for f in $(FUZZERS); do \
	echo "$$f"; $(GO) test -run '^$$' -fuzz "^Fuzz$${f#*:}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x ./$${f%:*}; \
	done

clean:
	rm -rf bin man

# A browser without a window is installed where that is possible without a question; without one the tests that need it are skipped.
chromium:
	@test -n "$(BROWSER)" || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq chromium-headless-shell; \
	else echo "no Chromium found: for the tests of pages install it (apt-get install chromium-headless-shell)"; fi

# The pictures of a report and of the live page in the README. It takes a minute.
screenshots: build chromium
	docs/scripts/screenshots.sh $(BIN)

# browser-test opens reports and the live page in Chromium, which it installs where Debian's packages are. make test does the same where
# Chromium is there already.
browser-test: chromium
	$(GO) test -tags browser -count=1 -run '^TestBrowser' -v ./results/report
