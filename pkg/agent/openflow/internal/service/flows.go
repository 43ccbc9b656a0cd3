// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// bucketWeight is the weight of each Endpoint.
const bucketWeight = 100

// MaxLoads is the number of buckets that fit into a message if each loads port and remote mark in two actions, the form that Antrea's
// tests look for. Larger groups load both in one action; MaxEndpoints is computed for that form.
const MaxLoads = 600

// serviceFlows makes the flows of one port.
type serviceFlows struct {
	*pipeline.Generator
	pipeline.Family
	port *ServicePort
	// groups are the ids of the port's groups, by scope; 0 for none.
	groups portGroups
	// limit bounds the affinities of each scope.
	limit uint32
}

// Flows of NodePorts precede flows of addresses: a Service whose address serves NodePorts, and whose port is the number of a NodePort,
// does not take that NodePort over.
const (
	priorityNodePort      = 220
	priorityLocalNodePort = 230
)

// scope selects the list of Endpoints that serves a frontend.
type scope uint8

const (
	scopeCluster scope = iota
	scopeLocal
	scopes
)

func scopeOf(f Frontend) scope {
	if f.Local {
		return scopeLocal
	}
	return scopeCluster
}

// shortCircuits reports whether clients on this Node may reach all Endpoints through a frontend that is Local for others.
func shortCircuits(f Frontend) bool { return f.Local && (f.External || f.NodePort) }

func (p *ServicePort) endpoints(s scope) []Endpoint {
	if s == scopeLocal {
		return p.Local
	}
	return p.Cluster
}

// ForPods returns the Endpoints to which new connections of this Node's Pods to one of the port's frontends go.
func (p *ServicePort) ForPods(f Frontend) []Endpoint {
	if shortCircuits(f) {
		return p.Cluster
	}
	return p.endpoints(scopeOf(f))
}

// uses reports whether a frontend needs the group of the scope.
func (p *ServicePort) uses(s scope) bool {
	for _, f := range p.Frontends {
		if scopeOf(f) == s || s == scopeCluster && shortCircuits(f) {
			return true
		}
	}
	return false
}

// v6 reports whether a validated port is of IPv6.
func (p *ServicePort) v6() bool { return p.Frontends[0].Address.Addr().Is6() }

// affinitySeconds is the affinity in the unit of the switch, rounded up.
func (p *ServicePort) affinitySeconds() uint16 {
	const longest = 65535
	return uint16(min((p.Affinity+time.Second-1)/time.Second, longest))
}

// protocolNumbers are the IP protocols of Services.
var protocolNumbers = map[corev1.Protocol]uint8{
	corev1.ProtocolTCP: of.IPProtoTCP, corev1.ProtocolUDP: of.IPProtoUDP, corev1.ProtocolSCTP: of.IPProtoSCTP,
}

// frontendFlows returns the flows that hand packets to the groups.
func (s serviceFlows) frontendFlows() []of.Flow {
	var flows []of.Flow
	for _, f := range s.port.Frontends {
		ordinary, local := uint16(pipeline.PriorityNormal), uint16(pipeline.PriorityHigh)
		if f.NodePort {
			ordinary, local = priorityNodePort, priorityLocalNodePort
		}
		for _, client := range s.clients(f) {
			flows = append(flows, s.selectFlow(ordinary, f, scopeOf(f), client...))
			if shortCircuits(f) {
				flows = append(flows, s.selectFlow(local, f, scopeCluster, append(client, pipeline.SourceLocal.Match())...))
			}
		}
		if f.Restricted {
			flows = append(flows, s.Flow(pipeline.CookieService, pipeline.TableServiceLB, pipeline.PriorityLow, s.frontendMatch(f, pipeline.ServiceToSelect)))
		}
		if s.port.Affinity > 0 {
			flows = append(flows, s.learnFlow(f))
		}
		if s.Features.Multicluster && !s.port.Nested && !external(f) && !s.port.v6() {
			flows = append(flows, s.redirectFlow(f))
		}
	}
	return flows
}

