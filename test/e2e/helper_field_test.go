// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/policy"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
	"github.com/antrea-oncache/antrea/test/tools/wire"
)

// field has the Pods of a world of policies on a cluster. Each has a packet socket through which this process sends and
// receives in place of the Pod. The Pods' own stacks receive none of it.
type field struct {
	s      *suite
	places map[string]*place // by namespace/name
	// react, if set, is called with each arrival, before it can be waited for. It must return soon.
	react func(*arrival)

	mu      sync.Mutex
	arrived map[uint32][]*arrival // by number
	changed chan struct{}
	lastID  uint32
	// used are the ends of all connections, by protocol.
	used map[corev1.Protocol]map[[2]netip.AddrPort]bool
}

// place is one Pod of a field.
type place struct {
	*cluster.Pod
	mac, gateway net.HardwareAddr
	socket       *afpacket.Socket
}

// arrival is a frame with a number that has arrived at a Pod.
type arrival struct {
	number uint32
	at     *place
	when   time.Time
}

// attempt is an attempted connection.
type attempt struct {
	*policy.Probe
	id         uint32
	sourcePort uint16
	sent       time.Time
	// service is the address that the client connects to, if it is not the server's own. See throughServices.
	service netip.Addr
}

var attemptProtocols = map[corev1.Protocol]uint8{
	corev1.ProtocolTCP: of.IPProtoTCP, corev1.ProtocolUDP: of.IPProtoUDP, corev1.ProtocolSCTP: of.IPProtoSCTP,
}

func podKey(p *policy.Pod) string { return p.Namespace + "/" + p.Name }

// newField makes the Pods of a world. It ends with the test.
func newField(t *testing.T, s *suite, world *policy.World) *field {
	t.Helper()
	f := &field{
		s: s, places: map[string]*place{}, arrived: map[uint32][]*arrival{}, changed: make(chan struct{}, 1),
		used: map[corev1.Protocol]map[[2]netip.AddrPort]bool{},
	}
	for protocol := range attemptProtocols {
		f.used[protocol] = map[[2]netip.AddrPort]bool{}
	}
	var making errgroup.Group
	var mu sync.Mutex
	made := map[string]*cluster.Pod{}
	for _, n := range s.Nodes {
		making.Go(func() error {
			for _, pod := range world.Pods {
				if pod.Node != n.Name {
					continue
				}
				p, err := f.createPod(t.Context(), pod)
				if err != nil {
					return err
				}
				mu.Lock()
				made[podKey(pod)] = p
				mu.Unlock()
			}
			return nil
		})
	}
	err := making.Wait()
	if err != nil { // the next test needs the same names
		for _, p := range made {
			deletePod(t, p)
		}
	}
	require.NoError(t, err)
	for key, p := range made {
		f.setPlace(t, key, p)
	}
	return f
}

func (f *field) createPod(ctx context.Context, pod *policy.Pod) (*cluster.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	node := f.s.node1
	if pod.Node == f.s.node2.Name {
		node = f.s.node2
	}
	return f.s.CreatePod(ctx, node, pod.Namespace, pod.Name, func(object *corev1.Pod) {
		object.Labels = pod.Labels
		object.Spec.Containers[0].Ports = pod.Ports
	})
}

// setPlace takes over the interface of a Pod, which is deleted when the test ends.
func (f *field) setPlace(t *testing.T, key string, pod *cluster.Pod) {
	t.Helper()
	p := &place{Pod: pod}
	f.occupy(t, p)
	f.mu.Lock()
	f.places[key] = p
	f.mu.Unlock()
}

func (f *field) occupy(t *testing.T, p *place) {
	t.Helper()
	t.Cleanup(func() { deletePod(t, p.Pod) })
	for _, drop := range [][]string{{"iptables"}, {"ip6tables", "!", "-p", "icmpv6"}} { // neighbor discovery continues
		succeeds(t, p.Space, append([]string{drop[0], "-t", "raw", "-I", "PREROUTING", "-i", "eth0", "-j", "DROP"}, drop[1:]...)...)
	}
	var err error
	p.mac, err = net.ParseMAC(macOf(t, p.Space, "eth0"))
	require.NoError(t, err)
	p.gateway, err = net.ParseMAC(macOf(t, p.Node.Space, "antrea-gw0"))
	require.NoError(t, err)
	require.NoError(t, p.Do(func() error {
		link, err := net.InterfaceByName("eth0")
		if err == nil {
			p.socket, err = afpacket.Open(link.Index, false)
		}
		return err
	}))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		defer p.socket.Close()
		for ctx.Err() == nil {
			f.receive(p)
		}
	}()
	t.Cleanup(func() { cancel(); <-stopped })
}

