// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	agentapis "github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/antctl/testpods"
	"github.com/antrea-oncache/antrea/pkg/apis"
)

// world is a cluster with an agent on each Node, and what its kubelets and agents do.
type world struct {
	controllers int32
	nodes       []string
	// others are Nodes without an agent, by their operating system.
	others map[string]string
	// unready are the Nodes whose agent's Pod is not ready, silent the Nodes whose agent does not answer.
	unready, silent string
	conditions      []agentapis.AgentCondition
	// cache is the state of the caches; nil if the gate is off. packets is the number of packets on the fast path.
	cache   *api.Status
	packets map[string]uint64
	// rewrites are the Nodes that rewrite. Rewritten packets to the Node blocked are lost; encapsulated tells how many packets arrive there nevertheless from
	// one question to the next.
	rewrites     []string
	blocked      string
	encapsulated uint64
	asked        uint64 // how often for a flow
	// encapsulates is a Node with oncache.tunnel: encap.
	encapsulates string
	// withoutNetcat is set when the image has no nc.
	withoutNetcat bool
	// refused is a text in a client's command with which it cannot connect, admitted one with which it can although it must not.
	refused, admitted string
	// onOVS is why there are no hits between the Nodes, keys are the Nodes' annotations.
	onOVS string
	keys  map[string]string
	// stuck is the name of a Pod that does not start.
	stuck string
	// noAccounts is set when new Namespaces get no ServiceAccount.
	noAccounts bool
	// dns is set when there is a DNS Service, dualStack when Pods have two addresses, smallMTU when large packets are lost between Nodes.
	dns, dualStack, smallMTU bool
	// addresses are the InternalIPs of all Nodes. noAPI is set when there is no Service kubernetes.
	addresses []string
	noAPI     bool
}

// Get answers like an agent.
func (w *world) Get(_ context.Context, node, path string, query url.Values, answer any) error {
	var body any
	switch {
	case node == w.silent:
		return errors.New("connection refused")
	case path == "/agentinfo":
		body = agentapis.AgentInfo{AgentConditions: w.conditions}
	case w.cache == nil:
		return errors.New("oncache is not enabled")
	case query.Get("view") == "nodes":
		body = []api.NodeInfo{{Name: "n1", OnOVS: w.onOVS}, {Name: "n2", OnOVS: w.onOVS}}
	case query.Get("view") == "flows":
		flows := []api.FlowInfo{}
		if ip := query.Get("ip"); ip == "10.10.0.9" || ip == "10.10.0.8" {
			for direction, packets := range w.packets {
				if direction == "ingress" && len(w.rewrites) > 0 {
					w.asked++
					arriving := uint64(rewrittenPackets)
					if node == w.blocked {
						arriving = w.encapsulated
					}
					packets += w.asked * arriving
				}
				protocol := map[string]string{"10.10.0.9": "TCP", "10.10.0.8": "UDP"}[ip]
				flows = append(flows, api.FlowInfo{Direction: direction, Protocol: protocol, Packets: packets, Rewritten: direction == "egress" && slices.Contains(w.rewrites, node)})
			}
		}
		body = flows
	default:
		cache := *w.cache
		if node == w.encapsulates {
			cache.Rewrite = ""
		}
		body = cache
	}
	text, err := json.Marshal(body)
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	return err
}

// kubelet gives a new Pod the state that it reaches.
func (w *world) kubelet(pod *corev1.Pod) {
	command := strings.Join(pod.Spec.Containers[0].Command, " ")
	if strings.HasPrefix(pod.Name, "host-client-") != pod.Spec.HostNetwork {
		panic(pod.Name + " is on the wrong network")
	}
	switch {
	case pod.Name == w.stuck:
		pod.Status.Phase = corev1.PodPending
	case command == "": // a server
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.10.0.2", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		if w.dualStack {
			pod.Status.PodIPs = []corev1.PodIP{{IP: "10.10.0.2"}, {IP: "fd00:10::2"}}
		}
		if pod.Name == "isolated" {
			pod.Status.PodIP = "10.10.0.3"
		}
	case strings.Contains(command, "/upload"):
		pod.Status.Phase = corev1.PodSucceeded
		if w.smallMTU {
			pod.Status.Phase = corev1.PodFailed
		}
	case w.withoutNetcat && strings.Contains(command, "nc -u"):
		pod.Status.Phase = corev1.PodFailed
	case strings.Contains(command, "nc -u"):
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.10.0.8"}
	case strings.Contains(command, "curl"):
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.10.0.9"}
	case w.refused != "" && strings.Contains(command, w.refused), strings.Contains(command, "10.10.0.3:") && w.admitted == "":
		pod.Status.Phase = corev1.PodFailed
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: "TIMEOUT"}}}}
	default:
		pod.Status.Phase = corev1.PodSucceeded
	}
}

