// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
)

// closeTimeout bounds the closing of one Pod. The OpenFlow client waits 30 s for other changes and then 30 s for the switch.
const closeTimeout = time.Minute

// closeUnprotected disconnects the Pods of this Node whose policies Open vSwitch refuses, and refuses to replace by isolation. It
// must be called before the rules of an earlier agent are removed: that agent's flows continue to connect these Pods until its whole
// round is deleted, and nothing would be left that protects them. The CNI server opens each of them when its policies are in force.
//
// It fails if the switch does not answer. A switch that refuses to drop packets refuses everything, so there is no use in waiting.
// After the start it does nothing: the former agent's rules are gone then, and the CNI server has begun to open Pods. A DEL at the
// same time may leave flows that drop for an interface that is gone. They do no harm: a new Pod's flows replace those that match
// its port or addresses.
func (c *Controller) closeUnprotected() error {
	if c.initialDone {
		return nil
	}
	for _, i := range c.unprotected() {
		pod := klog.KRef(i.PodNamespace, i.PodName)
		err := c.closePod(i)
		switch {
		case err == nil:
			klog.InfoS("Disconnected a Pod until its policies can be put in force", "pod", pod, "interface", i.InterfaceName)
		case isRefused(err):
			klog.ErrorS(err, "Open vSwitch refuses to disconnect a Pod whose policies it refuses", "pod", pod, "interface", i.InterfaceName)
		default:
			return fmt.Errorf("disconnect Pod %s, whose policies are refused: %w", pod, err)
		}
	}
	return nil
}

func (c *Controller) closePod(i *interfacestore.InterfaceConfig) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return c.flows.ClosePodFlows(ctx, i.InterfaceName, i.IPs, i.MAC, i.OFPort)
}

// unprotected returns the interfaces of Pods to which a policy applies whose guard the switch also refuses. An interface without a
// port is left out: no packet comes from it.
func (c *Controller) unprotected() []*interfacestore.InterfaceConfig {
	interfaces := c.store.GetInterfacesByType(interfacestore.ContainerInterface)
	c.mu.Lock()
	defer c.mu.Unlock()
	open := sets.New[string]()
	for name, r := range c.refusals {
		if r.open {
			open.Insert(name)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return slices.DeleteFunc(interfaces, func(i *interfacestore.InterfaceConfig) bool {
		if i.ContainerInterfaceConfig == nil || i.OVSPortConfig == nil || i.OFPort == 0 {
			return true
		}
		return c.state.policiesOf(podName{Namespace: i.PodNamespace, Name: i.PodName}).Intersection(open).Len() == 0
	})
}
