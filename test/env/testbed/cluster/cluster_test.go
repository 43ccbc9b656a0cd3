// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
)

// standInPlugin is a CNI plugin that gives a Pod a veth pair and the address 10.10.<node>.2.
const standInPlugin = `#!/bin/sh
set -eu
cat >/dev/null
index=$(hostname | cut -d- -f2)
case $CNI_COMMAND in
ADD)
	ip link add pod0 type veth peer name "$CNI_IFNAME" netns "$CNI_NETNS"
	ip link set pod0 up
	ip addr add 10.10.$index.1/24 dev pod0
	nsenter --net="$CNI_NETNS" sh -c "ip link set $CNI_IFNAME up; ip addr add 10.10.$index.2/24 dev $CNI_IFNAME; ip route add default via 10.10.$index.1"
	echo "$CNI_ARGS" >/run/cni-args
	echo '{"cniVersion":"0.3.0","interfaces":[],"ips":[{"version":"4","address":"10.10.'$index'.2/24"}]}' ;;
DEL) ip link del pod0 2>/dev/null || true; echo deleted >/run/cni-deleted ;;
esac
`

const failingPlugin = `#!/bin/sh
cat >/dev/null
[ "$CNI_COMMAND" = DEL ] && exit 0
echo '{"cniVersion":"0.3.0","code":101,"msg":"no addresses left"}'
exit 1
`

// TestMain makes this program the stand-in for an agent or the controller when it is called by that name.
func TestMain(m *testing.M) {
	standIn := map[string]func() error{"antrea-agent": standInAgent, "antrea-controller": standInController}[filepath.Base(os.Args[0])]
	if standIn == nil {
		os.Exit(m.Run())
	}
	if err := standIn(); err != nil {
		panic(err)
	}
}

// standInAgent has what the testbed checks of an agent: a CNI socket, and a /readyz that is ok from the third request on.
func standInAgent() error {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	if err := os.MkdirAll(filepath.Dir(cniSocket), 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(cniSocket); err != nil {
		return err
	}
	cni, err := net.Listen("unix", cniSocket)
	if err != nil {
		return err
	}
	defer cni.Close()
	if err := serveReadyz("127.0.0.1:12345"); err != nil {
		return err
	}
	fmt.Printf("agent of %s as %s/%s with %s\n", os.Getenv("NODE_NAME"), os.Getenv("POD_NAMESPACE"), os.Getenv("POD_NAME"), os.Args[1])
	<-terminated
	return os.WriteFile("/run/agent", []byte("ended\n"), 0o644)
}

// standInController has a /readyz that is ok from the third request on.
func standInController() error {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	if err := serveReadyz(fmt.Sprintf("0.0.0.0:%d", controllerPort)); err != nil {
		return err
	}
	fmt.Printf("controller as %s/%s with %s\n", os.Getenv("POD_NAMESPACE"), os.Getenv("POD_NAME"), os.Args[1])
	<-terminated
	return nil
}

func serveReadyz(address string) error {
	var asked atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || asked.Add(1) < 3 {
			http.Error(w, "not ready", http.StatusInternalServerError)
		}
	}))
	server.Listener.Close()
	var err error
	if server.Listener, err = net.Listen("tcp", address); err != nil {
		return err
	}
	server.StartTLS()
	return nil
}

