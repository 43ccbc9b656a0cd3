// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// labelServiceProxyName selects the implementation of a Service.
const labelServiceProxyName = "service.kubernetes.io/service-proxy-name"

const (
	// defaultAffinity is the API's default of sessionAffinityConfig.clientIP.timeoutSeconds, maxAffinity the switch's maximum.
	defaultAffinity = 10800 * time.Second
	maxAffinity     = 65535 * time.Second

	// maxAddresses and maxFrontends, which are pairs of port and address, bound what one Service can ask of the switch.
	maxAddresses = 256
	maxFrontends = 4096
)

// service is a Service object as far as it matters here.
type service struct {
	key     key
	uid     string
	created int64
	// clusterIPs are the valid ones.
	clusterIPs                   []netip.Addr
	ports                        []servicePort
	affinity                     time.Duration
	internalLocal, externalLocal bool
	// nested: Endpoints may be addresses of other Services.
	nested bool
	// sources are the clients that restricted frontends of each IP version are for.
	sources [2][]netip.Prefix
	// healthPort is the port at which load balancers ask whether this Node has Endpoints; 0 for none.
	healthPort uint16
	// findings are the faults of the object itself, at most maxFindings.
	findings []string
}

// servicePort is a port of a Service, of both IP versions.
type servicePort struct {
	name      string
	protocol  corev1.Protocol
	number    uint16
	frontends [2][]frontend
}

// frontend is an address that a Service asks for.
type frontend struct {
	openflow.Frontend
	rank rank
}

// rank says which of several Services gets an address: the cluster's own addresses cannot be taken over by those that users
// enter.
type rank uint8

const (
	rankClusterIP rank = iota
	rankLoadBalancer
	rankExternalIP
)

// handles reports whether this proxy translates the Service. Headless Services and Services of type ExternalName have
// no address to translate.
func (c *Config) handles(s *corev1.Service) bool {
	name, labelled := s.Labels[labelServiceProxyName]
	if c.ServiceProxyName != "" && name != c.ServiceProxyName || c.ServiceProxyName == "" && labelled {
		return false
	}
	_, headless := s.Labels[corev1.IsHeadlessService]
	return !headless && s.Spec.Type != corev1.ServiceTypeExternalName && s.Spec.ClusterIP != "" && s.Spec.ClusterIP != corev1.ClusterIPNone &&
		!c.skips(key{Namespace: s.Namespace, Name: s.Name}, clusterIPs(s))
}

// clusterIPs returns the texts of the Service's own addresses, one for each IP version.
func clusterIPs(s *corev1.Service) []string {
	if len(s.Spec.ClusterIPs) == 0 {
		return []string{s.Spec.ClusterIP}
	}
	return s.Spec.ClusterIPs
}

// parseService reads a Service that is handled. Faulty parts are left out and noted.
func (c *Config) parseService(s *corev1.Service) *service {
	p := &service{
		key: key{Namespace: s.Namespace, Name: s.Name}, uid: string(s.UID), created: s.CreationTimestamp.Unix(),
		internalLocal: s.Spec.InternalTrafficPolicy != nil && *s.Spec.InternalTrafficPolicy == corev1.ServiceInternalTrafficPolicyLocal,
		externalLocal: s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal,
		affinity:      affinity(s),
		nested:        c.Multicluster && s.Annotations[v1alpha1.ImportedServiceAnnotation] == "true",
	}
	addresses := c.serviceAddresses(s, p)
	if c.ProxyAll {
		addresses = append(addresses, c.restrict(s, p, addresses)...)
	}
	for _, port := range s.Spec.Ports {
		if c.reserves(s, port) {
			p.note("nodePort %d of port %q is the port of rewritten packets: %s", port.NodePort, port.Name, anotherPort)
			port.NodePort = 0
		}
		p.addPort(port, addresses)
	}
	return p
}

// anotherPort ends findings about the port of rewritten packets.
const anotherPort = "connections to it fail; use another one, or another oncache.rewritePort on all Nodes"

// reserves reports whether ONCache takes what comes to the NodePort of a port.
func (c *Config) reserves(s *corev1.Service, port corev1.ServicePort) bool {
	hasNodePorts := s.Spec.Type == corev1.ServiceTypeNodePort || s.Spec.Type == corev1.ServiceTypeLoadBalancer
	return hasNodePorts && c.RewritePort != 0 && port.NodePort == int32(c.RewritePort) && port.Protocol != corev1.ProtocolSCTP
}

func (s *service) note(format string, args ...any) {
	if len(s.findings) < maxFindings {
		s.findings = append(s.findings, fmt.Sprintf(format, args...))
	}
}

// affinity returns the time for which a client keeps its Endpoint.
func affinity(s *corev1.Service) time.Duration {
	if s.Spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		return 0
	}
	config := s.Spec.SessionAffinityConfig
	if config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil || *config.ClientIP.TimeoutSeconds <= 0 {
		return defaultAffinity
	}
	return min(time.Duration(*config.ClientIP.TimeoutSeconds)*time.Second, maxAffinity)
}

// address is an address of a Service before it meets a port.
type address struct {
	netip.Addr
	rank rank
	// nodePort: the address only says which IP version. restricted: only some clients may use it.
	nodePort, restricted bool
}

