// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// fakeNetwork has the machines that answer, by address, on all devices that are not broken.
type fakeNetwork struct {
	mu      sync.Mutex
	answers map[netip.Addr]net.HardwareAddr
	broken  string
	asked   map[string][]netip.Addr
}

func (f *fakeNetwork) find(_ context.Context, device string, addrs []netip.Addr) (map[netip.Addr]net.HardwareAddr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[device] = addrs
	if device == f.broken {
		return nil, errors.New("fake")
	}
	return f.answers, nil
}

func pooledEgress(name, addr string) *v1beta1.Egress {
	return &v1beta1.Egress{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.EgressSpec{EgressIP: addr, ExternalIPPool: "p"}}
}

// TestAddressTaken: an Egress whose address another machine has is a problem until that machine has left, or the address; what cannot be looked at changes
// nothing, and addresses are asked for where neighbours are.
func TestAddressTaken(t *testing.T) {
	first, second := netip.MustParseAddr("192.0.2.9"), netip.MustParseAddr("172.20.10.2")
	f := &fakeNetwork{answers: map[netip.Addr]net.HardwareAddr{}, asked: map[string][]netip.Addr{}}
	problems := problem.NewRecorder()
	var announced []string
	o := newOthers(problems, func(addr netip.Addr, device string) { announced = append(announced, device+" "+addr.String()) }, f.find)
	places := map[netip.Addr]place{first: {config.EgressDevice, 32}, second: placeOf(second, inVLAN), netip.MustParseAddr("192.0.2.77"): {config.EgressDevice, 32}}
	egresses := []*v1beta1.Egress{pooledEgress("e2", first.String()), pooledEgress("e1", first.String()), pooledEgress("vlan", second.String()), pooledEgress("elsewhere", "192.0.2.8")}
	o.set("node-1", places, egresses, "eth0")
	names := func() (names []string) {
		list, _ := problems.List()
		for _, p := range list {
			require.Equal(t, ReasonAddressTaken, p.Reason)
			names = append(names, p.Subject.Name)
		}
		return names
	}
	o.look(t.Context())
	require.Equal(t, map[string][]netip.Addr{"eth0": {first}, "antrea-ext.10": {second}}, f.asked)
	require.Empty(t, names())
	f.answers[first], f.answers[second] = net.HardwareAddr{2, 0, 0, 0, 0, 9}, net.HardwareAddr{2, 0, 0, 0, 0, 10}
	o.look(t.Context())
	require.ElementsMatch(t, []string{"e1", "e2", "vlan"}, names())
	list, _ := problems.List()
	for _, p := range list {
		require.Regexp(t, "MAC address 02:00:00:00:00:(09|0a) has the address .* too", p.Message)
	}
	require.Empty(t, announced)
	require.Equal(t, settleTime, o.pause())
	clear(f.answers)
	f.broken = "antrea-ext.10"
	o.look(t.Context())
	require.Equal(t, []string{"vlan"}, names(), "nothing new is known of it")
	require.Equal(t, []string{"eth0 " + first.String()}, announced, "neighbours may send to the other machine")
	delete(places, second)
	o.set("node-1", places, egresses, "eth0")
	o.look(t.Context())
	require.Empty(t, names(), "another Node has it")
	require.Equal(t, lookInterval, o.pause())

	// Others declare this Node dead for a moment, and one takes the address and gives it up again before the first look.
	<-o.wake
	egresses[0].Status = v1beta1.EgressStatus{EgressNode: "node-2", EgressIP: first.String()}
	o.set("node-1", places, egresses, "eth0")
	require.NotEmpty(t, o.wake)
	o.set("node-1", places, egresses, "eth0")
	o.look(t.Context())
	o.set("node-1", places, egresses, "eth0")
	o.look(t.Context())
	require.Equal(t, []string{"eth0 " + first.String(), "eth0 " + first.String()}, announced, "once for each time")
}

// TestLookAfterChange: the network is asked some time after a change, and not again for the same addresses.
func TestLookAfterChange(t *testing.T) {
	f := &fakeNetwork{asked: map[string][]netip.Addr{}}
	o := newOthers(problem.NewRecorder(), func(netip.Addr, string) {}, f.find)
	o.settle = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { o.run(ctx) })
	defer running.Wait()
	defer cancel()
	addr := netip.MustParseAddr("192.0.2.9")
	places, egresses := map[netip.Addr]place{addr: {config.EgressDevice, 32}}, []*v1beta1.Egress{pooledEgress("e", addr.String())}
	o.set("node-1", places, egresses, "eth0")
	require.Eventually(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return len(f.asked) == 1 }, 30*time.Second, time.Millisecond)
	require.Empty(t, o.wake)
	o.set("node-1", places, egresses, "eth0")
	require.Empty(t, o.wake, "nothing has changed")
}
