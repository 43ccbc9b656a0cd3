// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeportlocal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/agent/route"
)

// host stands for the Node's rules and connections.
type host struct {
	rules  []route.PodPort
	fails  bool
	ended  map[route.PodPort]bool
	noEnds bool
}

func (h *host) FormerPodPorts() []route.PodPort { return h.rules }

func (h *host) SetPodPorts(_ context.Context, ports []route.PodPort) error {
	if h.fails {
		return errors.New("iptables-restore: another program holds the lock")
	}
	h.rules = slices.Clone(ports)
	return nil
}

func (h *host) end(gone, _ map[route.PodPort]bool) error {
	if h.noEnds {
		return errors.New("no answer")
	}
	maps.Copy(h.ended, gone)
	return nil
}

var (
	podA = types.NamespacedName{Namespace: "ns", Name: "a"}
	podB = types.NamespacedName{Namespace: "ns", Name: "b"}
	five = netip.MustParseAddr("10.10.0.5")
)

// TestAnAddressIsUsedAgain: a new Pod with the address waits until the rule of the former one and its connections are gone, also under a new agent
// that knows nothing yet, and while that fails it does not start.
func TestAnAddressIsUsedAgain(t *testing.T) {
	web := []*corev1.Service{someService(nil, port(80, corev1.ProtocolTCP, 8080))}
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprint("restarted: ", restarted), func(t *testing.T) {
			h := &host{ended: map[route.PodPort]bool{}}
			w := of(web, somePod("a", nil, "10.10.0.5"), somePod("c", nil, "10.10.0.7"))
			r := newRealizer(h, newPorts(newRange(t), newSockets().bind), h.end, w.holders)
			_, err := r.realize(t.Context(), w)
			require.NoError(t, err)
			rules := slices.Clone(h.rules)
			require.Len(t, rules, 2)
			stale := route.PodPort{Protocol: "tcp", NodePort: 61000, Pod: netip.MustParseAddrPort("10.10.0.5:8080")}
			require.Contains(t, rules, stale)
			if restarted {
				r = newRealizer(h, newPorts(newRange(t), newSockets().bind), h.end, w.holders)
			}
			require.NoError(t, r.arrives(t.Context(), podA, []netip.Addr{five}), "its own")
			require.ElementsMatch(t, rules, h.rules)

			h.fails = true
			require.Error(t, r.arrives(t.Context(), podB, []netip.Addr{five}))
			h.fails, h.noEnds = false, true
			require.Error(t, r.arrives(t.Context(), podB, []netip.Addr{five}))
			require.NotContains(t, h.rules, stale)
			require.Error(t, r.arrives(t.Context(), podB, []netip.Addr{five}), "connections are still there")
			h.noEnds = false
			require.NoError(t, r.arrives(t.Context(), podB, []netip.Addr{five}))
			require.Equal(t, map[route.PodPort]bool{stale: true}, h.ended)
			require.Len(t, h.rules, 1, "the other Pod keeps its port")
		})
	}
}

// TestRandomEvents: whatever happens, rules lead to the Pods whose interfaces have the addresses, each has its socket, and what Pods tell has its rule.
// A restart changes no port.
func TestRandomEvents(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			h, s := &host{ended: map[route.PodPort]bool{}}, newSockets()
			web := someService(nil, port(80, corev1.ProtocolTCP, 8080), port(53, corev1.ProtocolUDP, 53))
			holders, pods := map[netip.Addr]types.NamespacedName{}, map[string]*corev1.Pod{}
			r := newRealizer(h, newPorts(Range{First: 61000, Last: 61003}, s.bind), h.end, holders)
			snapshot := func() *world {
				w := of([]*corev1.Service{web})
				w.holders = maps.Clone(holders)
				for _, name := range slices.Sorted(maps.Keys(pods)) {
					w.pods = append(w.pods, pods[name])
				}
				return w
			}
			for range 60 {
				h.fails, h.noEnds = random.IntN(4) == 0, random.IntN(6) == 0
				name := fmt.Sprint("pod-", random.IntN(4))
				addr := netip.AddrFrom4([4]byte{10, 10, 0, byte(random.IntN(4))})
				switch random.IntN(5) {
				case 0: // the CNI plugin connects a Pod
					if _, used := holders[addr]; used {
						break
					}
					pod := types.NamespacedName{Namespace: "ns", Name: name}
					if r.arrives(t.Context(), pod, []netip.Addr{addr}) == nil {
						for _, rule := range h.rules {
							require.False(t, rule.Pod.Addr() == addr && r.rules[rule] != pod, "%s", rule)
						}
						holders[addr] = pod
						pods[name] = somePod(name, nil, addr.String())
					}
				case 1: // or disconnects it
					delete(holders, addr)
				case 2:
					delete(pods, name)
				case 3: // a new agent
					h.fails, h.noEnds = false, false
					if _, err := r.realize(t.Context(), snapshot()); err != nil {
						break
					}
					before := slices.Clone(h.rules)
					s = newSockets()
					r = newRealizer(h, newPorts(Range{First: 61000, Last: 61003}, s.bind), h.end, holders)
					_, err := r.realize(t.Context(), snapshot())
					require.NoError(t, err)
					require.ElementsMatch(t, before, h.rules)
				}
				w := snapshot()
				p, err := r.realize(t.Context(), w)
				if err != nil {
					continue
				}
				require.Len(t, s.open, len(h.rules))
				for _, rule := range h.rules {
					require.True(t, s.open[nodePort{familyIPv4, rule.Protocol, rule.NodePort}])
					require.Contains(t, holders, rule.Pod.Addr())
				}
				for name, entries := range p.entries {
					for _, e := range entries {
						require.True(t, slices.ContainsFunc(h.rules, func(rule route.PodPort) bool {
							return rule.NodePort == e.NodePort && rule.Protocol == e.Protocol && rule.Pod.Port() == e.PodPort && holders[rule.Pod.Addr()] == name
						}))
					}
				}
			}
		})
	}
}

// TestHoldPort: no other program can have the port while it is held, for either protocol and IP version.
func TestHoldPort(t *testing.T) {
	free, err := net.Listen("tcp4", "0.0.0.0:0")
	require.NoError(t, err)
	number := free.Addr().(*net.TCPAddr).AddrPort().Port()
	require.NoError(t, free.Close())
	for _, family := range []string{familyIPv4, familyIPv6} {
		for _, protocol := range []string{"tcp", "udp"} {
			p := nodePort{family, protocol, number}
			held, err := holdPort(p)
			require.NoError(t, err, "%v", p)
			defer held.Close()
			_, err = holdPort(p)
			require.Error(t, err)
		}
	}
	_, err = net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", number))
	require.Error(t, err)
	_, err = holdPort(nodePort{familyIPv4, "sctp", number})
	require.ErrorContains(t, err, "want tcp or udp")
}