// redirectFlow selects an Endpoint of this Service for packets for which a nested Service has selected the address of this one. The packet counts
// as one to an ordinary Service from here on, so that nothing leads it back, and as one to the nested Service for policies. The
// affinity of this Service does not hold for it.
func (s serviceFlows) redirectFlow(f Frontend) of.Flow {
	match := append(pipeline.Matches(s.EthType, of.IPProto(s.protocol()), pipeline.ServiceSelected.Match(), pipeline.NestedService.Match(),
		pipeline.EndpointPortField.Is(uint32(f.Address.Port())).Match()), matchEndpoint(f.Address.Addr())...)
	return s.Flow(pipeline.CookieService, pipeline.TableEndpointDNAT, pipeline.PriorityHigh, match, pipeline.NotNestedService.Load(), of.Group{ID: s.groups[scopeOf(f)]})
}

// clients returns the matches for the clients of a frontend, one element for each group of them.
func (s serviceFlows) clients(f Frontend) [][]of.Match {
	if !f.Restricted {
		return [][]of.Match{nil}
	}
	var groups [][]of.Match
	for _, network := range s.port.SourceRanges {
		groups = append(groups, pipeline.Matches(s.Src(network)))
	}
	return groups
}

func (s serviceFlows) selectFlow(priority uint16, f Frontend, to scope, match ...of.Match) of.Flow {
	state := pipeline.ServiceSelected
	if s.port.Affinity > 0 {
		state = pipeline.ServiceSelectedLearn
	}
	actions := pipeline.Loads([]pipeline.FieldValue{pipeline.RewriteMAC, state})
	if s.port.Nested {
		actions = append(actions, pipeline.NestedService.Load())
	}
	if external(f) {
		actions = append(actions, pipeline.ExternalAddress.Load())
	}
	return s.Flow(pipeline.CookieService, pipeline.TableServiceLB, priority, append(match, s.frontendMatch(f, pipeline.ServiceToSelect)...),
		append(actions, pipeline.ServiceGroupIDField.Is(s.groups[to]).Load(), of.Group{ID: s.groups[to]})...)
}

// external reports whether connections to the frontend can come from outside the cluster.
func external(f Frontend) bool { return f.External || f.NodePort }

// frontendMatch matches packets to the frontend in a state of the selection.
func (s serviceFlows) frontendMatch(f Frontend, state pipeline.FieldValue) []of.Match {
	match := append(pipeline.Matches(s.EthType, state.Match()), s.portMatch(f.Address.Port())...)
	if f.NodePort {
		return append(match, pipeline.NodePortAddress.Match())
	}
	return append(match, s.Dst(pipeline.Host(f.Address.Addr())))
}

func (s serviceFlows) protocol() uint8 { return protocolNumbers[s.port.Protocol] }

func (s serviceFlows) portMatch(port uint16) []of.Match {
	return pipeline.ServiceMatch(s.protocol(), port, 0xffff)
}

// learnFlow makes the client keep the Endpoint that was selected. The learned flow ends when no new connection has used it for the
// time of the affinity, as in kube-proxy; Antrea's ends this time after the first connection. Here it also ends with the flow.
//
// As in Antrea, connections that the client opens before the datapath follows the learned flow (up to about half a second later) are
// spread by their ports like all others; the last one counts.
func (s serviceFlows) learnFlow(f Frontend) of.Flow {
	src, dst, eth := of.FieldIPv4Src, of.FieldIPv4Dst, of.EthTypeIPv4
	endpoint := []of.LearnSpec{learnCopy(pipeline.EndpointIPField)}
	if s.port.v6() {
		src, dst, eth = of.FieldIPv6Src, of.FieldIPv6Dst, of.EthTypeIPv6
		endpoint = []of.LearnSpec{learnCopy(endpointHalves[0]), learnCopy(endpointHalves[1])}
	}
	portField := map[uint8]of.Field{of.IPProtoTCP: of.FieldTCPDst, of.IPProtoUDP: of.FieldUDPDst, of.IPProtoSCTP: of.FieldSCTPDst}[s.protocol()]
	specs := []of.LearnSpec{
		of.LearnValue(of.FieldEthType, uint64(eth)), of.LearnValue(of.FieldIPProto, uint64(s.protocol())),
		of.LearnField(portField), of.LearnField(dst), of.LearnField(src), learnCopy(pipeline.EndpointPortField), learnCopy(pipeline.RemoteEndpointField),
	}
	// Policies match the group, for later connections of the client like for the first one.
	specs = append(append(specs, endpoint...), learnLoad(pipeline.ServiceSelected), learnLoad(pipeline.RewriteMAC), learnCopy(pipeline.ServiceGroupIDField))
	if external(f) {
		specs = append(specs, learnLoad(pipeline.ExternalAddress))
	}
	if s.port.Nested {
		specs = append(specs, learnLoad(pipeline.NestedService))
	}
	priority := uint16(pipeline.PriorityLow)
	if f.NodePort {
		priority = pipeline.PriorityNormal
	}
	return s.Flow(pipeline.CookieService, pipeline.TableServiceLB, priority, s.frontendMatch(f, pipeline.ServiceSelectedLearn),
		of.Learn{Table: s.ID(pipeline.TableSessionAffinity), Priority: pipeline.PriorityNormal, Cookie: s.learnedCookie(scopeOf(f)),
			IdleTimeout: s.port.affinitySeconds(), DeleteLearned: true, Limit: s.limit, Specs: specs},
		pipeline.ServiceSelected.Load(), s.ToTable(pipeline.TableEndpointDNAT))
}

