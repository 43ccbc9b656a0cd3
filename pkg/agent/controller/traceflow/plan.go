// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// defaultTTL is the TTL or hop limit of packets whose Traceflow has none.
const defaultTTL = 64

// flagSYN is the flag of TCP segments whose Traceflow has none.
const flagSYN = 2

// Interfaces finds local Pods' interfaces.
type Interfaces interface {
	GetContainerInterfacesByPod(podName, podNamespace string) []*interfacestore.InterfaceConfig
	GetInterfaceByOFPort(ofPort uint32) (*interfacestore.InterfaceConfig, bool)
	GetInterfaceByIP(ip netip.Addr) (*interfacestore.InterfaceConfig, bool)
}

// Objects reads objects of the Kubernetes API.
type Objects struct {
	Pod func(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	// Service and Endpoints, which are a Service's addresses, are nil without AntreaProxy.
	Service   func(namespace, name string) (*corev1.Service, error)
	Endpoints func(namespace, name string) ([]netip.Addr, error)
}

// plan is the part of this Node in a trace.
type plan struct {
	name string
	uid  types.UID
	tag  uint8
	// live and droppedOnly are fields of the Traceflow.
	live, droppedOnly bool
	// receiverOnly: the source is not a Pod.
	receiverOnly bool
	// timeout limits the time of the trace.
	timeout time.Duration
	// sender and receiver are the Pods of this Node, nil for others.
	sender, receiver *pod
	// others are the interfaces of this Node's Pods that may get the packet otherwise: the Endpoints of the Service, or who has the IP.
	others []string
	// source names a Pod of another Node: NAMESPACE and NAME. Its addresses tell which packets belong to the trace.
	sourceNamespace, sourceName string
	// packet is sent by the sender; for live traffic, Protocol and the ports are conditions, 0 for any.
	packet ippacket.Outline
	// filter selects live traffic; nil on Nodes that select none.
	filter *openflow.TraceflowFilter
	// peer is the address that the packet is sent to, if it is in the Pod network of another Node.
	peer netip.Addr
}

// pod is a Pod of this Node.
type pod struct {
	name, interfaceName string // NAMESPACE/NAME
	ofPort              uint32
	mac                 net.HardwareAddr
	ips                 []netip.Addr
}

// planner makes plans.
type planner struct {
	interfaces Interfaces
	objects    Objects
	gatewayMAC net.HardwareAddr
	isPeer     func(netip.Addr) bool
}

// plan returns nil for a trace that does not concern this Node. An error is the Traceflow's.
func (p *planner) plan(ctx context.Context, t *v1beta1.Traceflow) (*plan, error) {
	spec := &t.Spec
	result := &plan{
		name: t.Name, uid: t.UID, tag: uint8(t.Status.DataplaneTag), live: spec.LiveTraffic, droppedOnly: spec.LiveTraffic && spec.DroppedOnly,
		receiverOnly: spec.ReceiverOnly(), timeout: time.Duration(spec.TimeoutSeconds()) * time.Second,
		sender: p.local(spec.Source.Namespace, spec.Source.Pod), receiver: p.local(spec.Destination.Namespace, spec.Destination.Pod),
	}
	if result.receiverOnly && result.receiver == nil {
		return nil, nil
	}
	if result.sender == nil && !result.receiverOnly {
		result.sourceNamespace, result.sourceName = spec.Source.Namespace, spec.Source.Pod
	}
	result.others = p.others(&spec.Destination)
	ipv6 := spec.Packet.IPv6Header != nil
	if err := fillHeaders(&result.packet, &spec.Packet, spec.LiveTraffic); err != nil {
		return nil, err
	}
	if result.sender == nil && !result.receiverOnly {
		return result, nil
	}
	dst, err := p.destination(ctx, &spec.Destination, result.receiver, ipv6)
	if err != nil {
		return nil, err
	}
	if p.isPeer(dst) {
		result.peer = dst
	}
	if spec.LiveTraffic {
		result.filter, err = p.filter(result, spec, dst, ipv6)
		return result, err
	}
	return result, p.complete(result, dst, ipv6)
}

// local returns the Pod if it is on this Node.
func (p *planner) local(namespace, name string) *pod {
	if name == "" {
		return nil
	}
	for _, i := range p.interfaces.GetContainerInterfacesByPod(name, namespace) {
		if i.OVSPortConfig != nil && i.OFPort != 0 {
			return &pod{name: namespace + "/" + name, interfaceName: i.InterfaceName, ofPort: i.OFPort, mac: i.MAC, ips: i.IPs}
		}
	}
	return nil
}

// others returns the interfaces of the local Pods that an address or a Service leads to: of a Service, its present
// Endpoints. If they cannot be read, only the cache's behavior during the trace is affected.
func (p *planner) others(d *v1beta1.Destination) (names []string) {
	var addrs []netip.Addr
	switch {
	case d.IP != "":
		addrs = parseAll([]string{d.IP})
	case d.Service != "" && p.objects.Endpoints != nil:
		var err error
		if addrs, err = p.objects.Endpoints(d.Namespace, d.Service); err != nil {
			klog.ErrorS(err, "Could not read the Endpoints of a trace's Service", "service", klog.KRef(d.Namespace, d.Service))
		}
	}
	for _, addr := range addrs {
		if i, ok := p.interfaces.GetInterfaceByIP(addr); ok && i.Type == interfacestore.ContainerInterface {
			names = append(names, i.InterfaceName)
		}
	}
	return names
}

// destination returns the address that the packet is sent to; the zero Addr if the Traceflow says nothing.
func (p *planner) destination(ctx context.Context, d *v1beta1.Destination, local *pod, ipv6 bool) (netip.Addr, error) {
	switch {
	case d.IP != "":
		return parse("destination", d.IP, ipv6)
	case local != nil:
		return ofFamily("destination Pod "+local.name, local.ips, ipv6)
	case d.Pod != "":
		what := fmt.Sprintf("destination Pod %s/%s", d.Namespace, d.Pod)
		object, err := p.objects.Pod(ctx, d.Namespace, d.Pod)
		if err != nil {
			return netip.Addr{}, fmt.Errorf("failed to get the destination Pod: %w", err) // as Antrea
		}
		return ofFamily(what, addressesOf(object), ipv6)
	case d.Service != "":
		what := fmt.Sprintf("destination Service %s/%s", d.Namespace, d.Service)
		if p.objects.Service == nil {
			return netip.Addr{}, fmt.Errorf("%s: AntreaProxy is off, so Open vSwitch does not know Services", what)
		}
		object, err := p.objects.Service(d.Namespace, d.Service)
		if err != nil {
			return netip.Addr{}, fmt.Errorf("%s: %w", what, err)
		}
		return ofFamily(what, parseAll(append([]string{object.Spec.ClusterIP}, object.Spec.ClusterIPs...)), ipv6)
	}
	return netip.Addr{}, nil
}

func addressesOf(p *corev1.Pod) []netip.Addr {
	texts := []string{p.Status.PodIP}
	for _, ip := range p.Status.PodIPs {
		texts = append(texts, ip.IP)
	}
	return parseAll(texts)
}

// parseAll leaves out texts that are not addresses, such as the cluster IP "None".
func parseAll(texts []string) (addrs []netip.Addr) {
	for _, text := range texts {
		if addr, err := netip.ParseAddr(text); err == nil && !slices.Contains(addrs, addr) {
			addrs = append(addrs, addr)
		}
	}
	return addrs
}

func parse(what, text string, ipv6 bool) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return addr, fmt.Errorf("%s: %w", what, err)
	}
	return ofFamily(what, []netip.Addr{addr}, ipv6)
}

