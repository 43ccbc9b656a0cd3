// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

func subjectOf(source *v1alpha1.AdminNetworkPolicySubject) v1alpha2.ClusterNetworkPolicySubject {
	return v1alpha2.ClusterNetworkPolicySubject{Namespaces: source.Namespaces, Pods: (*v1alpha2.NamespacedPod)(source.Pods)}
}

func ingressPeers(source []v1alpha1.AdminNetworkPolicyIngressPeer) []v1alpha2.ClusterNetworkPolicyEgressPeer {
	var peers []v1alpha2.ClusterNetworkPolicyEgressPeer
	for _, p := range source {
		peers = append(peers, v1alpha2.ClusterNetworkPolicyEgressPeer{Namespaces: p.Namespaces, Pods: (*v1alpha2.NamespacedPod)(p.Pods)})
	}
	return peers
}

func clusterIngressPeers(source []v1alpha2.ClusterNetworkPolicyIngressPeer) []v1alpha2.ClusterNetworkPolicyEgressPeer {
	var peers []v1alpha2.ClusterNetworkPolicyEgressPeer
	for _, p := range source {
		peers = append(peers, v1alpha2.ClusterNetworkPolicyEgressPeer{Namespaces: p.Namespaces, Pods: p.Pods})
	}
	return peers
}

func egressPeers(source []v1alpha1.AdminNetworkPolicyEgressPeer) []v1alpha2.ClusterNetworkPolicyEgressPeer {
	var peers []v1alpha2.ClusterNetworkPolicyEgressPeer
	for _, p := range source {
		peer := egressPeer(v1alpha1.BaselineAdminNetworkPolicyEgressPeer{Namespaces: p.Namespaces, Pods: p.Pods, Nodes: p.Nodes, Networks: p.Networks})
		for _, name := range p.DomainNames {
			peer.DomainNames = append(peer.DomainNames, v1alpha2.DomainName(name))
		}
		peers = append(peers, peer)
	}
	return peers
}

func baselineEgressPeers(source []v1alpha1.BaselineAdminNetworkPolicyEgressPeer) []v1alpha2.ClusterNetworkPolicyEgressPeer {
	var peers []v1alpha2.ClusterNetworkPolicyEgressPeer
	for _, p := range source {
		peers = append(peers, egressPeer(p))
	}
	return peers
}

func egressPeer(source v1alpha1.BaselineAdminNetworkPolicyEgressPeer) v1alpha2.ClusterNetworkPolicyEgressPeer {
	peer := v1alpha2.ClusterNetworkPolicyEgressPeer{Namespaces: source.Namespaces, Pods: (*v1alpha2.NamespacedPod)(source.Pods), Nodes: source.Nodes}
	for _, network := range source.Networks {
		peer.Networks = append(peer.Networks, v1alpha2.CIDR(network))
	}
	return peer
}

// adminPorts reads the ports of a rule of v1alpha1; none means all.
func adminPorts(source *[]v1alpha1.AdminNetworkPolicyPort) []adminPort {
	var ports []adminPort
	for _, p := range ptr.Deref(source, nil) {
		var port adminPort
		switch {
		case count(p.PortNumber != nil, p.NamedPort != nil, p.PortRange != nil) > 1:
			port.err = errOneField
		case p.PortNumber != nil:
			port = numberedPort(cmp.Or(p.PortNumber.Protocol, corev1.ProtocolTCP), p.PortNumber.Port, nil)
		case p.PortRange != nil:
			port = numberedPort(cmp.Or(p.PortRange.Protocol, corev1.ProtocolTCP), p.PortRange.Start, &p.PortRange.End)
		case p.NamedPort != nil:
			port = namedPort(*p.NamedPort)
		default:
			port.err = errNoKnownField
		}
		ports = append(ports, port)
	}
	return ports
}

// clusterPorts reads the protocols of a rule of v1alpha2; none means all.
func clusterPorts(source []v1alpha2.ClusterNetworkPolicyProtocol) []adminPort {
	var ports []adminPort
	for _, p := range source {
		var port adminPort
		switch {
		case count(p.TCP != nil, p.UDP != nil, p.SCTP != nil, p.DestinationNamedPort != "") > 1:
			port.err = errOneField
		case p.TCP != nil:
			port = clusterPort(corev1.ProtocolTCP, p.TCP.DestinationPort)
		case p.UDP != nil:
			port = clusterPort(corev1.ProtocolUDP, p.UDP.DestinationPort)
		case p.SCTP != nil:
			port = clusterPort(corev1.ProtocolSCTP, p.SCTP.DestinationPort)
		default:
			port = namedPort(p.DestinationNamedPort)
		}
		ports = append(ports, port)
	}
	return ports
}

// clusterPort reads the destination of a protocol; the API requires a protocol to say something about it.
func clusterPort(protocol corev1.Protocol, source *v1alpha2.Port) adminPort {
	switch {
	case source == nil || source.Number == 0 && source.Range == nil:
		return adminPort{err: errNoKnownField}
	case source.Range == nil:
		return numberedPort(protocol, source.Number, nil)
	case source.Number != 0:
		return adminPort{err: errOneField}
	}
	return numberedPort(protocol, source.Range.Start, &source.Range.End)
}

func numberedPort(protocol corev1.Protocol, first int32, last *int32) adminPort {
	switch protocol {
	case corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
	default:
		return adminPort{err: fmt.Errorf("protocol: %q: must be TCP, UDP or SCTP", protocol)}
	}
	if first < 1 || first > maxPort || last != nil && (*last < first || *last > maxPort) {
		return adminPort{err: fmt.Errorf("port %d to %d: must be 1 to %d, in this order", first, ptr.Deref(last, first), maxPort)}
	}
	name := controlplane.Protocol(protocol)
	return adminPort{service: controlplane.Service{Protocol: &name, Port: ptr.To(intstr.FromInt32(first)), EndPort: last}}
}

// namedPort is a port of any protocol.
func namedPort(name string) adminPort {
	if name == "" {
		return adminPort{err: errNoKnownField}
	}
	return adminPort{service: controlplane.Service{Port: ptr.To(intstr.FromString(name))}}
}

var errNoKnownField = errors.New("has no field that this version knows")