// learnedCookie contains the group's id, so only learned flows of this port have it.
func (s serviceFlows) learnedCookie(to scope) uint64 {
	return pipeline.Cookie(s.Round, pipeline.CookieService) | uint64(s.groups[to])
}

func learnCopy(f pipeline.BitField) of.LearnSpec {
	return of.LearnLoadField(f.Field, f.Bits, f.Field, f.Bits)
}

func learnLoad(v pipeline.FieldValue) of.LearnSpec {
	return of.LearnLoadValue(v.Field, v.Bits, uint64(v.Value))
}

// groupEntries returns the groups that the frontends use.
func (s serviceFlows) groupEntries() []of.GroupEntry {
	var groups []of.GroupEntry
	for to := range scopes {
		if s.port.uses(to) {
			groups = append(groups, s.groupOf(s.groups[to], s.buckets(s.port.endpoints(to))))
		}
	}
	return groups
}

// groupOf returns the group of the buckets. Where there is only one, nothing has to be hashed: for a hash, the datapath recirculates each packet that opens
// a connection.
func (s serviceFlows) groupOf(id uint32, buckets []of.Bucket) of.GroupEntry {
	switch {
	case len(buckets) == 1:
		return of.GroupEntry{ID: id, Type: of.GroupIndirect, Buckets: []of.Bucket{{Actions: buckets[0].Actions}}}
	case s.port.Nested:
		buckets = hashedInUserSpace(buckets)
	}
	return of.GroupEntry{ID: id, Type: of.GroupSelect, Buckets: buckets}
}

// hashedInUserSpace makes the choice of a nested Service's group independent of the group of the Service that it leads to. Both would use the same
// hash of the datapath, so that with two buckets in each, one of the inner ones would never be chosen. The first bucket becomes two of the same
// weight together, of which one is so light that Open vSwitch needs more than 64 values of that hash. Then it hashes addresses itself, and ports
// of TCP but not of UDP (group_set_selection_method in ofproto/ofproto-dpif.c, flow_hash_symmetric_l4 in lib/flow.c): UDP of one client stays with one
// bucket. OpenFlow 1.3 cannot name the hash.
func hashedInUserSpace(buckets []of.Bucket) []of.Bucket {
	light := buckets[0]
	buckets[0].Weight, light.Weight = bucketWeight-1, 1
	return append(buckets, light)
}

