// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"net/netip"
	"sync"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/test/env/nodepair"
)

// world replaces the agent's interface store, with one Pod, its OpenFlow client, reduced to one netfilter rule, and its
// database.
type world struct {
	config Config

	mu          sync.Mutex
	interceptor coherency.Interceptor
	marker      *nodepair.Marker
	// epoch is the current one; learning is set when the rule writes it.
	epoch    uint16
	learning bool
}

func newWorld(c Config) *world {
	options := nodepair.Options{Inner6: c.PodIP.Is6(), Direct: c.Direct}
	return &world{config: c, learning: true, marker: options.Marker(here{})}
}

// here stands for the process's own namespaces.
type here struct{}

func (here) Do(fn func() error) error { return fn() }

// Pods implements oncache.InterfaceStore.
func (w *world) Pods() []oncache.Pod {
	return []oncache.Pod{{InterfaceName: nodepair.PodIf, Namespace: "bench", Name: "pod", IPs: []netip.Addr{w.config.PodIP}, MAC: w.config.PodMAC, OFPort: podPort}}
}

// Subscribe implements oncache.InterfaceStore: the Pod never changes.
func (w *world) Subscribe(func(added, removed *oncache.Pod)) {}

// Limited: no Pod has a bandwidth annotation.
func (w *world) Limited() int { return 0 }

// SetInterceptor implements oncache.FlowClient.
func (w *world) SetInterceptor(i coherency.Interceptor) { w.interceptor = i }

// ConnectionError and MissingFlows implement oncache.FlowClient: the rule that marks packets is always there.
func (w *world) ConnectionError() error { return nil }

func (w *world) MissingFlows(context.Context) (string, error) { return "", nil }

// InstallMarkFlows implements oncache.FlowClient. The rule is for the Pod's packets to the other Node and from there: without a tunnel, these
// pass the gateway's interface.
func (w *world) InstallMarkFlows(marks []coherency.Mark) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range marks {
		switch {
		case m.InterfaceName != nodepair.PodIf:
		case w.config.Direct && !m.Direct:
			w.epoch = 0
		default:
			w.epoch = m.Epoch
		}
	}
	return w.write()
}

// UninstallMarkFlows implements oncache.FlowClient.
func (w *world) UninstallMarkFlows(interfaces []string) error {
	var none []coherency.Mark
	for _, name := range interfaces {
		none = append(none, coherency.Mark{InterfaceName: name})
	}
	return w.InstallMarkFlows(none)
}

func (w *world) learn(on bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.learning = on
	return w.write()
}

// write makes the rule. The caller holds mu.
func (w *world) write() error {
	if w.learning {
		return w.marker.Mark(uint32(w.epoch))
	}
	return w.marker.Mark(0)
}

// change does the same as the OpenFlow client with a bundle.
func (w *world) change(c coherency.Change) error {
	if w.interceptor == nil {
		return errors.New("the manager has not started")
	}
	marks, end := w.interceptor.Begin(c)
	var err error
	if len(marks) > 0 {
		err = w.InstallMarkFlows(marks)
	}
	end(err)
	return err
}
