// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

const patience = 60 * time.Second

// fakeFlows records calls.
type fakeFlows struct {
	calls chan string
	// refusal is the error of InstallTraceflowFlows.
	refusal error
}

func (f *fakeFlows) InstallTraceflowFlows(tag uint8, flows openflow.TraceflowFlows) error {
	f.calls <- fmt.Sprintf("install %d from %d live=%t filter=%t", tag, flows.Sender, flows.Live, flows.Filter != nil)
	return f.refusal
}

func (f *fakeFlows) UninstallTraceflowFlows(tag uint8) error {
	f.calls <- fmt.Sprintf("uninstall %d", tag)
	return nil
}

func (f *fakeFlows) SendTraceflowPacket(_ context.Context, tag uint8, packet ippacket.Outline, ofPort uint32) error {
	f.calls <- fmt.Sprintf("send %d to %v from %d", tag, packet.Dst, ofPort)
	return nil
}

// world is a Controller that runs from start on: objects that are made before are in its first list.
type world struct {
	t      *testing.T
	c      *Controller
	client dynamic.Interface
	flows  *fakeFlows
	sw     *of.Fake
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, flows: &fakeFlows{calls: make(chan string, 100)}, sw: of.NewFake()}
	w.client = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{crd.Traceflows: v1beta1.TraceflowKind + "List"})
	_, err := w.sw.Connect(t.Context())
	require.NoError(t, err)
	w.c, err = New(Config{
		Node: "node-1", Client: w.client, Interfaces: interfaces(), Policies: fakePolicies{}, Flows: w.flows, Switch: w.sw, GatewayMAC: gatewayMAC, IsPeer: peerNetwork.Contains,
		Objects: Objects{Pod: func(context.Context, string, string) (*corev1.Pod, error) { return nil, errors.New("no such Pod") }},
		Hold: func(names []string) func() {
			w.flows.calls <- fmt.Sprint("hold ", names)
			return func() { w.flows.calls <- fmt.Sprint("release ", names) }
		},
	})
	require.NoError(t, err)
	return w
}

func (w *world) start() {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- w.c.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		require.NoError(w.t, <-done)
	})
}

func (w *world) requireCalls(want ...string) {
	w.t.Helper()
	for _, call := range want {
		select {
		case got := <-w.flows.calls:
			require.Equal(w.t, call, got)
		case <-time.After(patience):
			require.Fail(w.t, "no call", "want %q", call)
		}
	}
}

// put makes the object, or replaces it.
func (w *world) put(t *v1beta1.Traceflow, exists bool) {
	w.t.Helper()
	object := crd.New(v1beta1.TraceflowKind, t.Name)
	object.SetUID(t.UID)
	require.NoError(w.t, crd.Fill(object, t))
	traceflows := w.client.Resource(crd.Traceflows)
	var err error
	if exists {
		_, err = traceflows.Update(w.t.Context(), object, metav1.UpdateOptions{})
	} else {
		_, err = traceflows.Create(w.t.Context(), object, metav1.CreateOptions{})
	}
	require.NoError(w.t, err)
}

// await waits for a status.
func (w *world) await(name string, condition func(*v1beta1.TraceflowStatus) bool) *v1beta1.TraceflowStatus {
	w.t.Helper()
	var last *v1beta1.Traceflow
	require.Eventually(w.t, func() bool {
		object, err := w.client.Resource(crd.Traceflows).Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		last, err = crd.Read[v1beta1.Traceflow](object)
		return err == nil && condition(&last.Status)
	}, patience, 10*time.Millisecond)
	return &last.Status
}

func runningTrace(destination v1beta1.Destination) *v1beta1.Traceflow {
	now := metav1.Now()
	return &v1beta1.Traceflow{
		ObjectMeta: metav1.ObjectMeta{Name: "tf", UID: "u"},
		Spec: v1beta1.TraceflowSpec{
			Source: v1beta1.Source{Namespace: "ns", Pod: "client"}, Destination: destination,
			Packet: v1beta1.Packet{TransportHeader: v1beta1.TransportHeader{TCP: &v1beta1.TCPHeader{SrcPort: 40001, DstPort: 80}}},
		},
		Status: v1beta1.TraceflowStatus{Phase: v1beta1.TraceflowRunning, DataplaneTag: 5, StartTime: &now},
	}
}

