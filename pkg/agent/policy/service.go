// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

// Service is a protocol and its destination ports with port&Mask == Port. Mask 0 stands for every port.
type Service struct {
	// Protocol is the IP protocol number of TCP, UDP or SCTP.
	Protocol   uint8
	Port, Mask uint16
}

// Matches reports whether the service includes this protocol and destination port.
func (s Service) Matches(protocol uint8, port uint16) bool {
	return s.Protocol == protocol && port&s.Mask == s.Port
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
	return s.Protocol == other.Protocol && other.Mask&^s.Mask == 0 && s.Port&other.Mask == other.Port
}