func (w *world) annotations(node string) map[string]string {
	if w.keys[node] == "" {
		return nil
	}
	return map[string]string{apis.WireGuardKey: w.keys[node]}
}

func (w *world) kubernetes() *fake.Clientset {
	objects := []runtime.Object{&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "antrea-controller"},
		Status:     appsv1.DeploymentStatus{AvailableReplicas: w.controllers},
	}}
	if !w.noAPI {
		objects = append(objects, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"},
			Spec:       corev1.ServiceSpec{ClusterIP: "10.96.0.1", Ports: []corev1.ServicePort{{Port: 443}}},
		})
	}
	if w.dns {
		objects = append(objects, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"}})
	}
	for _, node := range w.nodes {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "antrea-agent-" + node, Labels: map[string]string{"app": "antrea", "component": "antrea-agent"}},
			Spec:       corev1.PodSpec{NodeName: node},
		}
		if node != w.unready {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		objects = append(objects, pod)
	}
	systems := map[string]string{}
	for _, node := range w.nodes {
		systems[node] = "linux"
	}
	maps.Copy(systems, w.others)
	for name, system := range systems {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: w.annotations(name)}, Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{OperatingSystem: system}}}
		for _, address := range w.addresses {
			node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
		}
		objects = append(objects, node)
	}
	kube := fake.NewClientset(objects...)
	kube.PrependReactor("create", "pods", func(action kubetesting.Action) (bool, runtime.Object, error) {
		w.kubelet(action.(kubetesting.CreateAction).GetObject().(*corev1.Pod))
		return false, nil, nil
	})
	kube.PrependReactor("create", "namespaces", func(action kubetesting.Action) (bool, runtime.Object, error) {
		if w.noAccounts {
			return false, nil, nil
		}
		name := action.(kubetesting.CreateAction).GetObject().(*corev1.Namespace).Name
		return false, nil, kube.Tracker().Add(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "default"}})
	})
	kube.PrependReactor("create", "services", func(action kubetesting.Action) (bool, runtime.Object, error) {
		service := action.(kubetesting.CreateAction).GetObject().(*corev1.Service)
		service.Spec.ClusterIP = "10.96.0.7"
		if service.Spec.Type == corev1.ServiceTypeNodePort {
			service.Spec.Ports[0].NodePort = 30007
		}
		return false, nil, nil
	})
	return kube
}