// serviceAddresses returns the addresses of the enabled IP versions, each once, in the order of their ranks.
func (c *Config) serviceAddresses(s *corev1.Service, p *service) (addresses []address) {
	left := 0
	add := func(field, text string, r rank) {
		parse := parseAddr
		if r == rankLoadBalancer {
			parse = parseIngress
		}
		addr, err := parse(text)
		if err != nil {
			p.note("%s: %v", field, err)
			return
		}
		known := func(a address) bool { return a.Addr == addr }
		if !c.enabled(familyOf(addr)) || slices.ContainsFunc(addresses, known) {
			return
		}
		if len(addresses) == maxAddresses {
			left++
			return
		}
		addresses = append(addresses, address{Addr: addr, rank: r})
		if r == rankClusterIP {
			p.clusterIPs = append(p.clusterIPs, addr)
		}
	}
	for _, text := range clusterIPs(s) {
		add("spec.clusterIPs", text, rankClusterIP)
	}
	for _, ingress := range s.Status.LoadBalancer.Ingress {
		if c.handlesIngress(s, ingress) {
			add("status.loadBalancer.ingress", ingress.IP, rankLoadBalancer)
		}
	}
	for _, text := range s.Spec.ExternalIPs {
		add("spec.externalIPs", text, rankExternalIP)
	}
	if left > 0 {
		p.note("%d addresses are not handled: a Service can have %d", left, maxAddresses)
	}
	return addresses
}

// handlesIngress reports whether connections to a load balancer's address are translated here. With ipMode Proxy they have to pass
// the load balancer. Without proxyAll, they are left to kube-proxy where loadBalancerSourceRanges does not admit all Pods of this Node.
func (c *Config) handlesIngress(s *corev1.Service, ingress corev1.LoadBalancerIngress) bool {
	if !c.LoadBalancerIPs || s.Spec.Type != corev1.ServiceTypeLoadBalancer || ingress.IP == "" {
		return false
	}
	if ingress.IPMode != nil && *ingress.IPMode != corev1.LoadBalancerIPModeVIP {
		return false
	}
	addr, err := netip.ParseAddr(ingress.IP)
	if c.ProxyAll || len(s.Spec.LoadBalancerSourceRanges) == 0 || err != nil {
		return true
	}
	for _, network := range c.PodNetworks {
		if network.Addr().Is4() == addr.Is4() && !admitted(s.Spec.LoadBalancerSourceRanges, network) {
			return false
		}
	}
	return true
}

// admitted reports whether one of the ranges has the whole network in it. The API admits space around ranges.
func admitted(ranges []string, network netip.Prefix) bool {
	return slices.ContainsFunc(ranges, func(text string) bool {
		r, err := netip.ParsePrefix(strings.TrimSpace(text))
		return err == nil && r.Bits() <= network.Bits() && r.Contains(network.Addr())
	})
}

// addPort adds a port with its frontends.
func (s *service) addPort(port corev1.ServicePort, addresses []address) {
	protocol := port.Protocol
	if protocol == "" {
		protocol = corev1.ProtocolTCP
	}
	if protocol != corev1.ProtocolTCP && protocol != corev1.ProtocolUDP && protocol != corev1.ProtocolSCTP {
		s.note("port %q: protocol %q, want TCP, UDP or SCTP", port.Name, protocol)
		return
	}
	number, err := parsePort(port.Port)
	if err != nil {
		s.note("port %q: %v", port.Name, err)
		return
	}
	for _, other := range s.ports {
		if other.name == port.Name || other.protocol == protocol && other.number == number {
			s.note("port %q (%d/%s) has the name or the number of another port of the Service", port.Name, number, protocol)
			return
		}
	}
	if (len(s.ports)+1)*len(addresses) > maxFrontends {
		s.note("port %q is not handled: a Service can have %d pairs of port and address", port.Name, maxFrontends)
		return
	}
	p := servicePort{name: port.Name, protocol: protocol, number: number}
	for _, a := range addresses {
		f := openflow.Frontend{Address: netip.AddrPortFrom(a.Addr, number), NodePort: a.nodePort, External: a.rank != rankClusterIP, Restricted: a.restricted}
		if f.Local = s.internalLocal; f.External || f.NodePort {
			f.Local = s.externalLocal
		}
		if f.NodePort {
			if port.NodePort == 0 {
				continue
			}
			nodePort, err := parsePort(port.NodePort)
			if err != nil {
				s.note("nodePort of port %q: %v", port.Name, err)
				continue
			}
			f.Address = netip.AddrPortFrom(a.Addr, nodePort)
			if s.hasNodePort(protocol, f) {
				s.note("nodePort %d of port %q is also the nodePort of another port of the Service", nodePort, port.Name)
				continue
			}
		}
		p.frontends[familyOf(a.Addr)] = append(p.frontends[familyOf(a.Addr)], frontend{rank: a.rank, Frontend: f})
	}
	s.ports = append(s.ports, p)
}

// hasNodePort reports whether a port of the Service has the NodePort.
func (s *service) hasNodePort(protocol corev1.Protocol, f openflow.Frontend) bool {
	return slices.ContainsFunc(s.ports, func(p servicePort) bool {
		return p.protocol == protocol && slices.ContainsFunc(p.frontends[familyOf(f.Address.Addr())], func(g frontend) bool {
			return g.NodePort && g.Address == f.Address
		})
	})
}

// portName is the name of the port in logs, errors and the switch. It has the port's number and not its name: a renamed port
// keeps its flows.
func portName(k key, p *servicePort, f family) string {
	name := fmt.Sprintf("%s:%d/%s", k, p.number, p.protocol)
	if f == ipv6 {
		name += "/" + f.String()
	}
	return name
}

// serviceOf returns the Service of an EndpointSlice; ok is false if it has none that could be handled.
func serviceOf(s *discoveryv1.EndpointSlice) (k key, ok bool) {
	_, headless := s.Labels[corev1.IsHeadlessService]
	name := s.Labels[discoveryv1.LabelServiceName]
	return key{Namespace: s.Namespace, Name: name}, name != "" && !headless
}
