// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"sync"

	"k8s.io/klog/v2"
)

// Traced is the reason why a Pod stays on Open vSwitch during its Traceflow.
const Traced = "a Traceflow traces its packets"

// Hold keeps Pods on Open vSwitch, by the names of their interfaces, whether they have been announced or not. When it returns, the fast
// path carries none of their packets. It ends with release; several may overlap.
func (m *Manager) Hold(interfaceNames []string) (release func()) {
	m.pods.hold(interfaceNames)
	return sync.OnceFunc(func() { m.pods.release(interfaceNames) })
}

// hold withdraws Pods that are announced. Others are not announced from now on.
func (a *podAnnouncer) hold(interfaceNames []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range interfaceNames {
		a.held[name]++
		if p := a.pods[name]; p != nil && p.onOVS == "" {
			p.stay(errHeld)
			klog.InfoS("Pod moves to Open vSwitch", "pod", p.Pod, "interface", p.InterfaceName, "reason", p.onOVS)
			a.withdraw(p)
		}
	}
}

// release ends one hold of each Pod and asks for a review.
func (a *podAnnouncer) release(interfaceNames []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range interfaceNames {
		if a.held[name]--; a.held[name] <= 0 {
			delete(a.held, name)
		}
	}
	a.reviewSoon()
}

var errHeld = stays(stayTrace, errors.New(Traced))
