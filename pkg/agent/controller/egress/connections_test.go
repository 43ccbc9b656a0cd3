// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

// fakeTable has the connections of the host: the packets of each come all the time, and make it again with the source that they get then.
type fakeTable struct {
	fakeNode
	connections map[string]*conntrack.Connection
	looks       int
	err         error
}

func (f *fakeTable) end(_ uint16, ended func(*conntrack.Connection) bool) error {
	f.looks++
	if f.err != nil {
		return f.err
	}
	for name, c := range f.connections {
		if ended(c) {
			delete(f.connections, name)
		}
	}
	return nil
}

// open adds a connection of a Pod with a source.
func (f *fakeTable) open(name string, protocol uint8, pod, source string) {
	p, s, server := netip.MustParseAddr(pod), netip.MustParseAddr(source), netip.MustParseAddr("203.0.113.9")
	f.connections[name] = &conntrack.Connection{
		Original: conntrack.Tuple{Source: p, Destination: server, Protocol: protocol}, Reply: conntrack.Tuple{Source: server, Destination: s, Protocol: protocol},
	}
}

// TestFormerSourcesEnd: connections of the host whose source an Egress has changed end, also those that a slow datapath makes again; TCP
// connections end only when the Node does not have their source any more. Connections of other Pods do not end.
func TestFormerSourcesEnd(t *testing.T) {
	const pod, other, node, addr, next = "10.10.0.5", "10.10.0.6", "192.168.1.1", "192.168.1.9", "192.168.1.10"
	f := &fakeTable{fakeNode: *newFakeNode(t), connections: map[string]*conntrack.Connection{}}
	now := time.Unix(1000, 0)
	f.now = now
	r := newRealizer(f, f, func() time.Time { return now }, f.end)
	w := newTestWorld()
	w.interfaces["i"] = podInterface{pod: podNamed("p"), ofPort: 1, addrs: []netip.Addr{netip.MustParseAddr(pod)}}
	w.local.Insert(netip.MustParseAddr(addr), netip.MustParseAddr(next))
	var again time.Duration
	realize := func() {
		t.Helper()
		_, _, err := r.realize(t.Context(), w, testNetworks)
		require.NoError(t, err)
		again, err = r.endConnections(w)
		require.NoError(t, err)
	}
	// settle lets time pass until no connection can be left.
	settle := func() {
		t.Helper()
		for range 10 {
			if again == 0 {
				return
			}
			now = now.Add(again)
			f.now = now
			realize()
		}
		require.Fail(t, "it looks again for ever")
	}
	names := func() []string { return sets.List(sets.KeySet(f.connections)) }
	realize()
	require.Zero(t, f.looks, "nothing has changed")

	f.open("udp", unix.IPPROTO_UDP, pod, node)
	f.open("tcp", unix.IPPROTO_TCP, pod, node)
	f.open("other", unix.IPPROTO_UDP, other, node)
	f.open("untranslated", unix.IPPROTO_UDP, pod, pod)
	w.egresses["e"], w.groups["e"] = makeEgress("e", 0, addr), sets.New(podNamed("p"))
	realize()
	require.Equal(t, []string{"other", "tcp", "untranslated"}, names())
	f.open("udp", unix.IPPROTO_UDP, pod, node)
	settle()
	require.Equal(t, []string{"other", "tcp", "untranslated"}, names(), "also what came while the datapath knew the former flows")
	f.open("udp", unix.IPPROTO_UDP, pod, addr)
	f.open("egress tcp", unix.IPPROTO_TCP, pod, addr)
	looks := f.looks
	realize()
	require.Equal(t, looks, f.looks, "nothing has changed")

	// Another address; the Node keeps the former one.
	w.egresses["e"] = makeEgress("e", 0, next)
	realize()
	settle()
	require.Equal(t, []string{"egress tcp", "other", "tcp", "untranslated"}, names())
	w.local.Delete(netip.MustParseAddr(addr))
	realize()
	settle()
	require.Equal(t, []string{"other", "tcp", "untranslated"}, names(), "the Node does not have the source any more")

	// No Egress any more.
	f.open("udp", unix.IPPROTO_UDP, pod, next)
	f.open("of another node", unix.IPPROTO_UDP, "10.10.1.5", next)
	f.open("masqueraded", unix.IPPROTO_UDP, pod, node)
	delete(w.egresses, "e")
	realize()
	settle()
	require.Equal(t, []string{"masqueraded", "other", "tcp", "untranslated"}, names())
	require.Len(t, r.connections.left, 1, "of an address that the Node has")

	// A failure is told and tried again.
	w.egresses["e"] = makeEgress("e", 0, next)
	f.err, now = errFake, now.Add(endInterval)
	_, _, err := r.realize(t.Context(), w, testNetworks)
	require.NoError(t, err)
	_, err = r.endConnections(w)
	require.ErrorIs(t, err, errFake)
	f.err = nil
	realize()
	require.Equal(t, []string{"other", "tcp", "untranslated"}, names())
	require.Empty(t, r.connections.left)
	settle()
	require.Empty(t, r.connections.pods)
}

