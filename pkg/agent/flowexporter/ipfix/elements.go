// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ipfix sends flow records to a collector (RFC 7011). elements.go turns a record into information elements,
// session.go manages the connection to the collector, dial.go opens it. The messages are made by go-ipfix, Antrea's own library, which
// knows Antrea's information elements.
package ipfix

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"

	"github.com/vmware/go-ipfix/pkg/entities"
	"github.com/vmware/go-ipfix/pkg/registry"

	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/flows"
)

// element is an information element of every record, and its value.
type element struct {
	name       string
	enterprise uint32
	value      func(r *flows.Record) any
}

const (
	iana    = registry.IANAEnterpriseID
	reverse = registry.IANAReversedEnterpriseID
	antrea  = registry.AntreaEnterpriseID
)

// common are the elements of records of both IP versions, in their order. Antrea's aggregator expects all of Antrea's
// elements, including elements of features that this version does not have.
var common = []element{
	{"flowStartSeconds", iana, func(r *flows.Record) any { return uint32(r.Start.Unix()) }},
	{"flowEndSeconds", iana, func(r *flows.Record) any { return uint32(r.End.Unix()) }},
	{"flowEndReason", iana, func(r *flows.Record) any { return uint8(r.Reason) }},
	{"sourceTransportPort", iana, func(r *flows.Record) any { return r.Client.Port() }},
	{"destinationTransportPort", iana, func(r *flows.Record) any { return r.Server.Port() }},
	{"protocolIdentifier", iana, func(r *flows.Record) any { return r.Protocol }},
	{"packetTotalCount", iana, func(r *flows.Record) any { return r.Total[0].Packets }},
	{"octetTotalCount", iana, func(r *flows.Record) any { return r.Total[0].Bytes }},
	{"packetDeltaCount", iana, func(r *flows.Record) any { return r.Delta[0].Packets }},
	{"octetDeltaCount", iana, func(r *flows.Record) any { return r.Delta[0].Bytes }},
	{"reversePacketTotalCount", reverse, func(r *flows.Record) any { return r.Total[1].Packets }},
	{"reverseOctetTotalCount", reverse, func(r *flows.Record) any { return r.Total[1].Bytes }},
	{"reversePacketDeltaCount", reverse, func(r *flows.Record) any { return r.Delta[1].Packets }},
	{"reverseOctetDeltaCount", reverse, func(r *flows.Record) any { return r.Delta[1].Bytes }},
	{"sourcePodName", antrea, func(r *flows.Record) any { return r.Source.Name }},
	{"sourcePodNamespace", antrea, func(r *flows.Record) any { return r.Source.Namespace }},
	{"sourceNodeName", antrea, func(r *flows.Record) any { return r.SourceNode }},
	{"destinationPodName", antrea, func(r *flows.Record) any { return r.Destination.Name }},
	{"destinationPodNamespace", antrea, func(r *flows.Record) any { return r.Destination.Namespace }},
	{"destinationNodeName", antrea, func(r *flows.Record) any { return r.DestinationNode }},
	{"destinationServicePort", antrea, func(r *flows.Record) any { return servicePort(r) }},
	{"destinationServicePortName", antrea, func(r *flows.Record) any { return r.ServicePortName }},
	{"ingressNetworkPolicyName", antrea, func(r *flows.Record) any { return r.Ingress.Name }},
	{"ingressNetworkPolicyNamespace", antrea, func(r *flows.Record) any { return r.Ingress.Namespace }},
	{"ingressNetworkPolicyUID", antrea, func(r *flows.Record) any { return r.Ingress.UID }},
	{"ingressNetworkPolicyType", antrea, func(r *flows.Record) any { return r.Ingress.Type }},
	{"ingressNetworkPolicyRuleName", antrea, func(r *flows.Record) any { return r.Ingress.Rule }},
	{"ingressNetworkPolicyRuleAction", antrea, func(r *flows.Record) any { return r.Ingress.Action }},
	{"egressNetworkPolicyName", antrea, func(r *flows.Record) any { return r.Egress.Name }},
	{"egressNetworkPolicyNamespace", antrea, func(r *flows.Record) any { return r.Egress.Namespace }},
	{"egressNetworkPolicyUID", antrea, func(r *flows.Record) any { return r.Egress.UID }},
	{"egressNetworkPolicyType", antrea, func(r *flows.Record) any { return r.Egress.Type }},
	{"egressNetworkPolicyRuleName", antrea, func(r *flows.Record) any { return r.Egress.Rule }},
	{"egressNetworkPolicyRuleAction", antrea, func(r *flows.Record) any { return r.Egress.Action }},
	{"tcpState", antrea, func(r *flows.Record) any { return r.TCPState }},
	{"flowType", antrea, func(r *flows.Record) any { return r.FlowType }},
	{"egressName", antrea, func(r *flows.Record) any { return r.SNAT.Name }},
	{"egressIP", antrea, func(r *flows.Record) any { return r.SNAT.IP }},
	{"egressNodeName", antrea, func(r *flows.Record) any { return r.SNAT.Node }},
	{"appProtocolName", antrea, func(*flows.Record) any { return "" }},
	{"httpVals", antrea, func(*flows.Record) any { return "" }},
}