func ofFamily(what string, addrs []netip.Addr, ipv6 bool) (netip.Addr, error) {
	i := slices.IndexFunc(addrs, func(a netip.Addr) bool { return a.Is4() != ipv6 })
	if i < 0 {
		return netip.Addr{}, fmt.Errorf("%s has the addresses %v: want one of the trace's IP version (spec.packet.ipv6Header set: %t)", what, addrs, ipv6)
	}
	return addrs[i], nil
}

// fillHeaders copies what a Traceflow says about the packet. Without a protocol, live traffic may have any.
func fillHeaders(o *ippacket.Outline, p *v1beta1.Packet, live bool) error {
	var protocol, ttl int32
	icmp := int32(ippacket.ICMP)
	switch {
	case p.IPv6Header != nil:
		icmp = ippacket.ICMPv6
		ttl = p.IPv6Header.HopLimit
		if p.IPv6Header.NextHeader != nil {
			protocol = *p.IPv6Header.NextHeader
		}
	case p.IPHeader != nil:
		protocol, ttl = p.IPHeader.Protocol, p.IPHeader.TTL
		o.IPFlags = uint8(p.IPHeader.Flags)
	}
	h := &p.TransportHeader
	if protocol == 0 {
		switch {
		case h.TCP != nil:
			protocol = ippacket.TCP
		case h.UDP != nil:
			protocol = ippacket.UDP
		case h.ICMP != nil || !live:
			protocol = icmp
		}
	}
	known := protocol == icmp || protocol == ippacket.TCP || protocol == ippacket.UDP
	if protocol < 0 || protocol > 255 || !live && !known {
		return fmt.Errorf("IP protocol %d: must be %d (ICMP), %d (TCP) or %d (UDP)", protocol, icmp, ippacket.TCP, ippacket.UDP)
	}
	o.Protocol, o.TTL = uint8(protocol), uint8(ttl)
	if ttl == 0 {
		o.TTL = defaultTTL
	}
	switch {
	case h.TCP != nil && o.Protocol == ippacket.TCP:
		o.SrcPort, o.DstPort, o.TCPFlags = uint16(h.TCP.SrcPort), uint16(h.TCP.DstPort), flagSYN
		if h.TCP.Flags != nil {
			o.TCPFlags = uint8(*h.TCP.Flags)
		}
	case h.UDP != nil && o.Protocol == ippacket.UDP:
		o.SrcPort, o.DstPort = uint16(h.UDP.SrcPort), uint16(h.UDP.DstPort)
	case h.ICMP != nil && int32(o.Protocol) == icmp:
		o.ICMPID, o.ICMPSequence = uint16(h.ICMP.ID), uint16(h.ICMP.Sequence)
	case o.Protocol == ippacket.TCP:
		o.TCPFlags = flagSYN
	}
	return nil
}

