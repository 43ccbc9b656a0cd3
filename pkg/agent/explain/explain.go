// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explain explains how connections from a Pod to another one, or to a Service, are treated: whether policies allow them,
// whether the fast path carries them, and if not, why. It asks the components that decide, and decides nothing itself.
//
// explain.go answers questions about Pods; service.go about Services, with endpoint.go for possible destinations,
// connection.go for open connections, and outside.go for addresses outside the cluster.
package explain

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Interfaces finds a local Pod's interfaces, and the interface with an address.
type Interfaces interface {
	GetContainerInterfacesByPod(podName, podNamespace string) []*interfacestore.InterfaceConfig
	GetInterfaceByIP(netip.Addr) (*interfacestore.InterfaceConfig, bool)
}

// Policies are the rules on the switch.
type Policies interface {
	Rules() []*policy.Rule
	RuleOwner(flowID uint32) (v1beta2.NetworkPolicyReference, bool)
}

// Cache is the fast path.
type Cache interface {
	Status() (*api.Status, error)
	Flows(oncache.FlowFilter) ([]api.FlowInfo, error)
	Nodes() []api.NodeInfo
	Endpoints() []api.EndpointInfo
}

// Explainer answers questions about one Node.
type Explainer struct {
	Interfaces Interfaces
	Policies   Policies
	// Cache is nil when the feature gate ONCache is off, Services without AntreaProxy.
	Cache    Cache
	Services Services
	// GroupsOf returns the groups that choose the Endpoint of connections to an address of a Service: rules match them. nil without Services.
	GroupsOf func(protocol uint8, dialed netip.AddrPort) []uint32
	// Connections are tracked by Open vSwitch.
	Connections Connections
	// FindPod reads the object of a Pod that is not on this Node.
	FindPod func(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	// IgnoreTraces: the answers assume that no Traceflow keeps Pods on Open vSwitch.
	IgnoreTraces bool
	// Silent reports whether a Node does not answer through the tunnel; nil if that is unknown.
	Silent func(node string) bool
	// Egress returns the Egress of what a local Pod sends to an address, its address, and the Node with it, empty if that is unknown. Without one,
	// name is empty. nil if no Pod has one.
	Egress func(pod, destination netip.Addr) (name, addr, node string)
}

// Question names a Pod, what it opens a connection to, and the port there.
type Question struct {
	// From is a Pod, as namespace/name, or an address.
	From string
	// To is another Pod, or an address: of a Pod or of a Service. Service is a Service, as namespace/name. One of the two is set.
	To, Service string
	Protocol    string
	Port        uint16
	// SourcePort selects one connection; 0 stands for all.
	SourcePort uint16
}

// ErrNotHere is wrapped by the error for a question about Pods that are not on this Node.
var ErrNotHere = errors.New("neither Pod is on this Node: ask the agent of one of their Nodes")

// ErrNoService is wrapped by the error for a question about a Service that AntreaProxy does not have.
var ErrNoService = errors.New("not found, or not handled by AntreaProxy")

// ErrBadQuestion is wrapped by the error for an invalid question.
var ErrBadQuestion = errors.New("bad question")

var protocols = map[string]uint8{"TCP": of.IPProtoTCP, "UDP": of.IPProtoUDP, "SCTP": of.IPProtoSCTP}

// Explain answers a question.
func (e *Explainer) Explain(ctx context.Context, q Question) (*api.Explanation, error) {
	number, known := protocols[strings.ToUpper(q.Protocol)]
	if !known {
		return nil, fmt.Errorf("%w: protocol %q: must be TCP, UDP or SCTP", ErrBadQuestion, q.Protocol)
	}
	from, fromIPs, err := e.pod(ctx, q.From)
	if err != nil {
		return nil, err
	}
	if q.Service != "" || e.meansService(q, from) {
		return e.explainService(q, number, from, fromIPs)
	}
	to, toIPs, err := e.pod(ctx, q.To)
	if err != nil {
		return nil, err
	}
	if !from.Local && !to.Local {
		return nil, ErrNotHere
	}
	source, destination, ok := commonFamily(fromIPs, toIPs)
	if !ok {
		return nil, fmt.Errorf("%w: %s (%v) and %s (%v) have no IP version in common", ErrBadQuestion, q.From, fromIPs, q.To, toIPs)
	}
	from.IP, to.IP = source.String(), destination.String()
	answer := &api.Explanation{From: from, To: to, Protocol: strings.ToUpper(q.Protocol), Port: q.Port}
	e.explainPolicy(answer, policy.Connection{Source: source, Destination: destination, Protocol: number, SourcePort: q.SourcePort, DestinationPort: q.Port})
	if err := e.explainPath(answer, source, destination, q.SourcePort); err != nil {
		return nil, err
	}
	return answer, nil
}

func (e *Explainer) pod(ctx context.Context, ref string) (pod api.ExplainedPod, ips []netip.Addr, err error) {
	if addr, err := netip.ParseAddr(ref); err == nil {
		local := e.localPod(addr)
		return api.ExplainedPod{Pod: local, Local: local != ""}, []netip.Addr{addr}, nil
	}
	namespace, name, ok := strings.Cut(ref, "/")
	if !ok || namespace == "" || name == "" {
		return pod, nil, fmt.Errorf("%w: Pod %q: must be NAMESPACE/NAME or an address", ErrBadQuestion, ref)
	}
	pod.Pod = ref
	for _, i := range e.Interfaces.GetContainerInterfacesByPod(name, namespace) {
		pod.Local, ips = true, append(ips, i.IPs...)
	}
	if pod.Local {
		return pod, ips, nil
	}
	object, err := e.FindPod(ctx, namespace, name)
	if err != nil {
		return pod, nil, fmt.Errorf("find Pod %s: %w", ref, err)
	}
	for _, ip := range append([]corev1.PodIP{{IP: object.Status.PodIP}}, object.Status.PodIPs...) {
		if addr, err := netip.ParseAddr(ip.IP); err == nil {
			ips = append(ips, addr)
		}
	}
	return pod, ips, nil
}

// localPod returns the namespace/name of the Pod on this Node that has the address, "" if there is none.
func (e *Explainer) localPod(addr netip.Addr) string {
	i, ok := e.Interfaces.GetInterfaceByIP(addr)
	if !ok || i.Type != interfacestore.ContainerInterface {
		return ""
	}
	return i.PodNamespace + "/" + i.PodName
}

// commonFamily returns an address from each list, both of the same IP version.
func commonFamily(from, to []netip.Addr) (source, destination netip.Addr, ok bool) {
	for _, s := range from {
		if i := slices.IndexFunc(to, func(d netip.Addr) bool { return d.Is4() == s.Is4() }); i >= 0 {
			return s, to[i], true
		}
	}
	return source, destination, false
}

func (e *Explainer) explainPolicy(answer *api.Explanation, c policy.Connection) {
	rules := e.Policies.Rules()
	if answer.From.Local {
		answer.Egress = e.verdict(rules, policy.Egress, c)
	}
	if answer.To.Local {
		answer.Ingress = e.verdict(rules, policy.Ingress, c)
	}
}

func (e *Explainer) verdict(rules []*policy.Rule, direction policy.Direction, c policy.Connection) *api.ExplainedVerdict {
	v := policy.Evaluate(rules, direction, c)
	result := &api.ExplainedVerdict{Allowed: v.Allowed(), Isolated: v.Isolated, FlowID: v.FlowID, Policy: e.owner(v.FlowID)}
	for _, r := range rules {
		if r.FlowID == v.FlowID {
			result.Rule, result.Action = r.Name, v.Action.String()
			if r.Effect.Order.Stage != policy.StageKubernetes {
				result.Tier = &r.Effect.Order.Tier
			}
		}
		if r.FlowID == v.PassedBy {
			result.PassedBy = &api.ExplainedRule{FlowID: r.FlowID, Policy: e.owner(r.FlowID), Rule: r.Name, Tier: &r.Effect.Order.Tier}
		}
		if policy.Evaluate([]*policy.Rule{r}, direction, c).Isolated {
			if owner := e.owner(r.FlowID); !slices.Contains(result.AppliedTo, owner) {
				result.AppliedTo = append(result.AppliedTo, owner)
			}
		}
	}
	slices.Sort(result.AppliedTo)
	return result
}

func (e *Explainer) owner(flowID uint32) string {
	ref, ok := e.Policies.RuleOwner(flowID)
	if !ok {
		return ""
	}
	if ref.Type == "" || ref.Type == v1beta2.K8sNetworkPolicy {
		return ref.Namespace + "/" + ref.Name
	}
	return ref.ToString()
}

// explainPath sets path, reason and flows.
func (e *Explainer) explainPath(answer *api.Explanation, source, destination netip.Addr, sourcePort uint16) error {
	local, remote := source, destination
	if !answer.From.Local {
		local, remote = destination, source
	}
	excluded, err := e.excluded(answer, local)
	if err != nil {
		return err
	}
	if e.Cache != nil {
		if answer.Flows, err = e.flows(answer, local, netip.AddrPortFrom(source, sourcePort), destination); err != nil {
			return err
		}
	}
	switch {
	case answer.Egress != nil && !answer.Egress.Allowed || answer.Ingress != nil && !answer.Ingress.Allowed:
		answer.Treatment = api.Treatment{Path: api.PathDenied, Reason: api.ReasonPolicy}
	case excluded != nil:
		answer.Treatment = *excluded
	default:
		answer.Treatment = e.ofConnections(answer, local, remote)
	}
	e.addSilence(&answer.Treatment, remote)
	return nil
}

// addSilence adds to the treatment of packets for another Node's Pod that the Node does not answer through the tunnel.
func (e *Explainer) addSilence(t *api.Treatment, pod netip.Addr) {
	if e.Silent == nil || e.Cache == nil || t.Path == api.PathDenied {
		return
	}
	if node, ok := e.remoteNode(pod); ok && e.Silent(node) {
		t.Detail = strings.TrimPrefix(t.Detail+"; Node "+node+" does not answer through the tunnel, see antctl get problems", "; ")
	}
}

// ofConnections is the treatment of connections that policies allow and whose local Pod can use the cache.
func (e *Explainer) ofConnections(answer *api.Explanation, local, peer netip.Addr) api.Treatment {
	within := answer.From.Local && answer.To.Local
	switch {
	case within && local == peer:
		return slow("not_remote", "what a Pod sends to itself does not leave it")
	case within:
		if why := e.staysOnOVS(peer); why != nil {
			return *why
		}
	case !e.isRemote(peer):
		return slow("not_remote", e.plainNode(peer))
	}
	if len(answer.Flows) == 0 {
		return e.notLearned(local)
	}
	return ofFlows(answer.Flows)
}

// staysOnOVS says why connections to another Pod of this Node never take the fast path; nil if they can.
func (e *Explainer) staysOnOVS(peer netip.Addr) *api.Treatment {
	var t api.Treatment
	endpoint := e.endpoint(peer)
	switch {
	case endpoint == nil:
		t = slow(api.ReasonSameNode, "the other Pod, on this Node, is not announced to the cache")
	case endpoint.OnOVS != "":
		t = slow(api.ReasonSameNode, "the other Pod, on this Node: "+endpoint.OnOVS)
	default:
		return nil
	}
	return &t
}

func slow(reason, detail string) api.Treatment {
	return api.Treatment{Path: api.PathSlow, Reason: reason, Detail: detail}
}

// excluded says why no connection of the local address can take the fast path; nil if one can.
func (e *Explainer) excluded(answer *api.Explanation, local netip.Addr) (*api.Treatment, error) {
	why := func(reason, detail string) (*api.Treatment, error) {
		treatment := slow(reason, detail)
		return &treatment, nil
	}
	if e.Cache == nil {
		return why(api.ReasonNotEnabled, "")
	}
	status, err := e.Cache.Status()
	if err != nil {
		return nil, err
	}
	answer.LeaseSeconds = status.LeaseSeconds
	endpoint := e.endpoint(local)
	switch {
	case status.State != api.StateActive:
		return why(strings.ToLower(status.State), status.Reason)
	case answer.Protocol == "SCTP":
		return why("protocol", "the cache is for TCP and UDP")
	case endpoint == nil:
		return why("no_endpoint", "the Pod is not announced to the cache")
	case endpoint.OnOVS != "":
		return why("no_endpoint", endpoint.OnOVS)
	}
	return nil, nil
}

// notLearned is the treatment of an established connection that has no entry.
func (e *Explainer) notLearned(local netip.Addr) api.Treatment {
	if endpoint := e.endpoint(local); endpoint != nil && endpoint.ShareUsedUp {
		return slow("share", "the cache is nearly full, and the Pod has its share of it")
	}
	return slow("no_entry", "")
}

// ofFlows is the treatment of connections that have entries: of the first active one, or of the last.
func ofFlows(flows []api.FlowInfo) (t api.Treatment) {
	for _, f := range flows {
		if f.State == api.ReasonActive {
			return api.Treatment{Path: api.PathFast, Reason: f.State}
		}
		t = slow(f.State, "")
	}
	return t
}

// flows returns the entries of connections from source to the port, of both directions; port 0 of source stands for all.
func (e *Explainer) flows(answer *api.Explanation, local netip.Addr, source netip.AddrPort, destination netip.Addr) ([]api.FlowInfo, error) {
	all, err := e.Cache.Flows(oncache.FlowFilter{Address: local})
	server := netip.AddrPortFrom(destination, answer.Port).String()
	return slices.DeleteFunc(all, func(f api.FlowInfo) bool {
		// In a connection to a Service, the Pod does not send to the server's address.
		opened := (f.Destination == server || f.Direction == "egress" && f.Translated == server) && isAt(f.Source, source)
		replied := f.Source == server && isAt(f.Destination, source)
		return f.Protocol != answer.Protocol || !opened && !replied
	}), err
}

// isAt reports whether an address and port are the wanted ones; port 0 stands for all.
func isAt(text string, wanted netip.AddrPort) bool {
	parsed, err := netip.ParseAddrPort(text)
	return err == nil && parsed.Addr() == wanted.Addr() && (wanted.Port() == 0 || parsed.Port() == wanted.Port())
}

func (e *Explainer) isRemote(addr netip.Addr) bool {
	node, ok := e.findNode(addr)
	return ok && node.OnOVS == ""
}

// plainNode says why packets to the address stay on Open vSwitch although it is in the Pod network of another Node; empty if it is in none.
func (e *Explainer) plainNode(addr netip.Addr) string {
	if node, ok := e.findNode(addr); ok {
		return "its Node is " + node.OnOVS
	}
	return ""
}

// remoteNode returns the name of the Node in whose Pod network the address is; ok is false if the cache knows none.
func (e *Explainer) remoteNode(addr netip.Addr) (name string, ok bool) {
	node, ok := e.findNode(addr)
	return node.Name, ok
}

func (e *Explainer) findNode(addr netip.Addr) (found api.NodeInfo, ok bool) {
	for _, node := range e.Cache.Nodes() {
		for _, cidr := range node.PodCIDRs {
			if prefix, err := netip.ParsePrefix(cidr); err == nil && prefix.Contains(addr) {
				return node, true
			}
		}
	}
	return found, false
}

// endpoint returns the local Pod with the address as the cache knows it; nil if it does not.
func (e *Explainer) endpoint(addr netip.Addr) *api.EndpointInfo {
	endpoints := e.Cache.Endpoints()
	i := slices.IndexFunc(endpoints, func(endpoint api.EndpointInfo) bool { return slices.Contains(endpoint.IPs, addr.String()) })
	if i < 0 {
		return nil
	}
	found := endpoints[i]
	if e.IgnoreTraces && found.OnOVS == oncache.Traced {
		found.OnOVS = ""
	}
	return &found
}