// A trace from its beginning to its end, with what the pipeline reports in between.
func TestController(t *testing.T) {
	w := newWorld(t)
	trace := runningTrace(v1beta1.Destination{Namespace: "ns", Pod: "server"})
	w.put(trace, false)
	w.start()
	w.requireCalls("hold [client-1 server-1]", "install 5 from 11 live=false filter=false", "send 5 to 10.10.1.20 from 11")
	const output = 12 // the number of the trace point
	require.Equal(t, 1, w.sw.SendPacketIn(openflow.TraceflowController, of.PacketIn{
		UserData: []byte{0, 5, output}, Data: frame(t, outline(serverIP, 80)),
		Metadata: []of.Match{of.InPort(11), reg(0, 3), reg(1, 20), reg(6, 2), reg(10, 1<<output)},
	}))
	status := w.await("tf", func(s *v1beta1.TraceflowStatus) bool { return len(s.Results) == 1 })
	require.Equal(t, []any{"node-1", "sender"}, []any{status.Results[0].Node, status.Results[0].Role})
	var texts []string
	for _, o := range status.Results[0].Observations {
		texts = append(texts, describe(o))
	}
	require.Equal(t, []string{"SpoofGuard::Forwarded<10.10.0.11", "NetworkPolicy:IngressRule:Forwarded:K8sNetworkPolicy:ns/policy2", "Forwarding:Output:Delivered"}, texts)

	trace.Status = *status
	trace.Status.Phase, trace.Status.DataplaneTag = v1beta1.TraceflowSucceeded, 0
	w.put(trace, true)
	for {
		call := <-w.flows.calls
		if call == "send 5 to 10.10.1.20 from 11" {
			continue // it may have been sent again
		}
		require.Equal(t, "uninstall 5", call)
		break
	}
	w.requireCalls("release [client-1 server-1]")
}

// A Kubernetes API that fails once, as one that is slow does, costs neither a result nor the reason of a failure.
func TestStatusIsWrittenAgain(t *testing.T) {
	for name, destination := range map[string]v1beta1.Destination{"result": {Namespace: "ns", Pod: "server"}, "failure": {Namespace: "ns", Pod: "gone"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var failed atomic.Bool
			w.client.(*dynamicfake.FakeDynamicClient).PrependReactor("update", "traceflows", func(ktesting.Action) (bool, runtime.Object, error) {
				return failed.CompareAndSwap(false, true), nil, context.DeadlineExceeded
			})
			w.put(runningTrace(destination), false)
			w.start()
			if name == "failure" {
				w.await("tf", func(s *v1beta1.TraceflowStatus) bool { return s.Phase == v1beta1.TraceflowFailed })
				return
			}
			w.requireCalls("hold [client-1 server-1]", "install 5 from 11 live=false filter=false")
			const output = 12
			require.Equal(t, 1, w.sw.SendPacketIn(openflow.TraceflowController, of.PacketIn{
				UserData: []byte{0, 5, output}, Data: frame(t, outline(serverIP, 80)),
				Metadata: []of.Match{of.InPort(11), reg(0, 3), reg(1, 20), reg(10, 1<<output)},
			}))
			w.await("tf", func(s *v1beta1.TraceflowStatus) bool { return len(s.Results) == 1 })
			require.True(t, failed.Load())
		})
	}
}

