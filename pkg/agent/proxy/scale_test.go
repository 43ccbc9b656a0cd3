// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/test/tools/cost"
)

const (
	scaleNodes     = 1000
	endpointsEach  = 50
	maxChangeTime  = 5 * time.Millisecond
	maxChangeAlloc = 256 << 10
)

// silentSwitch accepts everything and remembers nothing but the number of calls.
type silentSwitch struct{ calls int }

func (s *silentSwitch) InstallService(openflow.ServicePort) error { s.calls++; return nil }
func (s *silentSwitch) UninstallService(string) error             { s.calls++; return nil }

// large is a cluster with many Services of 50 Endpoints each, on 1,000 Nodes.
type large struct {
	nodes    []*corev1.Node
	services []*corev1.Service
	slices   []*discoveryv1.EndpointSlice
}

func newLarge(services int) *large {
	l := &large{}
	for i := range scaleNodes {
		l.nodes = append(l.nodes, testNode(fmt.Sprint("node", i), "a", fmt.Sprintf("10.%d.%d.0/24", i>>8, i&255)))
	}
	for i := range services {
		l.services = append(l.services, testService(fmt.Sprint("s", i), fmt.Sprintf("10.96.%d.%d", i>>8, i&255), "80"))
		l.slices = append(l.slices, l.slice(i, 0))
	}
	return l
}

// slice makes the EndpointSlice of a Service. first is the address of its first Endpoint.
func (l *large) slice(i, first int) *discoveryv1.EndpointSlice {
	var endpoints []string
	for j := range endpointsEach {
		node := (i*endpointsEach + j) % scaleNodes
		address := 1 + (i*endpointsEach+j)/scaleNodes%250
		if j == 0 && first > 0 {
			address = first
		}
		endpoints = append(endpoints, fmt.Sprintf("10.%d.%d.%d@node%d ready", node>>8, node&255, address, node))
	}
	s := testSlice(fmt.Sprint("s", i, "-1"), fmt.Sprint("s", i), "8080", endpoints...)
	trimmed, _ := trim(s)
	return trimmed.(*discoveryv1.EndpointSlice)
}

// tell tells the controller about everything, as the informers do.
func (l *large) tell(c *Controller) {
	for _, n := range l.nodes {
		c.enqueue(c.core.setNode(n.Name, noderoute.Accepted{Networks: []netip.Prefix{netip.MustParsePrefix(n.Spec.PodCIDRs[0])}}))
	}
	for _, s := range l.services {
		c.enqueue(c.core.setService(s))
	}
	for _, s := range l.slices {
		c.enqueue(c.core.setSlice(nil, s))
	}
}

func (c *Controller) drain() {
	for c.queue.Len() > 0 {
		c.handleNext()
	}
}

// newScaleController is a controller without informers.
func newScaleController(t testing.TB, flows FlowClient) *Controller {
	c := newController(Config{NodeName: "node0", IPv4: true}, flows, &fakeConnections{}, &fakeConnections{}, discardProblems{})
	t.Cleanup(c.queue.ShutDown)
	return c
}

// discardProblems ignores all problems.
type discardProblems struct{}

func (discardProblems) Report(problem.Reason, problem.Subject, string) {}
func (discardProblems) Resolve(problem.Reason, problem.Subject)        {}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkScale prints what 10,000 Services with 50 Endpoints each cost without a switch.
func BenchmarkScale(b *testing.B) {
	for _, services := range []int{1000, 10_000} {
		b.Run(fmt.Sprint("services=", services), func(b *testing.B) {
			for range b.N {
				base := heap()
				l := newLarge(services)
				objects := heap()
				flows := &silentSwitch{}
				c := newScaleController(b, flows)
				began, cpu := time.Now(), cost.ProcessorTime(b)
				l.tell(c)
				c.drain()
				b.ReportMetric(float64(time.Since(began).Milliseconds()), "sync-ms")
				b.ReportMetric(float64((cost.ProcessorTime(b) - cpu).Milliseconds()), "sync-cpu-ms")
				require.Equal(b, services, flows.calls)
				b.ReportMetric(float64(objects-base)/(1<<20), "objects-MiB")
				b.ReportMetric(float64(heap()-objects)/(1<<20), "controller-MiB")

				const changes = 1000
				began = time.Now()
				for i := range changes {
					c.enqueue(c.core.setSlice(l.slices[i], l.slice(i, 251)))
					c.drain()
				}
				b.ReportMetric(float64(time.Since(began).Microseconds())/changes, "change-us")
				require.Equal(b, services+changes, flows.calls)
				runtime.KeepAlive(l)
			}
		})
	}
}

// The cost of a change does not depend on the number of Services.
func TestCostOfOneChange(t *testing.T) {
	l, flows := newLarge(2000), &silentSwitch{}
	c := newScaleController(t, flows)
	l.tell(c)
	c.drain()
	require.Equal(t, 2000, flows.calls)
	for _, tc := range []struct {
		name   string
		change func(i int) []key
	}{
		{"an Endpoint", func(i int) []key { return c.core.setSlice(l.slices[7], l.slice(7, 251+i%2)) }},
		{"a Service", func(i int) []key { return c.core.setService(testService("s9", "10.96.0.9", fmt.Sprint(81+i%2))) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, calls := flows.calls, 6
			cpu, allocated := cost.Cheapest(t, calls, func(i int) {
				c.enqueue(tc.change(i))
				c.drain()
			})
			t.Logf("%v of processor time, %d bytes allocated", cpu, allocated)
			require.Less(t, cpu, cost.Factor*maxChangeTime)
			require.Less(t, allocated, uint64(maxChangeAlloc))
			require.LessOrEqual(t, flows.calls, before+2*calls, "the ports that change, and no others")
		})
	}
}