// complete adds what the sender has to know to send the packet.
func (p *planner) complete(r *plan, dst netip.Addr, ipv6 bool) (err error) {
	o := &r.packet
	hasPorts := o.Protocol == ippacket.TCP || o.Protocol == ippacket.UDP
	switch {
	case !dst.IsValid():
		return errors.New("the Traceflow has no destination: a packet that is made needs one")
	case hasPorts && o.DstPort == 0:
		return errors.New("the Traceflow has no destination port: TCP and UDP need one")
	case hasPorts && o.SrcPort == 0:
		const ephemeral, number = 32768, 28232
		o.SrcPort = ephemeral + uint16(rand.IntN(number))
	case !hasPorts && o.ICMPID == 0:
		o.ICMPID = 1 + uint16(rand.IntN(65535))
	}
	if o.Src, err = ofFamily("source Pod "+r.sender.name, r.sender.ips, ipv6); err != nil {
		return err
	}
	o.Dst, o.SrcMAC, o.DstMAC = dst, r.sender.mac, p.gatewayMAC
	if r.receiver != nil {
		// A Pod of the same Node is a neighbor.
		o.DstMAC = r.receiver.mac
	}
	return nil
}

// filter selects the live traffic of the trace.
func (p *planner) filter(r *plan, spec *v1beta1.TraceflowSpec, dst netip.Addr, ipv6 bool) (*openflow.TraceflowFilter, error) {
	f := &openflow.TraceflowFilter{IPv6: ipv6, Destination: dst, Protocol: r.packet.Protocol, SourcePort: r.packet.SrcPort, DestinationPort: r.packet.DstPort}
	if r.sender == nil {
		f.DestinationMAC = r.receiver.mac
	}
	if spec.Source.IP != "" {
		source, err := parse("source", spec.Source.IP, ipv6)
		if err != nil {
			return nil, err
		}
		f.Source = source
	}
	return f, nil
}
