// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ci_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// withKind has stand-ins for all that the scripts of kind call, on a host of architecture arm64.
func withKind(t *testing.T) *checkout {
	t.Helper()
	c := newCheckout(t, "build/charts")
	c.standIn("standins/docker", `[ "$1" != version ] || echo arm64`)
	c.standIn("standins/kind", `case "$1 $2" in "get nodes") echo a-control-plane; echo a-worker ;; "get kubeconfig") echo config ;; "get clusters") echo other ;; esac`)
	c.standIn("standins/kubectl", "")
	c.standIn("standins/helm", "")
	c.standIn("standins/go", "")
	c.standIn("bin/images/programs/linux_arm64/antctl", "[ \"$2\" != installation ] || cat "+c.dir+"/report")
	for _, image := range kindImages {
		c.write("bin/images/antrea-"+image+"_arm64.tar", "")
	}
	return c
}

// checkArguments lets the real Helm say whether the chart takes the arguments of helm install.
func (c *checkout) checkArguments() {
	c.t.Helper()
	c.standIn("standins/helm", `exec `+realHelm(c.t)+` $(echo "$*" | sed 's/ install antrea / template antrea /') >/dev/null`)
}

// realHelm is the path of the Helm that is built for tests.
func realHelm(t *testing.T) string {
	t.Helper()
	helm, err := filepath.Abs(root + "/bin/helm")
	require.NoError(t, err)
	if _, err := os.Stat(helm); err != nil {
		t.Skip("bin/helm does not exist: make chart-test builds it")
	}
	return helm
}

// createCalls are the calls that make a cluster.
func createCalls(cluster, helm string) []string {
	return []string{
		"docker version --format {{.Server.Arch}}",
		"kind get clusters",
		"kind create cluster --name " + cluster + " --config -",
		"kind get nodes --name " + cluster,
		"docker exec a-control-plane sh -c mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf",
		"docker exec a-worker sh -c mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf",
		"kind load image-archive bin/images/antrea-agent-ubuntu_arm64.tar --name " + cluster,
		"kind load image-archive bin/images/antrea-controller-ubuntu_arm64.tar --name " + cluster,
		"kind load image-archive bin/images/antrea-mc-controller_arm64.tar --name " + cluster,
		"kind get kubeconfig --name " + cluster,
		"antctl check cluster --kubeconfig bin/kubeconfig-" + cluster,
		"helm --kube-context kind-" + cluster + " --namespace kube-system install antrea build/charts/antrea --set " + helm + " --wait --timeout 180s",
		"kubectl --context kind-" + cluster + " wait --for=condition=Ready nodes --all --timeout=180s",
	}
}

// kindImages are loaded, without the prefix of their names.
var kindImages = []string{"agent-ubuntu", "controller-ubuntu", "mc-controller"}

const (
	images = " --set agentImage.tag=latest --set agentImage.pullPolicy=Never --set controllerImage.tag=latest --set controllerImage.pullPolicy=Never"
	create = "ci/kind/kind-setup.sh"
)

func destroyCall(cluster string) string { return "kind delete cluster --name " + cluster }

func TestKindCreate(t *testing.T) {
	c := withKind(t)
	c.checkArguments()
	out, err := c.run(create, "create", "one", "--num-workers", "2", "--ip-family", "dual", "--tunnel-type", "vxlan",
		"--feature-gates", "ONCache=true,Egress=false", "--", "--set", "oncache.mode=observe")
	require.NoError(t, err, out)
	require.Equal(t, createCalls("one", "tunnelType=vxlan"+images+" --set featureGates.ONCache=true --set featureGates.Egress=false --set oncache.mode=observe"), c.calls())
	require.Equal(t, `kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
networking:
  disableDefaultCNI: true
  ipFamily: dual
nodes:
- role: control-plane
- role: worker
- role: worker
`, c.read("input"))

	out, err = c.run(create, "destroy", "one")
	require.NoError(t, err, out)
	require.Equal(t, []string{destroyCall("one")}, c.calls())
	require.NoFileExists(t, filepath.Join(c.dir, "bin/kubeconfig-one"))
}