func newTestCluster(t *testing.T, programs map[string]string, o Options) *Cluster {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making namespaces needs root")
	}
	if !controlplane.Built() {
		t.Skip("kube-apiserver is not built yet on this machine: `lab run` does it")
	}
	// The logs of control plane and Nodes are of interest only when the test fails.
	cp, err := controlplane.Start(t.Context(), controlplane.Options{
		StateDir: t.TempDir(), LogDir: t.TempDir(), Addresses: []string{FabricGateway.String()},
	})
	require.NoError(t, err)
	t.Cleanup(cp.Close)
	o.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, cp.WriteKubeconfig(o.Kubeconfig, "127.0.0.1"))
	o.BinDir, o.LogDir = t.TempDir(), t.TempDir()
	for name, text := range programs {
		require.NoError(t, os.WriteFile(filepath.Join(o.BinDir, name), []byte(text), 0o755))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	for _, name := range []string{"antrea-agent", "antrea-controller"} {
		require.NoError(t, os.Symlink(self, filepath.Join(o.BinDir, name)))
	}
	c, err := New(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestNetworkOfACluster(t *testing.T) {
	c := newTestCluster(t, nil, Options{Nodes: 2, PodFamilies: Families{IPv4: true, IPv6: true}, NodeFamilies: Families{IPv4: true, IPv6: true}})
	ctx := t.Context()
	n1, n2 := c.Nodes[0], c.Nodes[1]

	t.Run("Nodes reach each other and the internet", func(t *testing.T) {
		for _, addr := range []string{
			n2.IP.String(), FabricGateway.String(), InternetAddress.String(),
			n2.IPv6.String(), FabricGateway6.String(), InternetAddress6.String(),
		} {
			_, err := n1.Exec(ctx, "ping", "-c1", "-W5", addr)
			require.NoError(t, err)
		}
		_, err := c.Internet.Exec(ctx, "ping", "-c1", "-W5", n2.IP.String())
		require.NoError(t, err)
	})
	t.Run("a Node has its own name, /sys, /run, /etc and bpffs", func(t *testing.T) {
		out, err := n1.Exec(ctx, "sh", "-c", "hostname; ls /sys/class/net; touch /run/mark /etc/mark /opt/mark /var/lib/mark; mkdir /sys/fs/bpf/mark")
		require.NoError(t, err)
		require.Equal(t, "node-1\neth0\nlo\n", out)
		out, err = n2.Exec(ctx, "sh", "-c", "ls -d /run/mark /etc/mark /opt/mark /var/lib/mark /sys/fs/bpf/mark 2>/dev/null || true")
		require.NoError(t, err)
		require.Empty(t, out)
		require.NoFileExists(t, "/etc/mark")
	})
	t.Run("a Node reaches the API", func(t *testing.T) {
		conn, err := n1.DialContext(ctx, "tcp", "192.168.77.1:6443")
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		_, err = n1.Exec(ctx, "nc", "-zw5", "192.168.77.1", "6443")
		require.NoError(t, err)
		kubeconfig, err := n1.ReadFile(agentKubeconfig)
		require.NoError(t, err)
		require.Contains(t, string(kubeconfig), "https://192.168.77.1:6443")
	})
	t.Run("Open vSwitch runs, waits for its flows, and can be restarted", func(t *testing.T) { testOVS(t, c) })
	t.Run("Node objects", func(t *testing.T) {
		node, err := c.Client.CoreV1().Nodes().Get(ctx, "node-2", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, "10.10.2.0/24", node.Spec.PodCIDR)
		require.Equal(t, []string{"10.10.2.0/24", "fd00:10:10:2::/64"}, node.Spec.PodCIDRs)
		require.Equal(t, "192.168.77.12", node.Status.Addresses[0].Address)
		require.Equal(t, "fd00:77::12", node.Status.Addresses[1].Address)
	})
	t.Run("dump", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, c.Dump(dir))
		require.FileExists(t, filepath.Join(dir, "node-2", "routes"))
	})
}

