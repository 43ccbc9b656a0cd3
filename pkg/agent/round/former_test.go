// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package round

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

func addresses(texts ...string) (list []netip.Addr) {
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

var _ openflow.FormerHits = (*FormerHits)(nil)

func TestFormerHitsAreIdentifiedByAddress(t *testing.T) {
	store := interfacestore.NewInterfaceStore()
	pod := func(name string, port uint32, ips ...string) *interfacestore.InterfaceConfig {
		return &interfacestore.InterfaceConfig{
			Type: interfacestore.ContainerInterface, InterfaceName: name, IPs: addresses(ips...),
			OVSPortConfig:            &interfacestore.OVSPortConfig{OFPort: port},
			ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{ContainerID: name, PodNamespace: "default", PodName: name},
		}
	}
	store.AddInterface(pod("a", 11, "10.10.1.2", "fd00::2"))
	store.AddInterface(pod("b", 12, "10.10.1.3"))
	store.AddInterface(pod("unmarked", 13, "10.10.1.4"))
	store.AddInterface(&interfacestore.InterfaceConfig{
		Type: interfacestore.GatewayInterface, InterfaceName: "antrea-gw0", IPs: addresses("10.10.1.1"), OVSPortConfig: &interfacestore.OVSPortConfig{OFPort: 2},
	})
	var asked map[netip.Addr]uint16
	var failure error
	hits := NewFormerHits(FormerCache{Agrees: func(epochs map[netip.Addr]uint16) (bool, error) { asked = epochs; return true, failure }}, store)
	require.True(t, hits.Agree(map[uint32]uint16{2: 6, 11: 7, 12: 8, 99: 9}))
	require.Equal(t, map[netip.Addr]uint16{
		netip.MustParseAddr("10.10.1.2"): 7, netip.MustParseAddr("fd00::2"): 7, netip.MustParseAddr("10.10.1.3"): 8,
		netip.MustParseAddr("10.10.1.1"): 6,
	}, asked)
	failure = errors.New("no such map")
	require.False(t, hits.Agree(nil), "in doubt they end")
}

func TestFormerHitsEndOnce(t *testing.T) {
	suspended, failure := 0, errors.New("no such map")
	hits := NewFormerHits(FormerCache{Suspend: func() error { suspended++; return failure }}, nil)
	require.ErrorIs(t, hits.End(), failure)
	require.False(t, isClosed(hits.over), "they continue")
	failure = nil
	require.NoError(t, hits.End())
	require.True(t, isClosed(hits.over))
	require.NoError(t, hits.End())
	require.Equal(t, 2, suspended, "another call would suspend the new cache")
}

// While Open vSwitch forwards by the flows of the former agent, its cache works until the new one knows Pods, Nodes and policies.
func TestFormerHitsGoOnUntilTheNewCacheCanLearn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := newRecorder()
		r := rec.rounds(clock.RealClock{}, false)
		rec.failures["suspend"] = 1
		pods, services, cache, done := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			done <- complete(t.Context(), r, Installed{
				Before: []<-chan struct{}{closed(), pods}, Soon: []<-chan struct{}{services}, Patience: time.Minute, Cache: cache,
			})
		}()
		time.Sleep(time.Second)
		require.Empty(t, rec.taken())
		close(pods)
		time.Sleep(time.Second)
		require.False(t, isClosed(r.Forwards()), "the new one still loads its programs")
		begun := time.Now()
		close(cache)
		<-r.Forwards()
		require.Equal(t, roundRetryInterval, time.Since(begun), "the first attempt fails")
		require.Equal(t, []string{"suspend"}, rec.taken(), "Services do not matter to the cache")
		close(services)
		require.NoError(t, <-done)
		require.Equal(t, []string{"suspend", "clear flow-restore-wait", "delete stale", "roundNum=8"}, rec.taken())
	})
}

// A cache that cannot be loaded delays nothing.
func TestFormerHitsDoNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := newRecorder()
		r := rec.rounds(clock.RealClock{}, false)
		begun := time.Now()
		go func() { _ = complete(t.Context(), r, Installed{Patience: 5 * time.Second, Cache: make(chan struct{})}) }()
		<-r.Restored()
		require.Equal(t, 5*time.Second, time.Since(begun))
		require.Equal(t, "suspend", rec.taken()[0])
		time.Sleep(time.Minute)
	})
}