// run runs a test with a clock of its own: a busy machine does not use up the patience.
func run(t *testing.T, name string, test func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func wireGuardKey(first byte) string {
	return base64.StdEncoding.EncodeToString(append([]byte{first}, make([]byte, wireGuardKeyLength-1)...))
}

func TestInstallation(t *testing.T) {
	condition := func(kind agentapis.AgentConditionType, status corev1.ConditionStatus) agentapis.AgentCondition {
		return agentapis.AgentCondition{Type: kind, Status: status, Message: "the message"}
	}
	active := &api.Status{State: api.StateActive, Uplink: "eth0"}
	fast := map[string]uint64{"egress": 100, "ingress": 200}
	rewriting := &api.Status{State: api.StateActive, Uplink: "eth0", Rewrite: "tcp+udp/585"}
	for _, tc := range []struct {
		name   string
		edit   func(*world)
		want   []string
		failed int
	}{
		{name: "good, gate on", want: []string{
			"ok       controller       runs\n", "ok       agent n1         works\n", "ok       fast path n2     active on eth0\n",
			"ok       same Node        Node n1 to 10.10.0.2:8080: connected\n", "ok       between Nodes    Node n2 to 10.10.0.2:8080: connected\n",
			"ok       service          Node n2 to 10.96.0.7:80: connected\n", "warning  dns              not tried: there is no Service kube-system/kube-dns\n",
			"ok       large packets    Node n2 sent 200000 bytes to 10.10.0.2:8080\n", "ok       network policy   Node n2 to 10.10.0.3:8080: no connection\n",
			"ok       fast path        packets between Nodes n2 and n1 take it in both directions\n",
		}},
		{name: "host", want: []string{
			"ok       host             Node n2 to 10.10.0.2:8080: connected\n", "ok       node port        Node n2 to 172.18.0.2:30007: connected\n",
			"ok       kubernetes api   Node n2 to 10.96.0.1:443: connected\n",
		}},
		{name: "one Node, host", edit: func(w *world) { w.nodes = []string{"n1"} }, want: []string{"ok       node port        Node n1 to 172.18.0.2:30007: connected\n"}},
		{name: "no node ports", edit: func(w *world) { w.refused = ":30007" }, failed: 1, want: []string{
			"failed   node port        Node n2 to 172.18.0.2:30007: no connection (TIMEOUT)", "warning  node port        ports of Nodes need kube-proxy or antreaProxy.proxyAll",
		}},
		{name: "node ports of another IP version", edit: func(w *world) { w.addresses = []string{"fd00::2"} }, want: []string{
			"warning  node port        not tried: Node n1 has no InternalIP of the IP version of the Service's address 10.96.0.7",
		}},
		{name: "two addresses", edit: func(w *world) { w.addresses = []string{"fd00::2", "172.18.0.3"} }, want: []string{"Node n2 to 172.18.0.3:30007: connected"}},
		{name: "no way to the Kubernetes API", edit: func(w *world) { w.refused = "10.96.0.1:443" }, failed: 1, want: []string{"failed   kubernetes api   Node n2 to 10.96.0.1:443: no connection"}},
		{name: "no Service kubernetes", edit: func(w *world) { w.noAPI = true }, want: []string{"warning  kubernetes api   not tried: there is no Service default/kubernetes"}},
		{name: "good, gate off", edit: func(w *world) { w.cache = nil }, want: []string{"ok       fast path        not expected: feature gate ONCache is off on Node n1"}},
		{name: "not accelerated", edit: func(w *world) { w.packets = map[string]uint64{"egress": 9999, "ingress": 99} }, failed: 1,
			want: []string{"failed   fast path        Node n1: of a busy connection only 9999 packets of egress and 99 of ingress took it within", "antctl oncache explain --from antrea-test-"}},
		{name: "encryption", edit: func(w *world) {
			w.onOVS, w.keys = "reached without the tunnel (wireGuard)", map[string]string{"n1": wireGuardKey(1), "n2": wireGuardKey(2)}
		}, want: []string{
			"ok       encryption       each Node has published a key for WireGuard\n",
			"ok       fast path        not expected between Nodes: on Node n1, Node n2 is reached without the tunnel (wireGuard)\n",
		}},
		{name: "a Node without a key", edit: func(w *world) { w.keys = map[string]string{"n1": wireGuardKey(1)} }, failed: 1, want: []string{
			"failed   encryption       Nodes [n2] have no annotation node.antrea.io/wireguard-public-key, unlike others, which they do not reach: "}},
		{name: "the same key twice", edit: func(w *world) { w.keys = map[string]string{"n1": wireGuardKey(1), "n2": wireGuardKey(1)} }, failed: 1, want: []string{
			"failed   encryption       Nodes n1 and n2 have the same annotation node.antrea.io/wireguard-public-key: "}},
		{name: "not a key", edit: func(w *world) { w.keys = map[string]string{"n1": wireGuardKey(1), "n2": "key"} }, failed: 1, want: []string{
			"failed   encryption       annotation node.antrea.io/wireguard-public-key of Node n2 is \"key\", want a key of WireGuard"}},
		{name: "rewriting", edit: func(w *world) { w.cache, w.rewrites = rewriting, w.nodes }, want: []string{
			"ok       rewriting TCP    packets between Nodes n2 and n1 arrive at port 585 in both directions\n",
			"ok       rewriting UDP    packets between Nodes n2 and n1 arrive at port 585 in both directions\n",
		}},
		{name: "rewritten packets are lost", edit: func(w *world) { w.cache, w.rewrites, w.blocked, w.encapsulated = rewriting, w.nodes, "n1", 2 }, failed: 2, want: []string{
			"failed   rewriting TCP    Nodes n2 and n1 rewrite packets that do not arrive: let TCP pass between all Nodes to port 585",
			"failed   rewriting UDP    Nodes n2 and n1 rewrite packets that do not arrive: let UDP pass between all Nodes to port 585",
		}},
		{name: "nothing is rewritten", edit: func(w *world) { w.cache, w.rewrites = rewriting, []string{"n1"} }, want: []string{
			"warning  rewriting TCP    no packet from Node n2 was rewritten within",
		}},
		{name: "no nc", edit: func(w *world) { w.cache, w.rewrites, w.withoutNetcat = rewriting, w.nodes, true }, want: []string{
			"ok       rewriting TCP", "warning  rewriting UDP    not tried: the client has ended",
		}},
		{name: "one Node encapsulates", edit: func(w *world) { w.cache, w.encapsulates = rewriting, "n2" }, want: []string{
			"warning  rewriting        not tried: Nodes n2 (no rewriting) and n1 (tcp+udp/585) exchange packets in the tunnel",
		}},
		{name: "a Node that gets none", edit: func(w *world) {
			refusing := *rewriting
			refusing.NotRewriting = "gro_max_size of interface eth0 is 185000"
			w.cache = &refusing
		}, want: []string{
			"warning  rewriting        not tried: packets to Node n2 are not rewritten: gro_max_size of interface eth0 is 185000",
		}},
		{name: "cache unavailable", edit: func(w *world) {
			w.cache = &api.Status{State: api.StateUnavailable, Reason: "create pin directory (is a bpffs mounted there?)"}
		},
			want: []string{"warning  fast path n1     Unavailable: create pin directory (is a bpffs mounted there?). Remedy: mount a bpffs on the Node " +
				"(mount -t bpf bpf /sys/fs/bpf), then restart the agent", "warning  fast path        not tried: the cache of Node n1 is Unavailable"}},
		{name: "cache observes", edit: func(w *world) { w.cache = &api.Status{State: api.StateObserving} }, want: []string{"warning  fast path n1     Observing by oncache.mode"}},
		{name: "Pods on Open vSwitch", edit: func(w *world) { w.cache = &api.Status{State: api.StateActive, PodsOnOVS: 3} }, want: []string{"3 Pods are kept on Open vSwitch"}},
		{name: "no controller", edit: func(w *world) { w.controllers = 0 }, failed: 1, want: []string{"failed   controller       no replica of Deployment kube-system/antrea-controller"}},
		{name: "agent not ready", edit: func(w *world) { w.unready = "n2" }, failed: 1, want: []string{
			"failed   agent            Pod antrea-agent-n2 on Node n2 is not ready", "warning  between Nodes    not tried: only Node n1", "ok       service          Node n1",
		}},
		{name: "Nodes without agent", edit: func(w *world) { w.others = map[string]string{"n3": "linux", "w1": "windows", "n4": ""} }, failed: 2, want: []string{
			"failed   agent n3         there is none: see agent.nodeSelector", "failed   agent n4         there is none", "ok       service          Node n2",
		}},
		{name: "agent silent", edit: func(w *world) { w.silent = "n1" }, failed: 1, want: []string{"failed   agent n1         does not answer: connection refused", "ok       same Node        Node n2"}},
		{name: "no agents", edit: func(w *world) { w.nodes = nil }, failed: 2, want: []string{"there is no Pod with the labels", "failed   traffic          not tried: no agent is healthy"}},
		{name: "agent without OVS", edit: func(w *world) {
			w.conditions = []agentapis.AgentCondition{condition(agentapis.OpenflowConnectionUp, corev1.ConditionFalse)}
		}, failed: 3, want: []string{"failed   agent n1         OpenflowConnectionUp is False: the message"}},
		{name: "agent has problems", edit: func(w *world) {
			w.conditions = []agentapis.AgentCondition{condition(agentapis.Degraded, corev1.ConditionTrue), condition(agentapis.AgentHealthy, corev1.ConditionTrue)}
		}, want: []string{"warning  agent n1         has problems, see antctl get problems there and docs/operate/troubleshooting.md: the message", "ok       agent n1         works"}},
		{name: "no Services", edit: func(w *world) { w.refused = "10.96.0.7" }, failed: 1, want: []string{"failed   service          Node n2 to 10.96.0.7:80: no connection (TIMEOUT)"}},
		{name: "policy without effect", edit: func(w *world) { w.admitted = "10.10.0.3" }, failed: 1, want: []string{"failed   network policy   Node n2 to 10.10.0.3:8080: connected"}},
		{name: "no ServiceAccount", edit: func(w *world) { w.noAccounts = true }, failed: 1, want: []string{"has no ServiceAccount default after", "does kube-controller-manager run?"}},
		{name: "no names", edit: func(w *world) { w.dns, w.refused = true, ".svc:80" }, failed: 1, want: []string{"failed   dns              Node n2 to server.antrea-test-", ".svc:80: no connection (TIMEOUT)"}},
		{name: "names", edit: func(w *world) { w.dns = true }, want: []string{"ok       dns              Node n2 to server.antrea-test-"}},
		{name: "dual stack", edit: func(w *world) { w.dualStack = true }, want: []string{
			"ok       same Node        Node n1 to [fd00:10::2]:8080: connected", "ok       between Nodes    Node n2 to [fd00:10::2]:8080: connected",
		}},
		{name: "one IP version is broken", edit: func(w *world) { w.dualStack, w.refused = true, "[fd00:10::2]" }, failed: 2, want: []string{
			"failed   between Nodes    Node n2 to [fd00:10::2]:8080: no connection",
		}},
		{name: "large packets are lost", edit: func(w *world) { w.smallMTU = true }, failed: 1, want: []string{"failed   large packets    Node n2 cannot send 200000 bytes to 10.10.0.2:8080"}},
		{name: "no server", edit: func(w *world) { w.stuck = "server" }, failed: 1, want: []string{"failed   traffic          no server: waiting for Pod server on Node n1: still Pending"}},
	} {
		run(t, tc.name, func(t *testing.T) {
			w := &world{
				controllers: 1, nodes: []string{"n2", "n1"}, cache: active, packets: fast, addresses: []string{"172.18.0.2"},
				conditions: []agentapis.AgentCondition{condition(agentapis.AgentHealthy, corev1.ConditionTrue), condition(agentapis.Degraded, corev1.ConditionFalse)},
			}
			if tc.edit != nil {
				tc.edit(w)
			}
			kube := w.kubernetes()
			var out bytes.Buffer
			i := &Installation{Kube: kube, Agents: w, Report: &Report{Out: &out}, Image: "agnhost", Limits: testpods.Limits{Patience: 50 * time.Millisecond, Interval: time.Millisecond}}
			collected, withPods := 0, 0
			i.Collect = func() {
				collected++
				namespaces, err := kube.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				withPods += len(namespaces.Items)
			}
			require.NoError(t, i.Run(t.Context()))
			require.NoError(t, i.Report.End())
			require.Equal(t, tc.failed > 0, collected == 1)
			require.Equal(t, tc.failed > 0 && len(w.nodes) > 0 && !strings.Contains(out.String(), "no agent is healthy"), withPods == 1, "a bundle shows the Pods")
			for _, want := range tc.want {
				require.Contains(t, out.String(), want)
			}
			require.Contains(t, out.String(), fmt.Sprintf("%d failed, ", tc.failed))
			require.Equal(t, tc.failed > 0, i.Report.Err() != nil)
			namespaces, err := kube.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			require.Empty(t, namespaces.Items, "everything that was made is removed")
		})
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	w := &world{controllers: 1, nodes: []string{"n1"}, stuck: "server"}
	kube := w.kubernetes()
	ctx, cancel := context.WithCancel(t.Context())
	kube.PrependReactor("get", "pods", func(kubetesting.Action) (bool, runtime.Object, error) {
		cancel() // the user gives up while the server starts
		return false, nil, nil
	})
	i := &Installation{Kube: kube, Agents: w, Report: &Report{Out: &bytes.Buffer{}}, Image: "agnhost", Limits: testpods.Limits{Patience: time.Minute, Interval: time.Millisecond}}
	_ = i.Run(ctx)
	namespaces, err := kube.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, namespaces.Items)
}
