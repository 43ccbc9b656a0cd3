// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/httpapi/apiservertest"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

const inNamespaceEnv = "ANTREA_TEST_IN_NAMESPACE"

// apiConfig contains the address of a Kubernetes API that does not exist.
var apiConfig = &rest.Config{Host: "https://192.0.2.1:6443"}

// inNamespaces runs the calling test again in a process of its own in new network and mount namespaces, because the
// agent's goroutines run on all threads. It returns true in that process.
func inNamespaces(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inNamespaceEnv) != "" {
		// An agent that starts removes or adopts what it finds pinned: the machine's pins must not be visible.
		require.NoError(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		require.NoError(t, unix.Mount("bpf", "/sys/fs/bpf", "bpf", 0, ""))
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root for namespaces")
	}
	for _, program := range []string{"iptables", "ovs-vswitchd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs program %s", program)
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=2m")
	cmd.Env = append(os.Environ(), inNamespaceEnv+"=1")
	cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return false
}

func addUplink(t *testing.T) {
	t.Helper()
	lo, err := netlink.LinkByName("lo")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(lo))
	require.NoError(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, PeerName: "eth0-peer"}))
	eth0, err := netlink.LinkByName("eth0")
	require.NoError(t, err)
	address, err := netlink.ParseAddr("192.168.0.1/24")
	require.NoError(t, err)
	require.NoError(t, netlink.AddrAdd(eth0, address))
	require.NoError(t, netlink.LinkSetUp(eth0))
}

func nodeObject(name, ip, podCIDR string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{PodCIDR: podCIDR, PodCIDRs: []string{podCIDR}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: ip}}},
	}
}

// apiClient reads the agent's API with the loopback token.
type apiClient struct {
	base, tokenFile string
	http            *http.Client
}

func (c *apiClient) get(path string) (int, string, error) {
	token, err := os.ReadFile(c.tokenFile)
	if err != nil {
		return 0, "", err
	}
	req, err := http.NewRequest(http.MethodGet, c.base+path, nil)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+string(token))
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// want fails unless the answer to path is 200 and contains part.
func (c *apiClient) want(path, part string) error {
	status, body, err := c.get(path)
	if err == nil && (status != http.StatusOK || !strings.Contains(body, part)) {
		err = fmt.Errorf("%s answers %d: %s, want %q", path, status, body, part)
	}
	return err
}

// eventually repeats condition on the test's goroutine until it returns nil.
func eventually(t *testing.T, condition func() error) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(30 * time.Second)
	for {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}

func TestAgent(t *testing.T) {
	if !inNamespaces(t) {
		return
	}
	addUplink(t)
	ovs := ovstest.Start(t, ovstest.InNetNS("/proc/self/ns/net"))
	dir, err := os.MkdirTemp("", "agent") // a short path, for the sockets
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("NODE_NAME", "node1")
	t.Setenv("POD_NAME", "antrea-agent-x")
	t.Setenv("POD_NAMESPACE", "kube-system")

	o, err := completeOptions(t, fmt.Sprintf("ovsRunDir: %s\ncniSocket: %s/cni.sock\n", ovs.RunDir, dir))
	require.NoError(t, err)
	o.config.OVSDatapathType = "netdev" // not an acceptable setting, but there may be no kernel module here
	o.tokenFile, o.policyDir, o.statsFile = filepath.Join(dir, "token"), filepath.Join(dir, "networkpolicy"), filepath.Join(dir, "networkpolicystats")
	o.egressFile = filepath.Join(dir, "egresses")
	o.groupsFile, o.nodeRulesFile = filepath.Join(dir, "servicegroups"), filepath.Join(dir, "nodepolicyrules")
	kube := fake.NewClientset(nodeObject("node1", "192.168.0.1", "10.10.1.0/24"), nodeObject("node2", "192.168.0.2", "10.10.2.0/24"),
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
			Spec:       corev1.ServiceSpec{ClusterIP: "10.96.0.1", Ports: []corev1.ServicePort{{Port: 80}}},
		},
		&discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
			AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.10.2.7"}}},
			Ports: []discoveryv1.EndpointPort{{Port: ptr.To[int32](8080)}},
		})
	shown := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{crd.Traceflows: "TraceflowList", crd.AgentInfos: "AntreaAgentInfoList",
			crd.Egresses: "EgressList", crd.ExternalIPPools: "ExternalIPPoolList"}, crd.New("AntreaAgentInfo", "node1"))
	clients := &kubernetes.Clients{Config: apiConfig, Kube: kube, Dynamic: shown, Reviews: apiservertest.Start(t, &apiservertest.Kubernetes{})}

	for round := 1; round <= 2; round++ { // the second time it is a restart
		testAgentRun(t, o, clients, ovs, dir, round)
	}
}

