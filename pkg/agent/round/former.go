// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package round

import (
	"net/netip"
	"sync"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
)

// FormerCache is the ONCache that an earlier agent has left on the Node.
type FormerCache struct {
	// Suspend stops its programs.
	Suspend func() error
	// StopHits stops the hits, but not the stamps, without which packets would miss the kernel's flows.
	StopHits func() error
	// Agrees reports whether all hits belong to Pods and the gateway with these addresses, and were learned under these
	// epochs. It is nil if hits may not continue for another reason: this agent would have none.
	Agrees func(epochs map[netip.Addr]uint16) (bool, error)
}

// FormerHits are the hits of the former cache while Open vSwitch forwards. They continue until the flows change, or
// until the new cache can replace the former one.
type FormerHits struct {
	cache FormerCache
	store interfacestore.InterfaceStore

	mu sync.Mutex
	// over is closed when there are none any more.
	over chan struct{}
}

func NewFormerHits(cache FormerCache, store interfacestore.InterfaceStore) *FormerHits {
	return &FormerHits{cache: cache, store: store, over: make(chan struct{})}
}

// Agree implements openflow.FormerHits.
func (h *FormerHits) Agree(epochs map[uint32]uint16) bool {
	byAddress := map[netip.Addr]uint16{}
	endpoints := append(h.store.GetInterfacesByType(interfacestore.ContainerInterface), h.store.GetInterfacesByType(interfacestore.GatewayInterface)...)
	for _, c := range endpoints {
		if c.OVSPortConfig == nil {
			continue
		}
		if epoch, written := epochs[c.OFPort]; written {
			for _, ip := range c.IPs {
				byAddress[ip] = epoch
			}
		}
	}
	agree, err := h.cache.Agrees(byAddress)
	switch {
	case err != nil:
		klog.ErrorS(err, "The former agent's ONCache cannot be examined, so its hits end now")
	case agree:
		klog.InfoS("Hits of the former agent's ONCache continue until flows change or the new cache takes over", "pods", len(epochs))
	default:
		klog.InfoS("The former agent's ONCache has no hits, or Open vSwitch has other rules than it has learned from")
	}
	return agree && err == nil
}

// End implements openflow.FormerHits.
func (h *FormerHits) End() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.over:
		return nil
	default:
	}
	if err := h.cache.Suspend(); err != nil {
		return err
	}
	klog.InfoS("The former agent's ONCache has no hits from now on")
	close(h.over)
	return nil
}