func TestControllerFailsTraces(t *testing.T) {
	w := newWorld(t)
	w.put(runningTrace(v1beta1.Destination{Namespace: "ns", Pod: "gone"}), false)
	w.start()
	status := w.await("tf", func(s *v1beta1.TraceflowStatus) bool { return s.Phase == v1beta1.TraceflowFailed })
	require.Equal(t, "Node: node-1, error: failed to get the destination Pod: no such Pod", status.Reason)

	refused := newWorld(t)
	refused.flows.refusal = errors.New("refused")
	refused.put(runningTrace(v1beta1.Destination{IP: "203.0.113.9"}), false)
	refused.start()
	status = refused.await("tf", func(s *v1beta1.TraceflowStatus) bool { return s.Phase == v1beta1.TraceflowFailed })
	require.Equal(t, "Node: node-1, error: refused", status.Reason)
	refused.requireCalls("hold [client-1]", "install 5 from 11 live=false filter=false", "uninstall 5", "release [client-1]")
}

func reg(n uint8, value uint32) of.Match { return of.Reg(n, of.Range{From: 0, To: 31}, value) }

// A trace to a Service holds the local Endpoints, on whatever Node, and one to an IP the Pod that has it.
func TestOthersAreHeld(t *testing.T) {
	w := newWorld(t)
	w.c.planner.objects.Endpoints = func(namespace, name string) ([]netip.Addr, error) {
		require.Equal(t, "ns/web", namespace+"/"+name)
		return []netip.Addr{serverIP, netip.MustParseAddr("10.10.2.9")}, nil
	}
	for _, d := range []v1beta1.Destination{{Namespace: "ns", Service: "web"}, {IP: serverIP.String()}} {
		trace := runningTrace(d)
		trace.Spec.Source.Pod = "far"
		p, err := w.c.planner.plan(t.Context(), trace)
		require.NoError(t, err)
		require.Nil(t, p.sender)
		require.Equal(t, []string{"server-1"}, p.interfaces())
		require.Equal(t, hold{"tf", []string{"server-1"}}, newCore().begin(p, begun)[0])
	}
}

// Whatever a Traceflow says, plans are made or refused.
func TestAnyTraceflow(t *testing.T) {
	w := newWorld(t)
	w.c.planner.objects.Service = func(string, string) (*corev1.Service, error) {
		return &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}, nil
	}
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		return []string{"", "ns", "client", "server", "web", "10.10.0.11", "::1", "::ffff:10.10.0.11", "fe80::1%eth0", "255.255.255.255", "x/y"}[random.IntN(11)]
	}
	number := func() int32 {
		return []int32{0, 1, 6, 17, 58, 255, 256, 65536, -1, math.MinInt32, math.MaxInt32}[random.IntN(11)]
	}
	plans := 0
	for range 20000 {
		trace := runningTrace(v1beta1.Destination{Namespace: text(), Pod: text(), Service: text(), IP: text()})
		trace.Spec.Source = v1beta1.Source{Namespace: text(), Pod: text(), IP: text()}
		trace.Spec.LiveTraffic, trace.Spec.DroppedOnly, trace.Spec.Timeout = random.IntN(2) == 0, random.IntN(2) == 0, number()
		p := &trace.Spec.Packet
		p.TransportHeader = v1beta1.TransportHeader{}
		if random.IntN(2) == 0 {
			p.IPHeader = &v1beta1.IPHeader{Protocol: number(), TTL: number(), Flags: number()}
		}
		if random.IntN(2) == 0 {
			p.IPv6Header = &v1beta1.IPv6Header{NextHeader: ptr.To(number()), HopLimit: number()}
		}
		if random.IntN(2) == 0 {
			p.TransportHeader.TCP = &v1beta1.TCPHeader{SrcPort: number(), DstPort: number(), Flags: ptr.To(number())}
		}
		if random.IntN(2) == 0 {
			p.TransportHeader.ICMP = &v1beta1.ICMPEchoRequestHeader{ID: number(), Sequence: number()}
		}
		made, err := w.c.planner.plan(t.Context(), trace)
		if err != nil || made == nil {
			continue
		}
		plans++
		require.LessOrEqual(t, made.timeout, time.Duration(v1beta1.MaxTraceflowTimeout)*time.Second)
		newCore().begin(made, begun)
		if made.sender != nil && !made.live {
			_, err := ippacket.Build(made.packet)
			require.NoError(t, err)
		}
	}
	require.Greater(t, plans, 500)
}