func testOVS(t *testing.T, c *Cluster) {
	ctx, n1 := t.Context(), c.Nodes[0]
	for _, n := range c.Nodes {
		out, err := n.Exec(ctx, "ovs-vsctl", "get", "Open_vSwitch", ".", "other_config", "external_ids:hostname")
		require.NoError(t, err)
		require.Equal(t, "{flow-restore-wait=\"true\", max-revalidator=\"200\"}\n"+n.Name+"\n", out)
		isConfined(t, ovsContainer, n.ovsdb)
		isConfined(t, ovsContainer, n.vswitchd)
	}
	_, err := n1.Exec(ctx, "ovs-vsctl", "--no-wait", "set", "Open_vSwitch", ".", "external_ids:kept=yes")
	require.NoError(t, err)
	require.NoError(t, n1.RestartOVS(ctx))
	out, err := n1.Exec(ctx, "ovs-vsctl", "get", "Open_vSwitch", ".", "external_ids:kept")
	require.NoError(t, err)
	require.Equal(t, "yes\n", out)
	require.FileExists(t, filepath.Join(n1.LogDir, "openvswitch", "ovs-vswitchd.log"))
}

func TestPods(t *testing.T) {
	c := newTestCluster(t, map[string]string{"antrea-cni": standInPlugin, "host-local": "#!/bin/sh\n"}, Options{Nodes: 1})
	ctx := t.Context()
	node := c.Nodes[0]
	label := func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "x"} }
	pod, err := c.CreatePod(ctx, node, "ns", "client", label)
	require.NoError(t, err)
	require.Equal(t, "10.10.1.2", pod.IP.String())

	object, err := c.Client.CoreV1().Pods("ns").Get(ctx, "client", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "node-1", object.Spec.NodeName)
	require.Equal(t, "10.10.1.2", object.Status.PodIP)
	require.Equal(t, corev1.PodRunning, object.Status.Phase)
	require.Equal(t, "x", object.Labels["app"])
	args, err := node.ReadFile("/run/cni-args")
	require.NoError(t, err)
	require.Contains(t, string(args), "K8S_POD_NAMESPACE=ns;K8S_POD_NAME=client")

	_, err = pod.Exec(ctx, "ping", "-c1", "-W5", node.IP.String())
	require.NoError(t, err)
	_, err = node.Exec(ctx, "ping", "-c1", "-W5", pod.IP.String())
	require.NoError(t, err)
	server, err := pod.Start("nc", "-l", "80")
	require.NoError(t, err)
	require.NoError(t, Eventually(ctx, "connecting", func() error {
		_, err := node.Exec(ctx, "sh", "-c", "echo hello | nc -N 10.10.1.2 80")
		return err
	}))
	require.NoError(t, server.Wait(ctx))
	require.Equal(t, "hello\n", server.Stdout())

	background, err := pod.Start("sleep", "1000")
	require.NoError(t, err)
	require.NoError(t, pod.Delete(ctx))
	require.NoError(t, pod.Delete(ctx), "again")
	<-background.Done()
	_, err = node.ReadFile("/run/cni-deleted")
	require.NoError(t, err)
	_, err = c.Client.CoreV1().Pods("ns").Get(ctx, "client", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
	out, err := node.Exec(ctx, "ls", "/run/netns")
	require.NoError(t, err)
	require.Empty(t, out)
}

