// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

// serviceOwner is a client with this feature.
type serviceOwner interface{ ownServices() *services }

func (s *services) ownServices() *services { return s }

func stateOf(c any) *serviceState { return &c.(serviceOwner).ownServices().state }

// sharedUsers returns the number of flows that ports share.
func sharedUsers(c any) int { return len(stateOf(c).users) }

func knownFrontends(c any) int { return len(stateOf(c).frontends) }

func lostEndpoints(c any) int { return len(stateOf(c).lost) }

// groupOf returns the group with a port's Endpoints in the cluster.
func groupOf(c any, port string) uint32 { return stateOf(c).ports[port].groups[scopeCluster] }

// planChange returns the function that computes how the port changes.
func planChange(c any, port ServicePort) func() {
	changed := &installedPort{ServicePort: &port, shared: sharedFlows(&port)}
	return func() { stateOf(c).change(port.Name, changed) }
}
