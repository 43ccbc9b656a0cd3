// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// maxPort is the largest port.
const maxPort = 65535

// readPorts sets the services of the rule: the union of ports and protocols.
func (r *ruleReader) readPorts(source *v1beta1.Rule) {
	add := func(place string, service controlplane.Service, err error) {
		if err != nil {
			r.cannot(r.place+"."+place, err)
			r.doubtfulPorts = true
			return
		}
		r.rule.Services = append(r.rule.Services, service)
	}
	for i := range source.Ports {
		service, err := port(&source.Ports[i])
		add(fmt.Sprintf("ports[%d]", i), service, err)
	}
	for i := range source.Protocols {
		service, err := protocol(&source.Protocols[i])
		add(fmt.Sprintf("protocols[%d]", i), service, err)
	}
	if r.doubtfulPorts && r.denies {
		r.rule.Services = nil
	}
}

// port reads a range of ports.
func port(source *v1beta1.NetworkPolicyPort) (controlplane.Service, error) {
	name := controlplane.ProtocolTCP
	if source.Protocol != nil {
		name = controlplane.Protocol(*source.Protocol)
	}
	service := controlplane.Service{
		Protocol: &name, Port: source.Port, EndPort: source.EndPort, SrcPort: source.SourcePort, SrcEndPort: source.SourceEndPort,
	}
	switch corev1.Protocol(name) {
	case corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
	default:
		return service, fmt.Errorf("protocol: %q: must be TCP, UDP or SCTP", name)
	}
	var number *int32
	switch {
	case source.Port == nil:
	case source.Port.Type == intstr.Int:
		number = &source.Port.IntVal
	case source.Port.Type != intstr.String || source.Port.StrVal == "":
		return service, errors.New("port: must be a number or a name")
	}
	if err := portRange("port", "endPort", number, source.EndPort); err != nil {
		return service, err
	}
	return service, portRange("sourcePort", "sourceEndPort", source.SourcePort, source.SourceEndPort)
}

func portRange(field, endField string, first, last *int32) error {
	switch {
	case first == nil && last != nil:
		return fmt.Errorf("%s: must have a number in %s", endField, field)
	case first != nil && (*first < 0 || *first > maxPort):
		return fmt.Errorf("%s: %d: must be 0 to %d", field, *first, maxPort)
	case last != nil && (*last < *first || *last > maxPort):
		return fmt.Errorf("%s: %d: must be %d to %d", endField, *last, *first, maxPort)
	}
	return nil
}

// protocol reads messages of a protocol without ports.
func protocol(source *v1beta1.NetworkPolicyProtocol) (controlplane.Service, error) {
	name := controlplane.ProtocolICMP
	service := controlplane.Service{Protocol: &name}
	switch {
	case source.IGMP != nil:
		return service, errors.New("igmp: is not supported")
	case source.ICMP == nil:
		return service, errors.New("must have icmp or igmp")
	}
	service.ICMPType, service.ICMPCode = source.ICMP.ICMPType, source.ICMP.ICMPCode
	for _, number := range []*int32{service.ICMPType, service.ICMPCode} {
		if number != nil && (*number < 0 || *number > 255) {
			return service, fmt.Errorf("icmp: %d: type and code must be 0 to 255", *number)
		}
	}
	return service, nil
}