// addresses are the elements of one IP version, at the end.
func addresses(version string) []element {
	return []element{
		{"sourceIP" + version + "Address", iana, func(r *flows.Record) any { return r.Client.Addr() }},
		{"destinationIP" + version + "Address", iana, func(r *flows.Record) any { return r.Server.Addr() }},
		{"destinationClusterIP" + version, antrea, func(r *flows.Record) any { return clusterIP(r) }},
	}
}

// translated reports whether the record is of a connection to a Service.
func translated(r *flows.Record) bool { return r.Dialed != r.Server }

func servicePort(r *flows.Record) uint16 {
	if !translated(r) {
		return 0
	}
	return r.Dialed.Port()
}

// clusterIP returns the unspecified address if there is none.
func clusterIP(r *flows.Record) netip.Addr {
	switch {
	case translated(r):
		return r.Dialed.Addr()
	case r.Server.Addr().Is4():
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// loadRegistry fills the library's registry, which is global.
var loadRegistry = sync.OnceFunc(registry.LoadRegistry)

// template is a list of elements as the library has them.
type template struct {
	id       uint16
	elements []element
	library  []*entities.InfoElement
}

func newTemplate(id uint16, elements []element) (*template, error) {
	loadRegistry()
	t := &template{id: id, elements: elements}
	for _, e := range elements {
		known, err := registry.GetInfoElement(e.name, e.enterprise)
		if err != nil {
			return nil, fmt.Errorf("information element %s of enterprise %d: %w", e.name, e.enterprise, err)
		}
		t.library = append(t.library, known)
	}
	return t, nil
}

// maxText is the number of bytes of a text in a record. The name of a rule can be longer than a message, which would hold up all records.
const maxText = 1024

// encode makes the record's values.
func (t *template) encode(r *flows.Record) entities.Record {
	values := make([]entities.InfoElementWithValue, len(t.elements))
	for i, e := range t.elements {
		values[i] = withValue(t.library[i], e.value(r))
	}
	return entities.NewDataRecordFromElements(t.id, values)
}

func withValue(e *entities.InfoElement, value any) entities.InfoElementWithValue {
	switch v := value.(type) {
	case uint8:
		return entities.NewUnsigned8InfoElement(e, v)
	case uint16:
		return entities.NewUnsigned16InfoElement(e, v)
	case uint32:
		return entities.NewDateTimeSecondsInfoElement(e, v)
	case uint64:
		return entities.NewUnsigned64InfoElement(e, v)
	case netip.Addr:
		return entities.NewIPAddressInfoElement(e, net.IP(v.AsSlice()))
	}
	text := value.(string)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	return entities.NewStringInfoElement(e, text)
}