// receive waits a short time for a frame.
func (f *field) receive(p *place) {
	frame, ok, err := p.socket.Receive(100 * time.Millisecond)
	if err != nil || !ok {
		return // also when the Pod's interface has gone; frames that do not arrive are reported as missing
	}
	number, err := wire.Number(frame.Data)
	if err != nil || wire.Connection(number) == 0 {
		return // the kernel's own neighbor discovery
	}
	a := &arrival{number: number, at: p, when: time.Now()}
	if f.react != nil {
		f.react(a)
	}
	f.mu.Lock()
	f.arrived[number] = append(f.arrived[number], a)
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// attempt prepares a connection of a probe, from a port that no other connection between these ends has used: conntrack may still know that one.
func (f *field) attempt(p *policy.Probe) *attempt {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastID += wire.Step
	from, to := p.Addresses()
	for n := f.lastID / wire.Step; ; n++ {
		port := uint16(10000 + n%50000)
		ends := [2]netip.AddrPort{netip.AddrPortFrom(from, port), netip.AddrPortFrom(to, p.Port)}
		if !f.used[p.Protocol][ends] {
			f.used[p.Protocol][ends] = true
			return &attempt{Probe: p, id: f.lastID, sourcePort: port}
		}
	}
}

// probes returns probes of a world, only of IP versions that its Pods have.
func (f *field) probes(generator *policy.Generator, world *policy.World) []*policy.Probe {
	return slices.DeleteFunc(generator.Probes(world), func(p *policy.Probe) bool { return !f.s.hasFamily(p.IPv6) })
}

func (f *field) place(p *policy.Pod) *place {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.places[podKey(p)]
}

// leg returns the path of the connection's packets, from the server if back is set.
func (f *field) leg(a *attempt, back bool) wire.Leg {
	from, to := a.Addresses()
	l := wire.Leg{
		SourceMAC: f.place(a.From).mac, DestinationMAC: f.nextHop(a.From, a.To),
		Source: netip.AddrPortFrom(from, a.sourcePort), Destination: netip.AddrPortFrom(to, a.Port),
	}
	if a.service.IsValid() {
		l.DestinationMAC, l.Destination = f.place(a.From).gateway, netip.AddrPortFrom(a.service, a.Port)
	}
	if back {
		l.SourceMAC, l.DestinationMAC = f.place(a.To).mac, f.nextHop(a.To, a.From)
		l.Source, l.Destination = netip.AddrPortFrom(to, a.Port), l.Source
	}
	return l
}

func (f *field) nextHop(from, to *policy.Pod) net.HardwareAddr {
	if from.Node == to.Node {
		return f.place(to).mac
	}
	return f.place(from).gateway
}

// open, answer and data send a packet of the connection.
func (f *field) open(a *attempt) error {
	a.sent = time.Now()
	return f.send(a.From, wire.Opening(f.leg(a, false), attemptProtocols[a.Protocol], a.id))
}

func (f *field) answer(a *attempt) error {
	return f.send(a.To, wire.Answer(f.leg(a, true), attemptProtocols[a.Protocol], a.id))
}

func (f *field) data(a *attempt, n int, back bool) error {
	from := a.From
	if back {
		from = a.To
	}
	return f.send(from, wire.Data(f.leg(a, back), attemptProtocols[a.Protocol], a.id, n, back))
}

func (f *field) send(from *policy.Pod, frame []byte) error {
	if err := f.place(from).socket.Send(afpacket.Frame{Data: frame}); err != nil {
		return fmt.Errorf("sending from Pod %s: %w", podKey(from), err)
	}
	return nil
}

// count returns how often a frame with this number has arrived at the Pod, and elsewhere.
func (f *field) count(number uint32, to *policy.Pod) (there, elsewhere int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.arrived[number] {
		if a.at.Namespace == to.Namespace && a.at.PodName == to.Name {
			there++
		} else {
			elsewhere++
		}
	}
	return there, elsewhere
}

// expected is a frame of an attempt that must arrive at a Pod.
type expected struct {
	*attempt
	number uint32
	to     *policy.Pod
}

// await waits until all have arrived, and returns those that have not once nothing has arrived for a while.
func (f *field) await(frames []expected) (missing []expected) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		missing = nil
		for _, e := range frames {
			if there, _ := f.count(e.number, e.to); there == 0 {
				missing = append(missing, e)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-f.changed:
			limit.Reset(patience)
		case <-limit.C:
			return missing
		}
	}
}

func (a *attempt) String() string {
	from, to := a.Addresses()
	way := ""
	if a.service.IsValid() {
		way = fmt.Sprintf("%v -> ", a.service)
	}
	return fmt.Sprintf("%s (%s) to %s (%s), %s, %v -> %s%v", podKey(a.From), a.From.Node, podKey(a.To), a.To.Node, a.Protocol,
		netip.AddrPortFrom(from, a.sourcePort), way, netip.AddrPortFrom(to, a.Port))
}

// forgetConnections empties connection tracking on all Nodes.
func (s *suite) forgetConnections(t *testing.T) {
	t.Helper()
	for _, n := range s.Nodes {
		// It fails when there is nothing to delete, and says so.
		ctx, cancel := context.WithTimeout(t.Context(), execTimeout)
		_, err := n.Exec(ctx, "conntrack", "-F")
		cancel()
		if err != nil && !strings.Contains(err.Error(), "0 flow entries") {
			require.NoError(t, err)
		}
	}
}
