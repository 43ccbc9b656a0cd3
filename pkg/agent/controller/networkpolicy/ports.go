// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

var protocolNumbers = map[v1beta2.Protocol]uint8{
	v1beta2.ProtocolTCP: of.IPProtoTCP, v1beta2.ProtocolUDP: of.IPProtoUDP, v1beta2.ProtocolSCTP: of.IPProtoSCTP,
}

func isNamed(s v1beta2.Service) bool { return s.Port != nil && s.Port.Type == intstr.String }

func isIGMP(s v1beta2.Service) bool { return s.Protocol != nil && *s.Protocol == v1beta2.ProtocolIGMP }

// maxServices bounds the number of services of a rule. A range of ports is up to 30 services, and one for each range of source ports.
const maxServices = 1 << 15

// resolveServices replaces names by the numbers that they have in ports, and leaves out what has no number there, and IGMP, which is not built.
func resolveServices(services []v1beta2.Service, ports []v1beta2.NamedPort) ([]policy.Service, error) {
	var resolved []policy.Service
	for _, service := range services {
		if isIGMP(service) {
			continue
		}
		some, err := resolveService(service, ports)
		if err != nil {
			return nil, err
		}
		if resolved = append(resolved, some...); len(resolved) > maxServices {
			return nil, fmt.Errorf("the %d ports and protocols are more than %d flows: split the rule, or let its ranges of ports and source ports begin and end "+
				"at multiples of powers of two", len(services), maxServices)
		}
	}
	texts := make(map[string]policy.Service, len(resolved))
	for _, s := range resolved {
		texts[serviceText(s)] = s
	}
	resolved = slices.SortedFunc(maps.Values(texts), func(a, b policy.Service) int {
		return cmp.Or(
			cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Mask, b.Mask), cmp.Compare(serviceText(a), serviceText(b)))
	})
	return resolved, nil
}

func resolveService(service v1beta2.Service, ports []v1beta2.NamedPort) ([]policy.Service, error) {
	protocol := v1beta2.ProtocolTCP
	if service.Protocol != nil {
		protocol = *service.Protocol
	}
	if protocol == v1beta2.ProtocolICMP {
		return icmpServices(service)
	}
	number, ok := protocolNumbers[protocol]
	if !ok {
		return nil, fmt.Errorf("protocol %q: must be TCP, UDP, SCTP, ICMP or IGMP", protocol)
	}
	if service.ICMPType != nil || service.ICMPCode != nil {
		return nil, fmt.Errorf("protocol %q with a type or code of ICMP: must be ICMP", protocol)
	}
	destinations, err := destinationPorts(service, number, ports)
	if err != nil || service.SrcPort == nil && service.SrcEndPort == nil {
		return destinations, err
	}
	sources, err := numbered("source ports", number, service.SrcPort, service.SrcEndPort)
	if err != nil {
		return nil, err
	}
	var pairs []policy.Service
	for _, d := range destinations {
		for _, s := range sources {
			d.SourcePort, d.SourceMask = s.Port, s.Mask
			pairs = append(pairs, d)
		}
	}
	return pairs, nil
}

// icmpServices returns the service for messages of ICMP. The switch's rules take it for ICMPv6 in IPv6.
func icmpServices(service v1beta2.Service) ([]policy.Service, error) {
	if service.Port != nil || service.EndPort != nil || service.SrcPort != nil || service.SrcEndPort != nil {
		return nil, errors.New("protocol ICMP with ports: must have none")
	}
	if service.ICMPType == nil && service.ICMPCode != nil {
		return nil, fmt.Errorf("code %d of ICMP: must have a type", *service.ICMPCode)
	}
	messages := policy.Service{Protocol: of.IPProtoICMP}
	for _, field := range []struct {
		name string
		from *int32
		to   **uint8
	}{{"type", service.ICMPType, &messages.ICMPType}, {"code", service.ICMPCode, &messages.ICMPCode}} {
		if field.from == nil {
			continue
		}
		if *field.from < 0 || *field.from > math.MaxUint8 {
			return nil, fmt.Errorf("%s %d of ICMP: must be within 0 to 255", field.name, *field.from)
		}
		value := uint8(*field.from)
		*field.to = &value
	}
	return []policy.Service{messages}, nil
}

// destinationPorts returns the destination ports of a service with a protocol that has ports. A name without protocol is also one of other
// protocols.
func destinationPorts(service v1beta2.Service, protocol uint8, ports []v1beta2.NamedPort) (resolved []policy.Service, err error) {
	switch {
	case service.Port == nil && service.EndPort == nil:
		return []policy.Service{{Protocol: protocol}}, nil
	case !isNamed(service):
		var first *int32
		if service.Port != nil {
			first = &service.Port.IntVal
		}
		return numbered("ports", protocol, first, service.EndPort)
	}
	for _, port := range ports {
		number, known := protocolNumbers[port.Protocol]
		if port.Name == service.Port.StrVal && known && (service.Protocol == nil || number == protocol) {
			resolved = append(resolved, policy.PortRange(number, uint16(port.Port), uint16(port.Port))...)
		}
	}
	return resolved, nil
}

// numbered returns the services for the ports from first to last, which is first if it is nil.
func numbered(what string, protocol uint8, first, last *int32) ([]policy.Service, error) {
	if first == nil {
		return nil, fmt.Errorf("%s up to %d: must have a first port", what, *last)
	}
	if last == nil {
		last = first
	}
	if *first < 0 || *last > math.MaxUint16 || *last < *first {
		return nil, fmt.Errorf("%s %d to %d: must be within 0 to 65535, in this order", what, *first, *last)
	}
	return policy.PortRange(protocol, uint16(*first), uint16(*last)), nil
}

// servicesText is equal for equal services only.
func servicesText(services []policy.Service) string {
	var b strings.Builder
	for _, s := range services {
		b.WriteString(serviceText(s))
	}
	return b.String()
}

func serviceText(s policy.Service) string {
	text := fmt.Sprintf("%d:%d/%#x", s.Protocol, s.Port, s.Mask)
	if s.SourceMask != 0 {
		text += fmt.Sprintf(" from %d/%#x", s.SourcePort, s.SourceMask)
	}
	for _, field := range []*uint8{s.ICMPType, s.ICMPCode} {
		if field != nil {
			text += fmt.Sprintf(" %d", *field)
		}
	}
	return text + ","
}
