// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explain explains how connections between two Pods are treated: whether policies allow them, whether the fast path
// carries them, and if not, why. It asks the components that decide, and decides nothing itself.
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
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Interfaces finds a local Pod's interfaces.
type Interfaces interface {
	GetContainerInterfacesByPod(podName, podNamespace string) []*interfacestore.InterfaceConfig
}

// Policies are the rules on the switch.
type Policies interface {
	Rules() []*openflow.PolicyRule
	RuleOwner(flowID uint32) (v1beta2.NetworkPolicyReference, bool)
}

// Cache is the fast path.
type Cache interface {
	Status() (*api.Status, error)
	Flows(oncache.FlowFilter) ([]api.FlowInfo, error)
	Nodes() []api.NodeInfo
	Endpoints() []api.EndpointInfo
}

// Explainer answers questions about one Node. Cache is nil when the feature gate ONCache is off.
type Explainer struct {
	Interfaces Interfaces
	Policies   Policies
	Cache      Cache
	// FindPod reads the object of a Pod that is not on this Node.
	FindPod func(ctx context.Context, namespace, name string) (*corev1.Pod, error)
}

// Question names two Pods, as namespace/name, and the port to which the first opens a connection.
type Question struct {
	From, To string
	Protocol string
	Port     uint16
}

// ErrNotHere is wrapped by the error for a question about Pods that are not on this Node.
var ErrNotHere = errors.New("neither Pod is on this Node: ask the agent of one of their Nodes")

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
	e.explainPolicy(answer, openflow.PolicyConnection{Source: source, Destination: destination, Protocol: number, DestinationPort: q.Port})
	if err := e.explainPath(answer, source, destination); err != nil {
		return nil, err
	}
	return answer, nil
}

func (e *Explainer) pod(ctx context.Context, ref string) (pod api.ExplainedPod, ips []netip.Addr, err error) {
	namespace, name, ok := strings.Cut(ref, "/")
	if !ok || namespace == "" || name == "" {
		return pod, nil, fmt.Errorf("%w: Pod %q: must be NAMESPACE/NAME", ErrBadQuestion, ref)
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

// commonFamily returns an address from each list, both of the same IP version.
func commonFamily(from, to []netip.Addr) (source, destination netip.Addr, ok bool) {
	for _, s := range from {
		if i := slices.IndexFunc(to, func(d netip.Addr) bool { return d.Is4() == s.Is4() }); i >= 0 {
			return s, to[i], true
		}
	}
	return source, destination, false
}

func (e *Explainer) explainPolicy(answer *api.Explanation, c openflow.PolicyConnection) {
	rules := e.Policies.Rules()
	if answer.From.Local {
		answer.Egress = e.verdict(rules, openflow.PolicyEgress, c)
	}
	if answer.To.Local {
		answer.Ingress = e.verdict(rules, openflow.PolicyIngress, c)
	}
}

func (e *Explainer) verdict(rules []*openflow.PolicyRule, direction openflow.PolicyDirection, c openflow.PolicyConnection) *api.ExplainedVerdict {
	v := openflow.EvaluatePolicy(rules, direction, c)
	result := &api.ExplainedVerdict{Allowed: v.Allowed, Isolated: v.Isolated, FlowID: v.FlowID, Policy: e.owner(v.FlowID)}
	for _, r := range rules {
		if openflow.EvaluatePolicy([]*openflow.PolicyRule{r}, direction, c).Isolated {
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
	return ref.Namespace + "/" + ref.Name
}

// explainPath sets path, reason and flows.
func (e *Explainer) explainPath(answer *api.Explanation, source, destination netip.Addr) error {
	slow := func(reason string) error {
		answer.Path, answer.Reason = api.PathSlow, reason
		return nil
	}
	denied := answer.Egress != nil && !answer.Egress.Allowed || answer.Ingress != nil && !answer.Ingress.Allowed
	defer func() {
		if denied {
			answer.Path, answer.Reason = api.PathDenied, "policy"
		}
	}()
	if e.Cache == nil {
		return slow("not enabled")
	}
	status, err := e.Cache.Status()
	if err != nil {
		return err
	}
	answer.LeaseSeconds = status.LeaseSeconds
	local, remote := source, destination
	if !answer.From.Local {
		local, remote = destination, source
	}
	if answer.Flows, err = e.flows(answer, local, source, destination); err != nil {
		return err
	}
	switch {
	case status.State != api.StateActive:
		return slow(strings.ToLower(status.State))
	case answer.Protocol == "SCTP":
		return slow("protocol")
	case !e.isPeer(answer, local, remote):
		return slow("not_remote")
	case !e.isEndpoint(local):
		return slow("no_endpoint")
	case len(answer.Flows) == 0:
		return slow("no_entry")
	}
	for _, f := range answer.Flows {
		if f.State != "active" {
			answer.Path, answer.Reason = api.PathSlow, f.State
			continue
		}
		answer.Path, answer.Reason = api.PathFast, f.State
		break
	}
	return nil
}

// flows returns the entries of connections to the port, of both directions.
func (e *Explainer) flows(answer *api.Explanation, local, source, destination netip.Addr) ([]api.FlowInfo, error) {
	all, err := e.Cache.Flows(oncache.FlowFilter{Address: local})
	server := netip.AddrPortFrom(destination, answer.Port).String()
	return slices.DeleteFunc(all, func(f api.FlowInfo) bool {
		// In a connection to a Service, the Pod sends to another address than that of the server.
		opened := (f.Destination == server || f.Direction == "egress" && f.Translated == server) && hasAddress(f.Source, source)
		replied := f.Source == server && hasAddress(f.Destination, source)
		return f.Protocol != answer.Protocol || !opened && !replied
	}), err
}

func hasAddress(text string, addr netip.Addr) bool {
	parsed, err := netip.ParseAddrPort(text)
	return err == nil && parsed.Addr() == addr
}

// isPeer reports whether flows to the peer of the local address can be cached: on another Node, or of another Pod that is announced.
func (e *Explainer) isPeer(answer *api.Explanation, local, peer netip.Addr) bool {
	if answer.From.Local && answer.To.Local {
		return local != peer && e.isEndpoint(peer)
	}
	return e.isRemote(peer)
}

func (e *Explainer) isRemote(addr netip.Addr) bool {
	for _, node := range e.Cache.Nodes() {
		for _, cidr := range node.PodCIDRs {
			if prefix, err := netip.ParsePrefix(cidr); err == nil && prefix.Contains(addr) {
				return true
			}
		}
	}
	return false
}

func (e *Explainer) isEndpoint(addr netip.Addr) bool {
	return slices.ContainsFunc(e.Cache.Endpoints(), func(endpoint api.EndpointInfo) bool {
		return slices.Contains(endpoint.IPs, addr.String())
	})
}