// TestConnectionsOfFormerExceptions: when the flows of a former agent are gone, connections to destinations that only it left alone end if they do not have
// the source of their Pod's Egress. Connections to other destinations stay: other Nodes, and present exceptions, see the Node's address.
func TestConnectionsOfFormerExceptions(t *testing.T) {
	const pod, node, addr, next = "10.10.0.5", "192.168.1.1", "192.168.1.9", "192.168.1.10"
	f := &fakeTable{fakeNode: *newFakeNode(t), connections: map[string]*conntrack.Connection{}}
	open := func(name string, protocol uint8, pod, to, source string) {
		f.open(name, protocol, pod, source)
		f.connections[name].Original.Destination = netip.MustParseAddr(to)
	}
	open("excepted udp", unix.IPPROTO_UDP, pod, "172.16.1.1", node)
	open("udp", unix.IPPROTO_UDP, pod, "172.16.1.1", addr)
	open("excepted tcp", unix.IPPROTO_TCP, pod, "172.16.1.1", node)
	open("excepted still", unix.IPPROTO_UDP, pod, "172.16.2.1", node)
	open("to a Node", unix.IPPROTO_UDP, pod, "192.168.1.2", node)
	open("without Egress", unix.IPPROTO_UDP, "10.10.0.6", "172.16.1.1", node)
	w := newTestWorld()
	w.interfaces["i"] = podInterface{pod: podNamed("p"), ofPort: 1, addrs: []netip.Addr{netip.MustParseAddr(pod)}}
	w.egresses["e"], w.groups["e"] = makeEgress("e", 0, addr), sets.New(podNamed("p"))
	r := newRealizer(f, f, func() time.Time { return f.now }, f.end)
	r.remember(w, testNetworks)
	c := &Controller{realizer: r}
	c.Except = []netip.Prefix{netip.MustParsePrefix("172.16.2.0/24")}
	c.storage.except = []netip.Prefix{netip.MustParsePrefix("172.16.0.0/16")}
	look := func() []string {
		t.Helper()
		f.now = f.now.Add(endInterval)
		_, _, err := r.realize(t.Context(), w, testNetworks)
		require.NoError(t, err)
		c.endFormerExceptions(w)
		_, err = r.endConnections(w)
		require.NoError(t, err)
		return sets.List(sets.KeySet(f.connections))
	}
	require.Len(t, look(), 6)
	stay := []string{"excepted still", "excepted tcp", "to a Node", "udp", "without Egress"}
	c.formerGone = true
	require.Equal(t, stay, look())
	require.Equal(t, c.Except, c.storage.except, "the next agent ends nothing")
	open("excepted udp", unix.IPPROTO_UDP, pod, "172.16.1.1", node)
	require.Equal(t, stay, look(), "the datapath has had the former flow")
	w.egresses["e"] = makeEgress("e", 0, next)
	open("after a change", unix.IPPROTO_UDP, pod, "172.16.1.1", next)
	require.Contains(t, look(), "after a change")
	delete(f.connections, "after a change")
	stay = slices.DeleteFunc(stay, func(name string) bool { return name == "udp" || name == "excepted still" || name == "to a Node" }) // they have the former source
	f.now = f.now.Add(markRest)
	look()
	looks := f.looks
	c.formerGone = true
	require.Equal(t, stay, look())
	require.Equal(t, looks, f.looks, "nothing has changed, so no one looks")
}