// TestKindCreateWithDocker: without make images, which needs Debian, the Dockerfiles make the images, under the names that the chart has.
func TestKindCreateWithDocker(t *testing.T) {
	c := withKind(t)
	c.write("VERSION", "1.2.3\n")
	c.standIn("standins/git", "echo abcdef")
	c.standIn("standins/go", `[ "$1" != build ] || { mkdir -p bin; cp bin/images/programs/linux_arm64/antctl bin/antctl; }`)
	out, err := c.run(create, "create", "one", "--build", "docker")
	require.NoError(t, err, out)
	var want []string
	for _, image := range kindImages {
		name := "ghcr.io/antrea-oncache/antrea-" + image + ":latest"
		require.FileExists(t, filepath.Join(root, "build/images", strings.TrimSuffix(image, "-ubuntu"), "Dockerfile"))
		want = append(want, "git rev-parse HEAD",
			"docker build -t "+name+" -f build/images/"+strings.TrimSuffix(image, "-ubuntu")+"/Dockerfile --build-arg VERSION=v1.2.3 --build-arg REVISION=abcdef .")
	}
	want = append(want, "go build -o bin/antctl ./cmd/antctl")
	all := slices.Insert(createCalls("one", "tunnelType=geneve"+images), 2, want...)
	for i, call := range all {
		all[i] = strings.NewReplacer("image-archive bin/images/", "docker-image ghcr.io/antrea-oncache/", "_arm64.tar", ":latest").Replace(call)
	}
	require.Equal(t, all, c.calls())
}

// TestKindRefused: nothing is made when something is wrong.
func TestKindRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(c *checkout)
		args  []string
		want  string
	}{
		"no arguments":  {nil, nil, "kind-setup.sh create CLUSTER"},
		"unknown":       {nil, []string{"make", "one"}, "kind-setup.sh create CLUSTER"},
		"unknown flag":  {nil, []string{"create", "one", "--workers", "2"}, "kind-setup.sh create CLUSTER"},
		"flag alone":    {nil, []string{"create", "one", "--num-workers"}, "kind-setup.sh create CLUSTER"},
		"bad name":      {nil, []string{"create", "../one"}, `the name of the cluster is "../one", must be like oncache-1`},
		"bad family":    {nil, []string{"create", "one", "--ip-family", "IPv4"}, `--ip-family is "IPv4", must be ipv4, ipv6 or dual`},
		"bad build":     {nil, []string{"create", "one", "--build", "podman"}, `--build is "podman", must be docker or archives`},
		"bad tunnel":    {nil, []string{"create", "one", "--tunnel-type", "gre"}, `--tunnel-type is "gre", must be geneve or vxlan`},
		"bad number":    {nil, []string{"create", "one", "--num-workers", "two"}, `--num-workers is "two", must be a number`},
		"bad gates":     {nil, []string{"create", "one", "--feature-gates", "ONCache"}, `--feature-gates is "ONCache", must be like ONCache=true,Egress=false`},
		"exists":        {nil, []string{"create", "other"}, "the cluster other exists: destroy it first, or choose another name"},
		"no helm":       {func(c *checkout) { c.remove("standins/helm") }, []string{"create", "one"}, "helm is not in PATH"},
		"no docker":     {func(c *checkout) { c.standIn("standins/docker", "echo no daemon >&2; exit 1") }, []string{"create", "one"}, "no daemon\nkind-setup: docker does not answer"},
		"no controller": {func(c *checkout) { c.remove("bin/images/antrea-controller-ubuntu_arm64.tar") }, []string{"create", "one"}, "bin/images/antrea-controller-ubuntu_arm64.tar does not exist: run make images IMAGE_ARCHS=arm64"},
		"other arch":    {func(c *checkout) { c.standIn("standins/docker", "echo amd64") }, []string{"create", "one"}, "bin/images/antrea-agent-ubuntu_amd64.tar does not exist: run make images IMAGE_ARCHS=amd64"},
	} {
		t.Run(name, func(t *testing.T) {
			c := withKind(t)
			if tc.spoil != nil {
				tc.spoil(c)
			}
			out, err := c.run(create, tc.args...)
			require.Error(t, err)
			require.Contains(t, out, tc.want)
			for _, call := range c.calls() {
				require.NotContains(t, call, "create")
				require.NotContains(t, call, "helm")
				require.NotContains(t, call, "delete")
			}
		})
	}
}

func (c *checkout) remove(name string) {
	c.t.Helper()
	require.NoError(c.t, os.Remove(filepath.Join(c.dir, name)))
}

// TestKindRemovesWhatIsNotReady: a cluster whose network does not start is removed, its logs stay.
func TestKindRemovesWhatIsNotReady(t *testing.T) {
	for _, broken := range []string{"standins/helm", "standins/kubectl", "bin/images/programs/linux_arm64/antctl"} {
		t.Run(filepath.Base(broken), func(t *testing.T) {
			c := withKind(t)
			c.standIn(broken, "exit 1")
			out, err := c.run(create, "create", "one")
			require.Error(t, err)
			require.Contains(t, out, "its logs are in .ci-logs/one")
			calls := c.calls()
			require.Equal(t, []string{"kind export logs .ci-logs/one --name one", destroyCall("one")}, calls[len(calls)-2:])
			require.NoFileExists(t, filepath.Join(c.dir, "bin/kubeconfig-one"))
		})
	}
}

