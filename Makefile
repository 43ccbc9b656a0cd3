# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# A Go older than go.mod asks for fetches the right one (some distributions turn that off).
export GOTOOLCHAIN := $(or $(GOTOOLCHAIN),auto)
GO ?= go
# One way to compile for all but the race detector, which needs cgo: any other setting would recompile all of
# Kubernetes. make vet vets everything, so go test need not (-vet=off).
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(filter-out -trimpath,$(GOFLAGS)) -trimpath)
# The budget of its stage bounds a package: ten minutes, the default, are too few for those that start Open vSwitch a hundred times.
race := CGO_ENABLED=1 $(GO) test -race -vet=off -timeout=30m

version := v$(shell cat VERSION)
commit := $(shell git rev-parse --short HEAD 2>/dev/null)
tree := $(if $(shell git status --porcelain 2>/dev/null),dirty,clean)
module := github.com/antrea-oncache/antrea
released := $(if $(filter clean,$(tree)),$(if $(filter-out %-dev,$(version)),released),)
ldflags := -s -w $(foreach v,Version=$(version) GitSHA=$(commit) GitTreeState=$(tree) ReleaseStatus=$(or $(released),unreleased),-X $(module)/pkg/version.$(v))

commands := $(notdir $(wildcard cmd/*))
reference_plugins := ipam/host-local main/loopback meta/portmap meta/bandwidth
comma := ,
space := $(subst x,,x x)
# Packages whose tests load eBPF programs, and those that are run in the testbed.
bpf_packages := ./pkg/agent/oncache/datapath/...
testbed_packages := ./test/e2e
# Packages with one goroutine, in code and tests: the race detector finds nothing there, and takes three to fourteen times the CPU time.
sequential_packages := ./docs ./test/lockorder ./test/rights ./test/policy ./pkg/agent/openflow/internal/networkpolicy ./pkg/agent/openflow/internal/service
# Tests of what a Pod can cost others.
neighbor_tests := ^Test(Neighbors|DevicesOfPods|LostMessages|LostTickets|Forged|Flood|ShareIsUsedUp|FirstRequestThroughService|Pause|LongRound|NoMarkWaits|ConnectionEndsBefore|PacketsOfAPodsTunnel|RestoredPacketIsTooLong|RenewalTakes|PlacesDepend)
sources := $(wildcard build cmd multicluster pkg test hack docs)
chart := build/charts/antrea
# Unpacked by make deps.
promtool := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/antrea-oncache/promtool/current/promtool
manifest := build/yamls/antrea.yml
cleanup_manifest := build/yamls/antrea-cleanup.yml
generated = find pkg \( -name '*_bpfel.go' -o -name '*_bpfel.o' -o -name '*.pb.go' -o -name 'zz_generated.*.go' \) | LC_ALL=C sort
# The stages of make test, in the groups of hack/run-stages.sh. Bench-smoke measures, so nothing runs beside it. After build no stage replaces a
# program that another one runs. The ordinary stages wait for half of their time, test-unit above all; the others use it. The second ones have
# namespaces, files and clusters of their own. Test-faults, which compares losses with bounds in seconds, comes last: the second ones, which have
# less to do, have usually ended by then, but nothing waits for them.
stages_alone := vet verify-generated build chart-test bench-smoke
stages_ordinary := test-unit test-bpf test-kernels test-e2e test-faults
# On a new machine, prepare-acceptance compiles Kubernetes: it must come before test-acceptance, which would do it at the expense of its own budget.
stages_second := test-policy test-services test-objects test-conntrack prepare-acceptance test-acceptance
stages_low := prepare-e2e cost
# Two chains: at the end, when nothing else runs, each has a processor.
stages_idle := staticcheck model
stages_fuzz := fuzz-parsers fuzz
# The lists of make mutants: each file is beside its suite.
mutants := $(addsuffix /mutants.txt,test/policy test/services test/conntrack test/faults pkg/agent/oncache/datapath/oracle pkg/agent/oncache/datapath/packets)
mutant_suites := policy services conntrack faults fuzz packets
# Debian's kernels in virtual machines; see test/env/testbed/machine.
kernels := stable backports
object := pkg/agent/oncache/datapath/internal/object
run_on_kernel = bin/lab vm --kernel=$$kernel --directory=$(object) --

# Options for the programs that are run: E2E_ARGS="-test.run=TestX", COST_ARGS=-cost.record, DEMO_ARGS="-rounds=1", UP_ARGS="--nodes=3",
# BENCH_ARGS="--only=tcp_rr --rounds=3", SMOKE_ARGS=--record, COUNT_ARGS="-quick -record".
E2E_ARGS ?=
# With what make check compares.
BASE ?= main
# Selection of make e2e.
AREA ?=
SUITE ?= TestGeneveGateOn(Changes)?
COST_ARGS ?=
COUNT_ARGS ?=
FUZZTIME ?= 160s
PARSERTIME ?= 1000x
TARGET ?=
DEMO_ARGS ?=
UP_ARGS ?= --feature-gates=ONCache=true
NODE ?= 1
BENCH_ARGS ?=
SMOKE_ARGS ?=
# How many rounds make suite S=bench-peers makes, and its options: PEER_ARGS="--only=tcp_rr --out=/tmp".
PEER_ROUNDS ?= 8
PEER_ARGS ?=
# The number of sets that test-policy (200), test-services (200; 40 in make test) and test-objects (40) make, and the
# seed that makes them and the sets of test-conntrack (0: another one each time).
SETS ?=
SEED ?= 0
# How often test-policy kills an agent at a random moment.
KILLS ?= 20
# How many connections test-conntrack makes.
SEQUENCES ?= 400
# How many events test-faults lets happen or, without a number, for how long; of which kinds (all), and options: FAULTS_ARGS=-keep-going.
EVENTS ?=
FAULTS_FOR ?= 3m
KINDS ?=
FAULTS_ARGS ?=
# For which architectures make images builds, where its programs go, and its options: IMAGES_ARGS=--update.
IMAGE_ARCHS ?= amd64 arm64
IMAGE_PROGRAMS ?= bin/images/programs
IMAGES_ARGS ?=
# Options of make cluster-up: the number of Nodes, feature gates, options of helm install. CLUSTER_NAME in the
# environment makes it another cluster, beside the one without a name.
NODES ?= 2
GATES ?= ONCache=true
HELM_ARGS ?=
# Options of the acceptance tests' program: ACCEPTANCE_ARGS="-test.run=TestONCache". SMOKE=1 runs the cases of test-acceptance only.
# TRAFFIC_MODE=noEncap, hybrid or wireGuard is the mode of traffic between Nodes of make acceptance and make lifecycle.
SMOKE ?=
export TRAFFIC_MODE ?=
ACCEPTANCE_ARGS ?=
# The target that cluster-up and test-acceptance make first. Empty after prepare-acceptance: the images would be made again each time.
CLUSTER_PARTS ?= cluster-parts
# Options of govulncheck.
VULNCHECK_ARGS ?=
# A regular expression for the cases of make conformance and make conformance-policy-api.
FOCUS ?=

.PHONY: help
help: ## Show the targets that people use
	@awk -F ':.*[^#]## ' '/^[a-z0-9-]+:.*[^#]## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: help-all
help-all: ## Show all targets, also the stages of make test
	@awk -F ':.*##+ ' '/^[a-z0-9-]+:.*##+ / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: deps
deps: ## Install what building and testing needs (Debian 12, root)
	hack/install-deps.sh
	$(GO) mod download

# Estimates that make test, make demo and make demo-up print before they install anything: the minutes they take at
# first, and later.
minutes-test := 75 58
minutes-demo := 15 8
minutes-demo-up := 8 3
minutes-cluster-up := 25 4
announced := before-test before-demo before-demo-up before-cluster-up
.PHONY: $(announced)
$(announced): before-%:
	@hack/preflight.sh "make $*" $(minutes-$*)
deps: | $(filter $(announced),$(MAKECMDGOALS:%=before-%))

.PHONY: generate
generate: ## Generate eBPF objects, protobuf code and API types' methods again
	hack/update-codegen-proto.sh
	hack/update-codegen-k8s.sh
	$(GO) generate ./...

.PHONY: verify-generated
verify-generated: ### Generate again and fail if that changes a file
	@before=$$($(generated) | xargs sha256sum); \
	$(MAKE) --no-print-directory generate; \
	diff <(echo "$$before") <($(generated) | xargs sha256sum) || { echo "verify-generated: these files were not up to date"; exit 1; }

.PHONY: bin/helm
bin/helm:
	@mkdir -p bin
	cd test/chart && $(GO) build -o ../../bin/helm helm.sh/helm/v4/cmd/helm

.PHONY: manifest
manifest: bin/helm ### Render the chart with its defaults, and the controllers of Multi-cluster, into build/yamls
	bin/helm template antrea $(chart) --namespace kube-system --include-crds >$(manifest).new
	mv $(manifest).new $(manifest)
	bin/helm template antrea $(chart) --namespace kube-system --set cleanup.enable=true --show-only templates/cleanup/daemonset.yaml >$(cleanup_manifest).new
	mv $(cleanup_manifest).new $(cleanup_manifest)
	$(GO) test -count=1 -vet=off ./multicluster/manifest -run '^TestManifests$$' -update

.PHONY: chart-test
chart-test: bin/helm ### Test the Helm chart and the manifest that is made from it
	cd test/chart && $(GO) vet ./... && $(GO) mod tidy -diff && \
		HELM=$(CURDIR)/bin/helm PROMTOOL=$(promtool) $(GO) test -count=1 ./...

.PHONY: build
build: ## Build all programs into bin/, statically linked
	@mkdir -p bin
	$(GO) build -ldflags '$(ldflags)' -o bin/ $(addprefix ./cmd/,$(commands)) \
		./test/env/lab ./test/tools/traffic github.com/containernetworking/plugins/plugins/ipam/host-local

.PHONY: image-programs
image-programs: ### Build the programs of the images for IMAGE_ARCHS into bin/images/programs
	for arch in $(IMAGE_ARCHS); do \
		mkdir -p $(IMAGE_PROGRAMS)/linux_$$arch; \
		GOARCH=$$arch $(GO) build -ldflags '$(ldflags)' -o $(IMAGE_PROGRAMS)/linux_$$arch/ $(addprefix ./cmd/,$(commands)) ./build/images/pause \
			$(addprefix github.com/containernetworking/plugins/plugins/,$(reference_plugins)); \
		GO=$(GO) $(GO) run ./build/images/cmd/licences $(IMAGE_PROGRAMS)/linux_$$arch/THIRD-PARTY-LICENSES \
			$(addprefix $(IMAGE_PROGRAMS)/linux_$$arch/,$(commands) $(notdir $(reference_plugins))); \
	done

.PHONY: images
images: image-programs ### Make the images of agent and controller for IMAGE_ARCHS into bin/images, without an engine
	$(GO) run ./build/images/cmd/images --arch $(subst $(space),$(comma),$(IMAGE_ARCHS)) --programs $(IMAGE_PROGRAMS) $(IMAGES_ARGS) project

.PHONY: release-assets
release-assets: bin/helm ### Make the files of a release into bin/release: antctl for six platforms, chart, manifests, bill of materials, checksums: REGISTRY=host/path
	GO=$(GO) LDFLAGS='$(ldflags)' ci/release-assets.sh $(or $(REGISTRY),ghcr.io/antrea-oncache) bin/release

.PHONY: test-images
test-images: IMAGE_ARCHS := $(shell $(GO) env GOARCH)
test-images: image-programs ### Make the images that a test cluster needs into bin/images, for this machine's architecture
	$(GO) run ./build/images/cmd/images --arch $(IMAGE_ARCHS) --programs $(IMAGE_PROGRAMS) $(IMAGES_ARGS) cluster tests

# The images of a test cluster change only with these files.
cluster_images := $(addprefix bin/images/,$(addsuffix _$(shell $(GO) env GOARCH).tar,node kube-proxy coredns pause agnhost toolbox nginx))
$(firstword $(cluster_images)): build/images/cmd/images/catalog.go test/env/kubecluster/images/images.go build/images/base/packages build/images/base/release hack/controlplane/go.mod hack/coredns/go.mod hack/containerd/go.mod
	$(MAKE) --no-print-directory test-images

# With PROXY_ALL=1 the cluster has no kube-proxy.
proxy_all_values = antreaProxy.proxyAll=true,kubeAPIServerOverride="$$(bin/lab api)"

.PHONY: cluster-up
cluster-up: IMAGE_ARCHS := $(shell $(GO) env GOARCH)
cluster-up: before-cluster-up deps $(CLUSTER_PARTS) ## Start a Kubernetes cluster with this network plugin that stays: NODES=N GATES=... PROXY_ALL=1 (root)
	bin/lab up --kubelets --nodes=$(NODES) $(if $(PROXY_ALL),--kube-proxy=false)
	bin/helm install antrea $(chart) --kubeconfig "$$(bin/lab kubeconfig)" --namespace kube-system $(foreach gate,$(subst $(comma), ,$(GATES)),--set featureGates.$(gate)) $(if $(PROXY_ALL),--set $(proxy_all_values)) $(HELM_ARGS)
	bin/lab ready

# The most telling cases: Pods and the bridge, policies, Services, routes, and the fast path while things change.
smoke := ^Test(Connectivity|Basic|NetworkPolicy|ClusterIPv4|ReconcileGatewayRoutesOnStartup|ONCache)$$/^(testPodConnectivityDifferentNodes|testOVSFlowReplay|testDeletePod|testDefaultDenyIngressPolicy|testNetworkPolicyAfterAgentRestart|Non-HostNetwork_Endpoints|routes|deployment_on_two_Nodes|request_and_response_during_agent_restarts|policy_change_during_a_stream)$$|^TestAntreaPolicy$$/^TestGroup(ValidationWebhook|MutationWebhook|NoK8sNP|AuditLogging)$$/^Case=(.*Tier|CreateInvalid.*|UpdateInvalid.*|ACNPRejectIngress|ACNPFQDNPolicyInCluster|AuditLoggingBasic)$$

.PHONY: acceptance
acceptance: ### Test the installed plugin from outside, gate off and on, on the cluster of make cluster-up, which it starts if none is up (root)
	@bin/lab kubeconfig >/dev/null 2>&1 || $(MAKE) --no-print-directory cluster-up
	$(GO) test -c -o bin/acceptance.test ./test/acceptance
	hack/acceptance.sh $(if $(SMOKE),-test.run '$(smoke)') $(ACCEPTANCE_ARGS)

.PHONY: cluster-parts
cluster-parts: IMAGE_ARCHS := $(shell $(GO) env GOARCH)
cluster-parts: build cluster-programs bin/helm images $(firstword $(cluster_images))

# Before images, which contain some of these programs: all are compiled together.
.PHONY: cluster-programs
cluster-programs: build
	bin/lab prepare --kubelets

.PHONY: prepare-acceptance
prepare-acceptance: cluster-parts ### Build what test-acceptance needs and the cache does not have: programs of Kubernetes, and images

.PHONY: test-acceptance
test-acceptance: export CLUSTER_NAME := test
# Other stages run beside it.
test-acceptance: export ACCEPTANCE_SLOWNESS := 2
test-acceptance: $(CLUSTER_PARTS) ### Run the most telling acceptance cases on a cluster of their own (root)
	trap 'bin/lab down' EXIT; ACCEPTANCE_GATES=on $(MAKE) --no-print-directory acceptance SMOKE=1 CLUSTER_PARTS=

# The cases that differ between modes of traffic.
smoke_life := ^TestLifecycle$$/^(installation|traffic_mode_changed_and_back|uninstallation)$$

.PHONY: lifecycle
lifecycle: IMAGE_ARCHS := $(shell $(GO) env GOARCH)
lifecycle: deps cluster-parts ### Install, upgrade, roll back, reboot, uninstall: on a cluster of its own (root)
	$(if $(SMOKE),,$(MAKE) --no-print-directory image-programs IMAGE_ARCHS=$(IMAGE_ARCHS) IMAGE_PROGRAMS=bin/images-next/programs version=$(version)-next)
	$(if $(SMOKE),,$(GO) run ./build/images/cmd/images --arch $(IMAGE_ARCHS) --programs bin/images-next/programs --out bin/images-next --version $(version)-next project)
	$(GO) test -c -o bin/acceptance.test ./test/acceptance
	hack/lifecycle.sh $(if $(SMOKE),'' -test.run '$(smoke_life)',$(version)-next) $(LIFECYCLE_ARGS)

.PHONY: conformance
conformance: ### Run Kubernetes' own tests of Services and NetworkPolicy on the cluster of make cluster-up, which it starts if none is up: FOCUS=... (root)
	@bin/lab kubeconfig >/dev/null 2>&1 || $(MAKE) --no-print-directory cluster-up
	hack/conformance.sh $(if $(FOCUS),'$(FOCUS)')

.PHONY: conformance-policy-api
conformance-policy-api: ### Run the conformance suites of the Kubernetes network policy API on the cluster of make cluster-up, which it starts if none is up: FOCUS=... (root)
	@bin/lab kubeconfig >/dev/null 2>&1 || $(MAKE) --no-print-directory cluster-up
	hack/conformance-policy-api.sh $(if $(FOCUS),'$(FOCUS)')

.PHONY: check
check: build bin/helm ## Check what can be checked in minutes: format, vet, unit tests of what changed since BASE=main, the programs
	GO=$(GO) hack/check.sh $(BASE)

.PHONY: vet
vet: ### Check format and go.mod and run go vet
	@unformatted=$$(gofmt -l $(sources)); [ -z "$$unformatted" ] || { echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; }
	clang-format-14 --dry-run --Werror bpf/oncache/*.[ch] bpf/oncache/*/*.h
	@for header in bpf/oncache/*.h bpf/oncache/*/*.h; do \
		echo "#include \"$$header\"" | clang-14 -target bpf -mcpu=v3 -fsyntax-only -Wall -Werror -Wno-unused-function -I. -I/usr/include/$$(gcc -dumpmachine) -x c - || \
			{ echo "$$header does not include all that it uses"; exit 1; }; \
	done
	@# The plain cache, without rewriting.
	clang-14 -target bpf -mcpu=v3 -O2 -DONC_PLAIN -Wall -Werror -I/usr/include/$$(gcc -dumpmachine) -c bpf/oncache/oncache.bpf.c -o /dev/null
	shellcheck -x -P SCRIPTDIR $$(grep -rlE --exclude='*.go' '^#!/.*[/ ](ba)?sh$$' .ci build ci hack)
	$(GO) run ./test/tools/mutants -check $(mutants)
	$(GO) vet ./...
	$(GO) mod tidy -diff
	cd test/tools/http3 && $(GO) vet ./... && $(GO) mod tidy -diff

.PHONY: staticcheck
staticcheck: ### Run staticcheck
	$(GO) tool staticcheck ./...

.PHONY: vulncheck
vulncheck: ### Look for known vulnerabilities in what the programs call, in the database at vuln.go.dev: VULNCHECK_ARGS=-db=file:///path
	$(GO) build -C hack/vulncheck -o $(CURDIR)/bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	bin/govulncheck $(VULNCHECK_ARGS) ./cmd/...

.PHONY: model
model: ### Check the coherency protocol's models with spin, broken variants included
	hack/check-model.sh

.PHONY: test-unit
test-unit: build bin/helm ### Run unit tests (root runs more of them)
	bin/lab prepare
	$(race) $$($(GO) list ./... | grep -v $(foreach p,$(bpf_packages) $(testbed_packages),-e '$(patsubst ./%,^$(module)/%,$(patsubst %/...,%,$(p)))') $(foreach p,$(sequential_packages),-e '$(patsubst ./%,^$(module)/%$$,$(p))'))
	$(GO) test -vet=off $(sequential_packages)
	$(GO) test -run '^TestCostOfOneMember$$' ./pkg/agent/controller/networkpolicy ./pkg/controller/networkpolicy
	cd test/tools/http3 && $(race) ./...

.PHONY: test-policy
test-policy: ### Compare packets under random NetworkPolicies with the specification: SETS=N, SEED=S, KILLS=N (root)
	$(GO) run ./test/policy/truthtable -sets $(or $(SETS),200) -seed $(or $(POLICY_SEED),$(SEED)) -kills $(KILLS)

.PHONY: test-services
test-services: ### Compare packets to random Services that change with the documentation: SETS=N, SEED=S (root)
	$(GO) run ./test/services/truthtable -sets $(or $(SETS),$(SERVICES_SETS),200) -seed $(or $(SERVICES_SEED),$(SEED))

.PHONY: test-conntrack
test-conntrack: ### Compare what conntrack knows with the cache off and on, over random connections: SEQUENCES=N, SEED=S (root)
	$(GO) run ./test/conntrack -sequences $(SEQUENCES) -seed $(or $(CONNTRACK_SEED),$(SEED))

# Progress is on stderr, and the result on stdout comes last.
.PHONY: test-faults
test-faults: build ### Let random events happen to a cluster under traffic: EVENTS=N or FAULTS_FOR=3m, SEED=S, KINDS=expression (root)
	$(GO) build -o bin/faults ./test/faults
	bin/lab prepare --functional
	@mkdir -p .testbed
	bin/lab run --functional --artifacts=.testbed/faults -- bin/faults -seed $(or $(FAULTS_SEED),$(SEED)) $(if $(EVENTS),-events $(EVENTS),-events 0 -for $(FAULTS_FOR)) \
		-kinds '$(KINDS)' $(FAULTS_ARGS) >.testbed/faults.out || code=$$?; \
		cat .testbed/faults.out; exit $${code:-0}

.PHONY: test-objects
test-objects: ### Compare clusters that meet bad objects, requests and files with clusters that do not: SETS=N, SEED=S (root)
	@mkdir -p bin
	$(GO) test -c -o bin/objects.test ./test/objects
	cd test/objects && GOGC=400 $(CURDIR)/bin/objects.test -test.timeout=0 -sets $(or $(SETS),40) -seed $(or $(OBJECTS_SEED),$(SEED))

.PHONY: test-bpf
test-bpf: ### Run the eBPF programs' tests (root)
	@# Package packets takes longest and comes last in the order of names: it must not wait for the others.
	$(race) -count=1 -p 3 -skip '^TestCost$$' $(bpf_packages)

.PHONY: build-kernel-tests
build-kernel-tests: build ### Build what test-kernels and record-kernels run
	$(GO) test -c -o bin/ $(bpf_packages) ./pkg/agent/cniserver

.PHONY: test-kernels
test-kernels: build-kernel-tests ### Run the eBPF programs' tests on Debian's kernels, in virtual machines (root)
	hack/test-kernels.sh $(kernels)

.PHONY: record-kernels
record-kernels: build-kernel-tests ### Record the programs' complexity on this kernel and on Debian's (root)
	cd $(object) && $(CURDIR)/bin/object.test -test.run=TestComplexity -record
	for kernel in $(kernels); do $(run_on_kernel) bin/object.test -test.run=TestComplexity -record; done

.PHONY: fuzz
fuzz: ### Fuzz the eBPF programs against the oracle, each target for FUZZTIME, such as 5h or 100000x (root)
	FUZZTIME=$(FUZZTIME) GO=$(GO) hack/fuzz.sh

# A number of inputs, so that it is the same on every machine: some seconds of processor time for a parser, most of them to link its test.
.PHONY: fuzz-parsers
fuzz-parsers: ### Fuzz every parser of what comes from outside, each with PARSERTIME inputs or for that time, such as 10m: TARGET=cniserver/FuzzRequest
	FUZZTIME=$(PARSERTIME) GO=$(GO) hack/fuzz-parsers.sh $(if $(TARGET),'$(TARGET)')

.PHONY: bench-bpf
bench-bpf: ### Print what the eBPF programs cost (root)
	$(GO) test -count=1 -v -run '^TestCost$$' ./pkg/agent/oncache/datapath/cost -args -cost.print -cost.rounds=4 $(COST_ARGS)

.PHONY: cost
cost: deps build ### Count the instructions of a round trip between Nodes, and between Pods with ONCache off and on (root)
	$(GO) build -o bin/instructions ./test/bench/instructions
	gcc -O2 -Wall -Werror -shared -fPIC -fvisibility=hidden -o bin/profiler.so test/env/testbed/machine/profiler/profiler.c
	bin/lab run --count-instructions $(if $(findstring -quick,$(COUNT_ARGS)),,--profiler=$(CURDIR)/bin/profiler.so) -- bin/instructions $(COUNT_ARGS)

.PHONY: bench-programs
bench-programs:
	@mkdir -p bin
	$(GO) build -o bin/ ./test/bench ./test/tools/traffic
	cd test/tools/http3 && $(GO) build -o ../../../bin/ .

.PHONY: bench
bench: bench-programs ### Measure the network bare, with the gate off and on, encapsulated and rewritten, into test/bench/results (root, 45 minutes)
	hack/install-deps.sh bench
	bin/bench run $(BENCH_ARGS)

.PHONY: bench-report
bench-report: bench-programs ### Make docs/start/benchmarks*.md, their plots and the picture of README.md from test/bench/results
	bin/bench report

.PHONY: bench-smoke
bench-smoke: bench-programs ### Measure a little, fail when a ratio or what a hit costs is above its record (root, 5 minutes)
	bin/bench smoke $(SMOKE_ARGS)
	$(GO) test -count=1 -run '^TestCost$$' ./pkg/agent/oncache/datapath/cost

.PHONY: prepare-e2e
prepare-e2e: build ### Build what test-e2e needs and the cache does not have: the control plane, and the kernel of user-mode Linux if it is used
	bin/lab prepare --functional

.PHONY: test-e2e
test-e2e: build ### Run the end-to-end tests on two-Node clusters (root)
	$(GO) test -c -o bin/e2e.test ./test/e2e
	bin/lab prepare --functional
	hack/test-e2e.sh $(E2E_ARGS)

.PHONY: e2e
e2e: build ## Run one area of the end-to-end tests, on all its paths, on one kind of cluster: AREA=FastPath, SUITE=TestNetkitGateOn (root)
	@[ -n "$(AREA)" ] && grep -q '{"$(AREA)", ' test/e2e/*_test.go || { echo 'e2e: name an area, as test/e2e/matrix_test.go has them: make e2e AREA=FastPath'; exit 1; }
	@grep -qE '^func $(SUITE)\(' test/e2e/*_test.go || { echo 'e2e: there is no suite $(SUITE), see test/e2e/matrix_test.go: make e2e AREA=FastPath SUITE=TestNetkitGateOn'; exit 1; }
	$(GO) test -c -o bin/e2e.test ./test/e2e
	bin/lab prepare --functional
	E2E_AREA=$(AREA) bin/lab run --functional -- bin/e2e.test -test.v -test.timeout=60m -test.run '^$(SUITE)$$/^$(AREA)((SameNode)?(ThroughService)?)$$' $(E2E_ARGS)

# Emulated machines leave out what takes them minutes (another IP version outside than inside), and tests of what does not depend on the kernel,
# which test-bpf runs on this machine's: arithmetic on packets (ECN), what entries of maps say (openings, bars, cells, ways to a Node that moves), and
# what the agent reads in maps. That the kernel loads these programs is tested by TestComplexity, which they do not leave out. make test-kernels runs all.
test: export KERNEL_TESTS_SKIP := ^TestCost|^TestSamePacket(AsTheKernel|FromService|ThroughService|Rewritten)$$/^(IPv4 in IPv6|IPv6 in IPv4|GRO at the uplink)$$|^Test(DirectP|NeighborsKeep|FloodCosts|PacketsOfAPodsTunnel|NewcomersGet|HandshakesGoOn|ShortConnectionsDo|OnePodHas|NoKeyBeside|RandomRewriting|OrderInBursts|ConnectionsGoWhole|IdleFlowsMake|ECN$$|Untracked|NoOpening|Opening|Bars$$|SYNsThatTeachNothing|CandidatesShareACell|DirectServiceOfNodeThatMoves|Agrees$$|LetKeysEnd|AdoptedMapsGiveNoKeysYet)
# The kernel of the backports suite is between the stable kernel and this machine's, if this machine's is newer.
test: export KERNEL_TESTS_BETWEEN := $(shell printf '6.13\n%s\n' "$$(uname -r)" | sort -CV && echo backports)
# Packets for each target: fuzzing gets the CPU time that is left, which is another one each time.
test: export FUZZTIME := 100000x
# Always the same sets, so that a failure is due to the change under test. For different sets: make test-objects
# SETS=300, make test-services SETS=200, make test-policy, make test-conntrack, make test-faults.
test: export OBJECTS_SEED := 1
test: export CONNTRACK_SEED := 1
test: export SERVICES_SEED := 1
test: export SERVICES_SETS := 40
test: export POLICY_SEED := 4711
# Ten kinds of events: agents restarted, killed and replaced, Open vSwitch restarted and killed, policies, addresses, an Egress that moves and one whose
# owner is killed.
test: export FAULTS_SEED := 119019
test: export EVENTS := 10
test: export FAULTS_ARGS := -load=0.2
# Stage prepare-acceptance has made them for test-acceptance. If it failed, make test fails whatever test-acceptance finds.
test: export CLUSTER_PARTS :=
# Only the rows with bands. All of `make cost` takes several times as long.
test: export COUNT_ARGS := -quick -out=.testbed/instructions.json
test: before-test deps ## Run everything that CI runs, with the time of each stage
	hack/run-stages.sh $(stages_alone) -- $(stages_ordinary) -- $(stages_second) -- $(stages_low) -- $(stages_idle) -- $(stages_fuzz)

.PHONY: demo
demo: before-demo deps build ### Measure traffic with ONCache off and on, on a cluster of its own (root)
	$(GO) build -o bin/demo ./test/demo
	bin/lab run -- bin/demo $(DEMO_ARGS)

.PHONY: demo-up
demo-up: before-demo-up deps build ## Start two Nodes with ONCache, without kubelets, that stay (root)
	bin/lab up --functional $(UP_ARGS)

.PHONY: shell
shell: ## Open a shell on a Node of the cluster of make cluster-up or demo-up: NODE=1
	@bin/lab shell $(NODE)

.PHONY: down
down: ## End the cluster of make cluster-up or demo-up
	@bin/lab down

# One suite that make test leaves out is one variable: the commands that run it, after make build.
suite_acceptance = $(MAKE) --no-print-directory acceptance
# Upstream's cases of its policies, on a cluster with all that they need.
suite_policy-cases = export CLUSTER_NAME=policies GATES=ONCache=true,NodeNetworkPolicy=true PROXY_ALL=1; trap 'bin/lab down' EXIT; \
	$(MAKE) --no-print-directory acceptance ACCEPTANCE_ARGS="-test.run '^Test(AntreaPolicy|AntreaNodeNetworkPolicy|FQDNCacheMinTTL|Group|ClusterGroup|ZeroTrust|PolicyReports)'"
# Two clusters at once.
define suite_multicluster
$(MAKE) --no-print-directory prepare-acceptance
$(GO) test -c -o bin/acceptance.test ./test/acceptance
hack/multicluster.sh $(ACCEPTANCE_ARGS)
endef
suite_lifecycle = $(MAKE) --no-print-directory lifecycle
suite_conformance = $(MAKE) --no-print-directory conformance
suite_conformance-policy-api = $(MAKE) --no-print-directory conformance-policy-api
suite_e2e-all = E2E_ALL=1 $(MAKE) --no-print-directory test-e2e
define suite_wire
$(GO) test -c -o bin/openflow.test ./pkg/agent/openflow
bin/lab prepare --functional
bin/lab run --functional -- bin/openflow.test -test.v -test.run '^TestWire' -test.skip '/^user_space$$'
$(GO) test -c -o bin/wireguard.test ./pkg/agent/wireguard
bin/lab run --functional -- bin/wireguard.test -test.v -test.run '^TestWire'
endef
suite_floods = $(GO) test -count=1 -v -timeout 1h -run '^TestWire(Flood|RejectFlood|MetersOfPods|MovesUnderTraffic)' ./pkg/agent/openflow -args -flood=$(or $(FLOOD),60s) -moves=$(or $(MOVES),10000)
define suite_neighbors
$(GO) test -count=1 -v -run '$(neighbor_tests)' ./pkg/agent/oncache/... ./pkg/agent/controller/networkpolicy ./pkg/agent/servicereject \
	| grep -E '^(ok|FAIL|---|panic)|^ +(---|[a-z_]+_test.go)'
endef
define suite_policy-opinion
cd test/policy/cyclonus && $(GO) vet . && $(GO) mod tidy -diff && \
	$(GO) test -count=1 -v . -args -sets $(or $(SETS),1000) -seed $(SEED)
endef
define suite_service-opinion
cd test/services/kubeproxy && $(GO) vet . && $(GO) mod tidy -diff && \
	$(GO) test -count=1 -v . -args -sets $(or $(SETS),100) -seed $(SEED)
endef
suite_controller = $(GO) test -run '^$$' -bench Scale -benchtime 20x -timeout 1h ./pkg/controller/networkpolicy
suite_bench = $(MAKE) --no-print-directory bench
suite_bench-ovs = $(MAKE) --no-print-directory demo DEMO_ARGS="--rounds=5 --out=test/bench/results/ovs.json"
define suite_bench-peers
$(MAKE) --no-print-directory bench-programs
hack/install-deps.sh peers
bin/bench run --bed=peers --rounds=$(PEER_ROUNDS) --budget=0 $(PEER_ARGS)
endef
suites := $(sort $(patsubst suite_%,%,$(filter suite_%,$(.VARIABLES))))

.PHONY: suite
suite: build ## Run a suite that make test leaves out, see docs/develop/suites.md: S=wire
	@[ -n '$(filter $(suites),$(S))' ] || { echo 'suite: S is "$(S)", want one of: $(suites)'; exit 1; }
	$(suite_$(S))

.PHONY: mutants
mutants: build ## Put faults into the sources and fail if a suite misses one: S=policy, services, conntrack, faults, fuzz or packets; ONLY=name (root)
	@[ -n '$(filter $(mutant_suites),$(S))' ] || { echo 'mutants: S is "$(S)", want one of: $(mutant_suites)'; exit 1; }
	$(GO) run ./test/tools/mutants -only '$(ONLY)' $(filter %/$(S:fuzz=oracle)/mutants.txt,$(mutants))

.PHONY: clean
clean: ### Remove what was built here (not the cache in ~/.cache/antrea-oncache)
	rm -rf bin .testbed
