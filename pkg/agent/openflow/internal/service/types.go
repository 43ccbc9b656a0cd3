// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ServiceClient is the part of Client for Services.
type ServiceClient interface {
	// InstallService makes the switch translate new connections to one port of a Service. It replaces the former port of the same name in
	// one atomic bundle. Established connections keep their Endpoint. An error leaves the former state; ErrPoliciesBehind means: try again soon.
	InstallService(ServicePort) error
	// UninstallService removes the port. Established connections continue. An unknown name is not an error.
	UninstallService(name string) error
	// FollowGroups and GroupsOf tell the groups of Services to the policies that name them, and KeepGroups keeps these; groups.go describes them.
	FollowGroups(follow func(service string, groups []uint32) (inForce bool))
	GroupsOf(protocol uint8, dialed netip.AddrPort) []uint32
	KeepGroups(file string) error
	// SetNodePortAddresses replaces the addresses of this Node that serve frontends with NodePort set. It needs proxyAll.
	SetNodePortAddresses([]netip.Addr) error
	// ReadAffinities reads which clients the switch keeps at an Endpoint. The result is also added again after the switch has lost it.
	ReadAffinities(ctx context.Context) (AffinityReading, error)
	// RestoreAffinities restores the result of an earlier agent's reading at that time. Call it before Services are installed: each port
	// gets the affinities whose Endpoint serves it. It has no effect if the switch has kept its flows.
	RestoreAffinities(affinities []Affinity, read time.Time) error
	// GetServiceFlowKeys returns the match strings of the port's cached flows, for antctl get ovsflows.
	GetServiceFlowKeys(name string) []string
}

// MaxEndpoints is the number of Endpoints of one list that the switch uses: a message for a group has no room for more.
const MaxEndpoints = 800

// ServicePort is one port of a Service, of one IP version.
type ServicePort struct {
	// Name identifies the port: "namespace/name:80/TCP" for IPv4, "namespace/name:80/TCP/IPv6" for IPv6. It is in logs and errors.
	Name     string
	Protocol corev1.Protocol
	// Frontends are the addresses by which clients reach the port. Two ports must not have the same frontend.
	Frontends []Frontend
	// Cluster contains the Endpoints of frontends with the scope of the cluster, Local of frontends with the scope of the Node.
	// Connections to a frontend whose list is empty are rejected at once. Of each list, the switch uses the first MaxEndpoints.
	Cluster, Local []Endpoint
	// Elsewhere: Local is empty, and other Nodes have Endpoints. Packets to frontends with the scope of the Node are dropped instead, as the
	// Kubernetes API documents it (core/v1, ExternalTrafficPolicy and InternalTrafficPolicy): clients try again until the Node has an Endpoint, or
	// a load balancer has noticed that it has none.
	Elsewhere bool
	// Nested: Endpoints may be addresses of other Services of this cluster, and connections go to these Services' Endpoints. It needs
	// Features.Multicluster.
	Nested bool
	// SourceRanges are the clients that restricted frontends serve, as networks of the port's IP version. Packets of other clients to
	// these frontends are dropped.
	SourceRanges []netip.Prefix
	// Affinity is the time for which a client keeps its Endpoint after its last new connection; 0: no affinity. The switch counts in
	// seconds, up to 65535.
	Affinity time.Duration
}

// Frontend is an address of a Service's port.
type Frontend struct {
	Address netip.AddrPort
	// Local: only the list Local serves this frontend (internalTrafficPolicy or externalTrafficPolicy Local). With External or NodePort,
	// clients on this Node still get the list Cluster: externalTrafficPolicy does not apply to them.
	Local bool
	// External: the address is outside the cluster (LoadBalancer address, external IP).
	External bool
	// NodePort: the frontend is Address' port on all addresses of this Node that serve NodePorts (SetNodePortAddresses). The address only
	// gives the IP version.
	NodePort bool
	// Restricted: only clients in SourceRanges may use the frontend (loadBalancerSourceRanges).
	Restricted bool
}

// Endpoint is a destination of a Service's connections.
type Endpoint struct {
	Address netip.AddrPort
	// OnThisNode: the Endpoint is a Pod, or the host, of this Node.
	OnThisNode bool
	// PodNetwork: the address is a Pod's, of any Node, and neither a Node's own (host network) nor outside the cluster.
	PodNetwork bool
}

// OnAnotherNode reports whether the Endpoint is a Pod of another Node, reached through the tunnel.
func (e Endpoint) OnAnotherNode() bool { return e.PodNetwork && !e.OnThisNode }

// IsPod reports whether the Endpoint is a Pod of any Node.
func (e Endpoint) IsPod() bool { return e.PodNetwork }