func TestCreatePodLeavesNothingWhenCNIFails(t *testing.T) {
	c := newTestCluster(t, map[string]string{"antrea-cni": failingPlugin}, Options{Nodes: 1})
	ctx := t.Context()
	_, err := c.CreatePod(ctx, c.Nodes[0], "ns", "p")
	require.ErrorContains(t, err, "no addresses left")
	_, err = c.Client.CoreV1().Pods("ns").Get(ctx, "p", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
	out, err := c.Nodes[0].Exec(ctx, "ls", "/run/netns")
	require.NoError(t, err)
	require.Empty(t, out)
	require.Empty(t, c.Nodes[0].Pods())
}

func TestAgent(t *testing.T) {
	c := newTestCluster(t, nil, Options{
		Nodes: 1, FeatureGates: map[string]bool{"ONCache": true}, TunnelType: "vxlan", NoController: true,
		AgentConfig: func(node int, conf map[string]any) { conf["apiPort"] = 12344 + node },
	})
	node := c.Nodes[0]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	config, err := node.ReadFile(agentConfigPath)
	require.NoError(t, err)
	require.Equal(t, "apiPort: 12345\nclientConnection:\n  kubeconfig: /etc/antrea/kubeconfig\nfeatureGates:\n  ONCache: true\ntunnelType: vxlan\n", string(config))
	stored, err := c.Client.CoreV1().ConfigMaps("kube-system").Get(ctx, "antrea-config", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, string(config), stored.Data["antrea-agent.conf"])

	require.NoError(t, c.StartAgents(ctx))
	isConfined(t, agentContainer, node.agent)
	require.ErrorContains(t, node.StartAgent(), "already running")
	require.NoError(t, node.StopAgent())
	ended, err := node.ReadFile("/run/agent")
	require.NoError(t, err)
	require.Equal(t, "ended\n", string(ended))

	require.NoError(t, node.SetFeatureGates(map[string]bool{"ONCache": false}))
	config, err = node.ReadFile(agentConfigPath)
	require.NoError(t, err)
	require.Contains(t, string(config), "ONCache: false")
	require.NoError(t, node.StartAgent())
	require.NoError(t, node.KillAgent())
	require.ErrorContains(t, node.WaitAgentReady(ctx), "137")

	log, err := os.ReadFile(node.AgentLog())
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(log), "agent of node-1 as kube-system/antrea-agent-node-1 with --config=/etc/antrea/antrea-agent.conf\n"))
}

func TestController(t *testing.T) {
	c := newTestCluster(t, nil, Options{
		Nodes: 1, AgentConfig: func(_ int, conf map[string]any) { conf["apiPort"] = 12345 },
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.ErrorContains(t, c.WaitControllerReady(ctx), "no controller was started")
	require.NoError(t, c.StopController())
	require.NoError(t, c.StartAgents(ctx))
	isConfined(t, controllerContainer, c.controller.process)
	require.ErrorContains(t, c.StartController(), "already running")
	conn, err := c.Nodes[0].DialContext(ctx, "tcp", fmt.Sprintf("%s:%d", ControllerAddress, controllerPort))
	require.NoError(t, err, "an agent reaches the controller")
	require.NoError(t, conn.Close())

	service, err := c.Client.CoreV1().Services("kube-system").Get(ctx, "antrea", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, service.Spec.ClusterIP)
	slices, err := c.Client.DiscoveryV1().EndpointSlices("kube-system").List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=antrea"})
	require.NoError(t, err)
	require.Len(t, slices.Items, 1)
	require.Equal(t, []string{ControllerAddress.String()}, slices.Items[0].Endpoints[0].Addresses)
	config, err := c.Controller().ReadFile("/etc/antrea/antrea-controller.conf")
	require.NoError(t, err)
	stored, err := c.Client.CoreV1().ConfigMaps("kube-system").Get(ctx, "antrea-config", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, string(config), stored.Data["antrea-controller.conf"])

	require.NoError(t, c.StopController())
	require.NoError(t, c.StartController())
	c.KillController()
	require.ErrorContains(t, c.WaitControllerReady(ctx), "137")
	log, err := os.ReadFile(c.ControllerLog())
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(log), "controller as kube-system/antrea-controller-0 with --config=/etc/antrea/antrea-controller.conf\n"))
}

func TestExecErrors(t *testing.T) {
	thread, err := newNamespaces(0, func() error { return nil })
	require.NoError(t, err)
	defer thread.Close()
	space := newSpace("place", thread, nil, nil)
	_, err = space.Exec(t.Context(), "sh", "-c", "echo some output; exit 3")
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.Code)
	require.ErrorContains(t, err, "some output")
	_, err = space.Exec(t.Context(), "no-such-program")
	require.ErrorContains(t, err, "no-such-program")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = space.Exec(ctx, "sleep", "1000")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	thread.Close()
	_, err = space.Exec(t.Context(), "true")
	require.Error(t, err)
}
