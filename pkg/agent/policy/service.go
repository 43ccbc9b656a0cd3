// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

// protocolICMP and protocolICMPv6 are IP protocol numbers.
const protocolICMP, protocolICMPv6 = 1, 58

// Service is a protocol, with the destination ports with port&Mask == Port and the source ports with port&SourceMask == SourcePort. Mask 0
// stands for every port.
type Service struct {
	// Protocol is the IP protocol number of TCP, UDP, SCTP or ICMP. The last stands for ICMPv6 in IPv6.
	Protocol               uint8
	Port, Mask             uint16
	SourcePort, SourceMask uint16
	// ICMPType and ICMPCode are nil for any. ICMPCode needs ICMPType.
	ICMPType, ICMPCode *uint8
}

// Matches reports whether the service includes the connection.
func (s Service) Matches(c Connection) bool {
	protocol := c.Protocol
	switch v6 := c.Destination.Unmap().Is6(); {
	case protocol == protocolICMPv6 && (v6 || !c.Destination.IsValid()):
		protocol = protocolICMP
	case protocol == protocolICMP && v6: // no ICMP at all
		return false
	}
	return s.Protocol == protocol && c.DestinationPort&s.Mask == s.Port && c.SourcePort&s.SourceMask == s.SourcePort &&
		(s.ICMPType == nil || *s.ICMPType == c.ICMPType) && (s.ICMPCode == nil || *s.ICMPCode == c.ICMPCode)
}

// PortRange returns services for the ports from first to last, both included, with as few masks as possible.
func PortRange(protocol uint8, first, last uint16) []Service {
	var services []Service
	for start, end := uint32(first), uint32(last); start <= end; {
		// The largest aligned block that begins at start and does not go beyond end.
		size := uint32(1)
		for start&size == 0 && start+2*size-1 <= end && size < 1<<16 {
			size *= 2
		}
		services = append(services, Service{Protocol: protocol, Port: uint16(start), Mask: ^uint16(size - 1)})
		start += size
	}
	return services
}

// within reports whether other includes all connections that s includes.
func (s Service) within(other Service) bool {
	return s.Protocol == other.Protocol && other.Mask&^s.Mask == 0 && s.Port&other.Mask == other.Port &&
		other.SourceMask&^s.SourceMask == 0 && s.SourcePort&other.SourceMask == other.SourcePort &&
		valueWithin(s.ICMPType, other.ICMPType) && valueWithin(s.ICMPCode, other.ICMPCode)
}

// valueWithin reports whether other is any value, or the same.
func valueWithin(value, other *uint8) bool {
	return other == nil || value != nil && *value == *other
}
