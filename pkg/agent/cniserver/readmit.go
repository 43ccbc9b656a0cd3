// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// readmitInterval is the time between two attempts to install the flows of Pods that Reconcile has left closed.
const readmitInterval = 30 * time.Second

// isLasting reports whether an error of PodPolicies makes it useless to ask again at once: Open vSwitch refuses the
// Pod's policies and refuses to isolate the Pod.
func isLasting(err error) bool {
	var lasting interface{ Lasting() bool }
	return errors.As(err, &lasting) && lasting.Lasting()
}

// closedPods are the interfaces of present Pods that Reconcile has closed, because no policies could be put in force for them.
type closedPods struct {
	mu     sync.Mutex
	byName map[string]*interfacestore.InterfaceConfig
	pods   corelisters.PodLister
}

func (c *closedPods) add(i *interfacestore.InterfaceConfig, pods corelisters.PodLister) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = map[string]*interfacestore.InterfaceConfig{}
	}
	c.byName[i.InterfaceName], c.pods = i, pods
}

func (c *closedPods) remove(i *interfacestore.InterfaceConfig) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byName, i.InterfaceName)
}

func (c *closedPods) list() ([]*interfacestore.InterfaceConfig, corelisters.PodLister) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var interfaces []*interfacestore.InterfaceConfig
	for _, name := range slices.Sorted(maps.Keys(c.byName)) {
		interfaces = append(interfaces, c.byName[name])
	}
	return interfaces, c.pods
}

// closeUnprotected closes an interface if err, the reason why its policies are not in force, is lasting. It returns
// err. The policy controller has closed the interface already if it knew the present port: flows of a former agent may
// still connect the Pod.
//
// A switch that refuses to drop packets delays nothing: the former agent's flows end with their round. A switch that
// does not answer is asked again, so the error is then not lasting.
func (s *Server) closeUnprotected(ctx context.Context, c *interfacestore.InterfaceConfig, err error) error {
	if !isLasting(err) {
		return err
	}
	closeErr := s.flows.ClosePodFlows(ctx, c.InterfaceName, c.IPs, c.MAC, c.OFPort)
	switch {
	case closeErr == nil:
		s.did("interface closed")
	case errors.Is(closeErr, openflow.ErrDisconnected) || errors.Is(closeErr, context.DeadlineExceeded) || errors.Is(closeErr, context.Canceled):
		return fmt.Errorf("close an interface whose policies cannot be put in force: %w", closeErr)
	default:
		klog.ErrorS(closeErr, "Open vSwitch refuses to disconnect a Pod whose policies it refuses", "pod", klog.KRef(c.PodNamespace, c.PodName), "interface", c.InterfaceName)
	}
	return err
}

// readmit tries the closed Pods again until ctx ends.
func (s *Server) readmit(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.readmitAll(ctx)
		}
	}
}

func (s *Server) readmitAll(ctx context.Context) {
	interfaces, pods := s.closed.list()
	for _, c := range interfaces {
		if ctx.Err() != nil {
			return
		}
		subject := problem.Subject{Kind: "Pod", Namespace: c.PodNamespace, Name: c.PodName}
		err := recovery.Call(boundaryName, subject, func() error { return s.reconcileInterface(ctx, c, pods) }, "interface", c.InterfaceName)
		if err != nil {
			klog.V(2).InfoS("A Pod stays disconnected", "pod", klog.KRef(c.PodNamespace, c.PodName), "interface", c.InterfaceName, "reason", err)
			continue
		}
		s.closed.remove(c)
		if _, known := s.store.GetInterfaceByName(c.InterfaceName); !known {
			continue // The Pod is gone.
		}
		klog.InfoS("A Pod that was left disconnected at start has its policies and flows now", "pod", klog.KRef(c.PodNamespace, c.PodName), "interface", c.InterfaceName)
	}
}