func (s serviceFlows) buckets(endpoints []Endpoint) []of.Bucket {
	if len(endpoints) == 0 && s.port.Elsewhere {
		return []of.Bucket{{Weight: bucketWeight, Actions: []of.Action{pipeline.ServiceElsewhere.Load(), of.Resubmit{Table: s.ID(pipeline.TableEndpointDNAT)}}}}
	}
	if len(endpoints) == 0 {
		return []of.Bucket{{Weight: bucketWeight, Actions: []of.Action{pipeline.SvcNoEndpoint.Load(), of.Resubmit{Table: s.ID(pipeline.TableEndpointDNAT)}}}}
	}
	next := of.Resubmit{Table: s.ID(pipeline.TableEndpointDNAT)}
	if s.port.Affinity > 0 {
		next.Table = s.ID(pipeline.TableServiceLB)
	}
	var buckets []of.Bucket
	for _, e := range endpoints {
		actions := []of.Action{loadEndpoint(e.Address.Addr())}
		port, remote := pipeline.EndpointPortField.Is(uint32(e.Address.Port())), e.OnAnotherNode()
		switch {
		case len(endpoints) > MaxLoads:
			actions = append(actions, loadPortAndRemote(port, remote))
		case remote:
			actions = append(actions, port.Load(), pipeline.RemoteEndpoint.Load())
		default:
			actions = append(actions, port.Load())
		}
		buckets = append(buckets, of.Bucket{Weight: bucketWeight, Actions: append(actions, next)})
	}
	return buckets
}

func loadEndpoint(addr netip.Addr) of.Action {
	if addr.Is6() {
		return of.SetField{Field: of.FieldXXReg0 + 3, Value: addr.AsSlice()}
	}
	return pipeline.EndpointIPField.Is(addrValue(addr)).Load()
}

func loadPortAndRemote(port pipeline.FieldValue, remote bool) of.Action {
	value := port.Value
	if remote {
		value |= pipeline.RemoteEndpointField.Mask()
	}
	return of.SetField{Field: port.Field, Value: binary.BigEndian.AppendUint32(nil, value),
		Mask: binary.BigEndian.AppendUint32(nil, port.Mask()|pipeline.RemoteEndpointField.Mask())}
}

// addrValue is an IPv4 address as the number in a register.
func addrValue(addr netip.Addr) uint32 {
	b := addr.As4()
	return binary.BigEndian.Uint32(b[:])
}

// endpointKey identifies a flow that ports share: the translation to an Endpoint, or, with protocol and port 0, the mark of
// connections of a Pod to itself.
type endpointKey struct {
	protocol uint8
	address  netip.AddrPort
}

// String is unique: it names the flow in the flow cache.
func (k endpointKey) String() string {
	if k.protocol == 0 {
		return "hairpin " + k.address.Addr().String()
	}
	return fmt.Sprintf("endpoint %d %v", k.protocol, k.address)
}

// endpointFlow returns the flow of the key. Without the mark of Services, Open vSwitch would compare the source of each packet that opens a connection to
// an Endpoint, and the kernel's flows of such packets would need masks of their own.
func endpointFlow(g *pipeline.Generator, f pipeline.Family, k endpointKey) of.Flow {
	addr := k.address.Addr()
	if k.protocol == 0 {
		return g.Flow(pipeline.CookieService, pipeline.TableSNATMark, pipeline.PriorityLow,
			pipeline.Matches(f.EthType, of.CTState("+new+trk"), pipeline.ServiceCT.Match(), f.Src(pipeline.Host(addr)), f.Dst(pipeline.Host(addr))), g.MarkSNAT(f, pipeline.HairpinCT))
	}
	match := append(pipeline.Matches(f.EthType, of.IPProto(k.protocol), pipeline.ServiceSelected.Match(), pipeline.EndpointPortField.Is(uint32(k.address.Port())).Match()),
		matchEndpoint(addr)...)
	return g.Flow(pipeline.CookieService, pipeline.TableEndpointDNAT, pipeline.PriorityNormal, match, of.CT{
		Commit: true, Zone: f.CTZone, Table: g.FirstOf(pipeline.StageEgressSecurity), NATTo: &of.NATTo{First: addr, FirstPort: k.address.Port()},
		Exec: pipeline.Loads([]pipeline.FieldValue{pipeline.ServiceCT}),
	})
}

func matchEndpoint(addr netip.Addr) []of.Match {
	if addr.Is4() {
		return pipeline.Matches(pipeline.EndpointIPField.Is(addrValue(addr)).Match())
	}
	// The four registers that are xxreg3.
	b := addr.As16()
	var match []of.Match
	for i := range uint8(4) {
		match = append(match, pipeline.Reg(12+i, 0, 31).Is(binary.BigEndian.Uint32(b[4*i:])).Match())
	}
	return match
}
