// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

// serviceOwner is a client with this feature.
type serviceOwner interface{ ownServices() *Services }

func (s *Services) ownServices() *Services { return s }

func stateOf(c any) *serviceState { return &c.(serviceOwner).ownServices().state }

// SharedUsers returns the number of flows that ports share.
func SharedUsers(c any) int { return len(stateOf(c).users) }

func KnownFrontends(c any) int { return len(stateOf(c).frontends) }

func LostEndpoints(c any) int { return len(stateOf(c).lost) }

// GroupOf returns the group with a port's Endpoints in the cluster.
func GroupOf(c any, port string) uint32 { return stateOf(c).ports[port].groups[scopeCluster] }

// PlanChange returns the function that computes how the port changes.
func PlanChange(c any, port ServicePort) func() {
	changed := &installedPort{ServicePort: &port, shared: sharedFlows(&port)}
	return func() { stateOf(c).change(port.Name, changed) }
}