const installationCall = "antctl check installation --kubeconfig bin/kubeconfig-oncache-check --patience 3m"

func TestCheck(t *testing.T) {
	const (
		fast   = "ok       fast path        packets between Nodes a-worker and a-control-plane take it in both directions\n0 failed, 0 warnings\n"
		off    = "ok       fast path        not expected: feature gate ONCache is off on Node a-worker\n0 failed, 0 warnings\n"
		absent = "warning  fast path        not tried: the cache of Node a-worker is Unavailable\n0 failed, 1 warnings\n"
	)
	for name, tc := range map[string]struct {
		gate, report string
		exit         string
		passes       bool
	}{
		"gate on":                    {gate: "on", report: fast, passes: true},
		"gate off":                   {gate: "off", report: off, passes: true},
		"gate on, cache unavailable": {gate: "on", report: absent},
		"gate on, cache off":         {gate: "on", report: off},
		"gate off, cache on":         {gate: "off", report: fast},
		"no connection":              {gate: "on", report: "failed   service          no connection\n" + fast, exit: "; exit 1"},
	} {
		t.Run(name, func(t *testing.T) {
			c := withKind(t)
			c.write("report", tc.report)
			c.standIn("bin/images/programs/linux_arm64/antctl", `[ "$2" != installation ] || { cat `+c.dir+"/report"+tc.exit+"; }")
			out, err := c.run("ci/kind/check.sh", "--gate", tc.gate, "--tunnel-type", "vxlan", "--ip-family", "ipv6")
			require.Equal(t, tc.passes, err == nil, out)
			require.Contains(t, out, tc.report)
			gate := map[string]string{"on": "true", "off": "false"}[tc.gate]
			want := append(createCalls("oncache-check", "tunnelType=vxlan"+images+" --set featureGates.ONCache="+gate),
				"docker version --format {{.Server.Arch}}", installationCall)
			if !tc.passes {
				want = append(want, "kind export logs .ci-logs/oncache-check --name oncache-check")
			}
			require.Equal(t, append(want, destroyCall("oncache-check")), c.calls())
		})
	}
}

// TestCheckLeavesOthersAlone: a cluster of that name that exists is not removed.
func TestCheckLeavesOthersAlone(t *testing.T) {
	c := withKind(t)
	c.standIn("standins/kind", "echo oncache-check")
	out, err := c.run("ci/kind/check.sh", "--gate", "on")
	require.Error(t, err)
	require.Contains(t, out, "the cluster oncache-check exists")
	require.NotContains(t, c.calls(), destroyCall("oncache-check"))
	for _, args := range [][]string{nil, {"--gate"}, {"--gate", "maybe"}, {"--tunnel-type", "vxlan"}} {
		_, err := c.run("ci/kind/check.sh", args...)
		require.Error(t, err)
		require.Empty(t, c.calls())
	}
}

// TestUpstream: both values of the gate.
func TestUpstream(t *testing.T) {
	c := withKind(t)
	c.checkArguments()
	upstream := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(upstream, "test/e2e"), 0o755))
	out, err := c.run("ci/kind/test-e2e-kind.sh", "--upstream", upstream, "--tests", "TestBasic", "--", "--ip-family", "dual")
	require.NoError(t, err, out)
	const cluster = "oncache-e2e"
	var want []string
	for _, gate := range []string{"false", "true"} {
		logs := c.dir + "/.ci-logs/e2e-" + map[string]string{"false": "off", "true": "on"}[gate]
		want = append(want, createCalls(cluster, "tunnelType=geneve"+images+" --set featureGates.ONCache="+gate)...)
		want = append(want, "kind get kubeconfig --name "+cluster,
			"go test -count=1 -v -timeout=75m ./test/e2e -run TestBasic -args -provider=kind -kind.kubeconfig="+logs+"/kubeconfig -deploy-antrea=false -logs-export-dir="+logs,
			destroyCall(cluster))
		require.FileExists(t, logs+"/tests.log")
	}
	require.Equal(t, want, c.calls())

	c.standIn("standins/go", "exit 1")
	_, err = c.run("ci/kind/test-e2e-kind.sh", "--upstream", upstream, "--gate", "on")
	require.Error(t, err, "a test fails")
	calls := c.calls()
	require.Equal(t, destroyCall(cluster), calls[len(calls)-1])

	for want, args := range map[string][]string{
		"must be a checkout of upstream Antrea": {"--upstream", c.dir},
		"test-e2e-kind.sh --upstream":           {"--gate", "maybe"},
	} {
		out, err := c.run("ci/kind/test-e2e-kind.sh", args...)
		require.Error(t, err)
		require.Contains(t, out, want)
		require.Empty(t, c.calls())
	}
}
