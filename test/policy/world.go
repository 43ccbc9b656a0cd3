// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy makes random worlds of Pods and policies, and says what the specification of NetworkPolicy
// (k8s.io/api/networking/v1) and the documentation of Antrea's policies (crd.antrea.io/v1beta1) allow in them. It shares no code with the
// controllers that it judges. world.go defines the objects, oracle.go the specification, antreaoracle.go, antreagroups.go and antreaports.go
// what Antrea adds to it, destinations.go Services and names as destinations, nodeports.go Services that policies are applied to. generate.go and antreagenerate.go make random worlds, pods.go their Pods, policies.go and antrearules.go
// their policies, antreaedit.go their changes, damage.go edits that cannot be read, refused.go policies that Open vSwitch refuses, probes.go the connections to try. adminpolicy.go, adminoracle.go and admingenerate.go are the policies of
// the Kubernetes network policy API (policy.networking.k8s.io). The program truthtable compares.
//
// Two checks test this package itself. mutants.txt and test/tools/mutants show that the random worlds find faults that are put into the controller
// and the agent. The module in the directory cyclonus compares the oracle with the matcher of another project.
package policy

import (
	"cmp"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// Pod is a Pod of a World.
type Pod struct {
	Namespace, Name, Node string
	// Life distinguishes Pods that have the same name one after the other.
	Life       int
	Labels     map[string]string
	IPv4, IPv6 netip.Addr
	// ServiceAccount is "default" if empty.
	ServiceAccount string
	// HostNetwork tells that the Pod has the network and the addresses of its Node.
	HostNetwork bool
	// Phase is empty for a running Pod.
	Phase corev1.PodPhase
	// Ports are the named ports of its container, SidecarPorts the ports of an init container that runs as long as the
	// Pod does, InitPorts the ports of an init container that has ended.
	Ports, SidecarPorts, InitPorts []corev1.ContainerPort
}

// World has all objects that decide about connections.
type World struct {
	// Namespaces has the labels of each Namespace.
	Namespaces map[string]map[string]string
	// Pods are connected to the network.
	Pods []*Pod
	// Hosts are in the network of their Node.
	Hosts []*Pod
	// Ended are Pods that have ended whose objects remain, with addresses that other Pods have now.
	Ended    []*Pod
	Policies []*networkingv1.NetworkPolicy
	// The objects of Antrea's policies. Tiers are only the tiers of users.
	Tiers                  []*crd.Tier
	ClusterNetworkPolicies []*crd.ClusterNetworkPolicy
	AntreaNetworkPolicies  []*crd.NetworkPolicy
	ClusterGroups          []*crd.ClusterGroup
	Groups                 []*crd.Group
	// Services are named by groups, ClusterIPs by toServices.
	Services      []*corev1.Service
	ClusterIPs    []*ClusterIP
	AdminPolicies []*AdminPolicy
	// Names are the places of Pods whose addresses a name of DNS has.
	Names map[string][]int
	// NodeLabels has the labels of each Node.
	NodeLabels map[string]map[string]string
	// Damaged has the UIDs of Antrea's policies and groups whose last edit cannot be read. This World contains the versions before that edit, which
	// stay in force.
	Damaged map[types.UID]Damage
	// Refused has the UIDs of policies that Open vSwitch refuses.
	Refused map[types.UID]bool
}

// Probe is a connection that may be possible.
type Probe struct {
	From, To *Pod
	IPv6     bool
	// Protocol may be ICMP, then the packet is an echo request.
	Protocol corev1.Protocol
	Port     uint16
	// SourcePort is any port if 0; then it is set before the probe is judged.
	SourcePort uint16
	// Via is not nil if the client dials a Service, whose Endpoint is To, at Port.
	Via *ClusterIP
	// Dialed is the Node whose NodePort a client outside of the cluster dials, else empty.
	Dialed string
}

// Addresses returns the addresses of both ends.
func (p *Probe) Addresses() (from, to netip.Addr) {
	if p.IPv6 {
		return p.From.IPv6, p.To.IPv6
	}
	return p.From.IPv4, p.To.IPv4
}

// UID returns the Pod's UID.
func (p *Pod) UID() types.UID {
	uid := p.Namespace + "-" + p.Name
	if p.Life > 0 {
		uid += fmt.Sprint("-", p.Life)
	}
	return types.UID(uid)
}

func (p *Pod) account() string { return cmp.Or(p.ServiceAccount, "default") }

// Object returns the Pod as the Kubernetes API has it.
func (p *Pod) Object() *corev1.Pod {
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID(), Labels: p.Labels},
		Spec:       corev1.PodSpec{NodeName: p.Node, ServiceAccountName: p.account(), HostNetwork: p.HostNetwork, Containers: []corev1.Container{{Name: "main", Ports: p.Ports}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: p.IPv4.String(), PodIPs: []corev1.PodIP{{IP: p.IPv4.String()}, {IP: p.IPv6.String()}},
		},
	}
	if p.Phase != "" {
		object.Status.Phase = p.Phase
	}
	if p.InitPorts != nil {
		object.Spec.InitContainers = append(object.Spec.InitContainers, corev1.Container{Name: "init", Ports: p.InitPorts})
	}
	if p.SidecarPorts != nil {
		object.Spec.InitContainers = append(object.Spec.InitContainers, corev1.Container{
			Name: "sidecar", Ports: p.SidecarPorts, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		})
	}
	return object
}