// stopLimit is the time that a Pod has to end by default. An idle machine needs less than a second.
const stopLimit = 30 * time.Second

func testAgentRun(t *testing.T, o *options, clients *kubernetes.Clients, ovs *ovstest.OVS, dir string, round int) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- run(ctx, o, clients) }()

	api := &apiClient{base: "https://127.0.0.1:10350", tokenFile: o.tokenFile, http: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
	}}}
	eventually(t, func() error { return api.want("/healthz?verbose", "[+]ovs ok") })

	requireAgentInfo(t, api)
	eventually(t, func() error {
		object, err := clients.Dynamic.Resource(crd.AgentInfos).Get(t.Context(), "node1", metav1.GetOptions{})
		if err == nil && object.Object["apiCABundle"] == nil {
			err = errors.New("AntreaAgentInfo node1 is empty")
		}
		return err
	})
	// Flows to the other Node.
	eventually(t, func() error { return api.want("/ovsflows?table=L3Forwarding", "10.10.2.0/24") })
	// A Service and its Endpoint.
	eventually(t, func() error { return api.want("/ovsflows?service=web&namespace=default", "nw_dst=10.96.0.1,tp_dst=80") })
	require.NoError(t, api.want("/ovsflows?service=web&namespace=default", "nat(dst=10.10.2.7:8080)"))
	require.NoError(t, api.want("/metrics", `antrea_proxy_total_endpoints_installed{ip_family="v4"} 1`))
	status, body, err := api.get("/oncache")
	require.NoError(t, err)
	require.Equal(t, 503, status)
	require.Equal(t, "oncache is not enabled\n", body)
	status, _, err = api.get("/podinterfaces?name=absent")
	require.NoError(t, err)
	require.Equal(t, 404, status)

	requireSupportBundle(t, api)

	socket := filepath.Join(dir, "cni.sock")
	eventually(t, func() error {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	// The end of a round: flows of the previous one are deleted and the round is recorded, after at least 10 s.
	eventually(t, func() error {
		want := fmt.Sprintf(`"%d"`, round)
		if got := ovs.Vsctl("--if-exists", "get", "bridge", "br-int", "external_ids:roundNum"); got != want {
			return fmt.Errorf("round %s, want %s", got, want)
		}
		return nil
	})

	cancel()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(stopLimit):
		t.Fatal("the agent does not stop")
	}
	flows := strings.Join(ovs.DumpFlows("br-int"), "\n")
	require.Contains(t, flows, "10.10.2.0/24", "flows stay when the agent stops")
	require.Contains(t, flows, "nw_dst=10.96.0.1,tp_dst=80", "flows of Services also stay")
	if round > 1 {
		require.NotRegexp(t, fmt.Sprintf(`cookie=0x%x[0-9a-f]{12},`, round-1), flows, "no flow of the previous round")
	}
}

func requireAgentInfo(t *testing.T, api *apiClient) {
	t.Helper()
	var info apis.AgentInfo
	_, body, err := api.get("/agentinfo")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(body), &info))
	require.Equal(t, "antrea-agent-x", info.PodRef.Name)
	require.Equal(t, "node1", info.NodeRef.Name)
	require.Equal(t, []string{"10.10.1.0/24"}, info.NodeSubnets)
	require.Equal(t, []string{"192.168.0.1"}, info.NetworkInfo.TransportIPs)
	require.Equal(t, 10350, info.APIPort)
	require.Equal(t, "br-int", info.OVSInfo.BridgeName)
	require.NotEmpty(t, info.OVSInfo.Version)
	require.Positive(t, info.OVSInfo.FlowTable["Classifier"])
	for _, condition := range info.AgentConditions {
		want := corev1.ConditionTrue
		if condition.Type == apis.Degraded || condition.Type == apis.ControllerConnectionUp { // no controller here
			want = corev1.ConditionFalse
		}
		require.Equal(t, want, condition.Status, "%s: %s", condition.Type, condition.Message)
	}
}

func TestAgentStopsWhileItWaitsForOVS(t *testing.T) {
	t.Setenv("NODE_NAME", "node1")
	o, err := completeOptions(t, "ovsRunDir: "+t.TempDir())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	kube := fake.NewClientset()
	go func() { done <- run(ctx, o, &kubernetes.Clients{Config: apiConfig, Kube: kube, Reviews: kube}) }()
	cancel()
	select {
	case err := <-done:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(stopLimit):
		t.Fatal("the agent does not stop")
	}
}
