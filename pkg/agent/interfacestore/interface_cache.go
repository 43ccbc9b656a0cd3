// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package interfacestore

import (
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// primaryIFDev is the name of a Pod's first interface. Others belong to secondary networks and are not found by container
// ID alone.
const primaryIFDev = "eth0"

type podKey struct{ namespace, name string }

type interfaceCache struct {
	// changeMu is held during a change and its callbacks, so that subscribers see changes one by one and in order.
	// mu protects the maps only and is not held during callbacks: a callback may read the store.
	changeMu    sync.Mutex
	subscribers []func(Event)

	mu          sync.RWMutex
	byName      map[string]*InterfaceConfig
	byContainer index[string]
	byPod       index[podKey]
	byIP        index[netip.Addr]
	byOFPort    index[uint32]
	byType      index[InterfaceType]
}

// NewInterfaceStore returns an empty store. Callbacks given to Subscribe may read the store but must not change it.
func NewInterfaceStore() InterfaceStore {
	s := &interfaceCache{}
	s.reset()
	return s
}

func (s *interfaceCache) reset() {
	s.byName = map[string]*InterfaceConfig{}
	s.byContainer = index[string]{}
	s.byPod = index[podKey]{}
	s.byIP = index[netip.Addr]{}
	s.byOFPort = index[uint32]{}
	s.byType = index[InterfaceType]{}
}

func (s *interfaceCache) Initialize(interfaces []*InterfaceConfig) {
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reset()
	for _, c := range interfaces {
		if old, ok := s.byName[c.InterfaceName]; ok {
			s.remove(old)
		}
		s.insert(c)
	}
}

func (s *interfaceCache) AddInterface(c *InterfaceConfig) {
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	s.mu.Lock()
	old, replaced := s.byName[c.InterfaceName]
	if replaced {
		s.remove(old)
	}
	s.insert(c)
	s.mu.Unlock()
	// Even after a panic: see notify.
	defer notify(s.subscribers, Event{Added: c})
	if replaced {
		notify(s.subscribers, Event{Deleted: old})
	}
}

func (s *interfaceCache) DeleteInterface(c *InterfaceConfig) {
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	s.mu.Lock()
	old, ok := s.byName[c.InterfaceName]
	if ok {
		s.remove(old)
	}
	s.mu.Unlock()
	if ok {
		notify(s.subscribers, Event{Deleted: old})
	}
}

func (s *interfaceCache) Subscribe(callback func(Event)) {
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	s.subscribers = append(s.subscribers, callback)
}

// notify calls the callbacks one after the other. If one panics, the others are still told before the panic continues to
// the caller's boundary: the store has changed, and they would never learn of it otherwise.
func notify(callbacks []func(Event), e Event) {
	if len(callbacks) == 0 {
		return
	}
	defer notify(callbacks[1:], e)
	callbacks[0](e)
}

func (s *interfaceCache) insert(c *InterfaceConfig) {
	s.byName[c.InterfaceName] = c
	s.visitKeys(c, keyVisitor{
		container: s.byContainer.add, pod: s.byPod.add, ip: s.byIP.add, ofPort: s.byOFPort.add, kind: s.byType.add,
	})
}

func (s *interfaceCache) remove(c *InterfaceConfig) {
	delete(s.byName, c.InterfaceName)
	s.visitKeys(c, keyVisitor{
		container: s.byContainer.remove, pod: s.byPod.remove, ip: s.byIP.remove, ofPort: s.byOFPort.remove, kind: s.byType.remove,
	})
}

// keyVisitor is the operation of insert and remove on each key of an interface. It makes both visit the same keys.
type keyVisitor struct {
	container func(string, *InterfaceConfig)
	pod       func(podKey, *InterfaceConfig)
	ip        func(netip.Addr, *InterfaceConfig)
	ofPort    func(uint32, *InterfaceConfig)
	kind      func(InterfaceType, *InterfaceConfig)
}

func (s *interfaceCache) visitKeys(c *InterfaceConfig, v keyVisitor) {
	v.kind(c.Type, c)
	for _, ip := range c.IPs {
		v.ip(ip.Unmap(), c)
	}
	if c.OVSPortConfig != nil && c.OFPort != 0 {
		v.ofPort(c.OFPort, c)
	}
	if p := c.ContainerInterfaceConfig; p != nil {
		v.pod(podKey{p.PodNamespace, p.PodName}, c)
		if p.IFDev == "" || p.IFDev == primaryIFDev {
			v.container(p.ContainerID, c)
		}
	}
}

func (s *interfaceCache) ListInterfaces() []*InterfaceConfig {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]*InterfaceConfig, 0, len(s.byName))
	for _, c := range s.byName {
		all = append(all, c)
	}
	sortByName(all)
	return all
}

func (s *interfaceCache) GetInterfaceByName(name string) (*InterfaceConfig, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c, ok := s.byName[name]
	return c, ok
}

func (s *interfaceCache) GetContainerInterface(containerID string) (*InterfaceConfig, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byContainer.latest(containerID)
}

func (s *interfaceCache) GetContainerInterfacesByPod(podName, podNamespace string) []*InterfaceConfig {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return sortedCopy(s.byPod[podKey{podNamespace, podName}])
}

func (s *interfaceCache) GetInterfaceByIP(ip netip.Addr) (*InterfaceConfig, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byIP.latest(ip.Unmap())
}

func (s *interfaceCache) GetInterfaceByOFPort(ofPort uint32) (*InterfaceConfig, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byOFPort.latest(ofPort)
}

func (s *interfaceCache) GetInterfacesByType(t InterfaceType) []*InterfaceConfig {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return sortedCopy(s.byType[t])
}

func (s *interfaceCache) GetContainerInterfaceNum() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.byType[ContainerInterface])
}

func sortedCopy(found []*InterfaceConfig) []*InterfaceConfig {
	result := slices.Clone(found)
	sortByName(result)
	return result
}

func sortByName(all []*InterfaceConfig) {
	slices.SortFunc(all, func(a, b *InterfaceConfig) int { return strings.Compare(a.InterfaceName, b.InterfaceName) })
}
