// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// The kinds of policies of the Kubernetes network policy API (policy.networking.k8s.io): the first two in version v1alpha1, the last one in v1alpha2.
const (
	AdminKind    = "AdminNetworkPolicy"
	BaselineKind = "BaselineAdminNetworkPolicy"
	ClusterKind  = "ClusterNetworkPolicy"
)

// AdminPolicy is a policy of the Kubernetes network policy API, in a form that is the same for all kinds.
type AdminPolicy struct {
	Kind, Name string
	UID        types.UID
	Generation int64
	// Baseline reports whether a ClusterNetworkPolicy is of the tier Baseline.
	Baseline        bool
	Priority        int32
	Subject         AdminPods
	Ingress, Egress []AdminRule
}

// AdminPods selects all Pods of Namespaces, or some of them. Pods in the network of their Node are not among them.
type AdminPods struct{ Namespaces, Pods *metav1.LabelSelector }

// AdminRule is a rule. No ports means any.
type AdminRule struct {
	Action Opinion // MayAllow, MayDrop or mayPass
	Peers  []AdminPeer
	Ports  []AdminPort
}

// AdminPeer has one of these fields. Only Pods also occurs in ingress rules.
type AdminPeer struct {
	Pods     *AdminPods
	Nodes    *metav1.LabelSelector
	Networks []string
	Names    []string
}

// AdminPort is a port, a range, or a name of ports of any protocol.
type AdminPort struct {
	Name        string
	Protocol    corev1.Protocol
	First, Last int32
}

// Object returns the policy as the Kubernetes API has it.
func (a *AdminPolicy) Object() *unstructured.Unstructured {
	spec := map[string]any{"subject": a.Subject.content()}
	version := "v1alpha1"
	if a.Kind != BaselineKind {
		spec["priority"] = a.Priority
	}
	if a.Kind == ClusterKind {
		version, spec["tier"] = "v1alpha2", "Admin"
		if a.Baseline {
			spec["tier"] = "Baseline"
		}
	}
	if len(a.Ingress) > 0 {
		spec["ingress"] = a.rules(a.Ingress, "from")
	}
	if len(a.Egress) > 0 {
		spec["egress"] = a.rules(a.Egress, "to")
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "policy.networking.k8s.io/" + version, "kind": a.Kind, "spec": spec,
		"metadata": map[string]any{"name": a.Name, "uid": a.UID, "generation": a.Generation},
	})
	u := &unstructured.Unstructured{}
	if err := errors.Join(err, u.UnmarshalJSON(text)); err != nil {
		panic(err)
	}
	return u
}

func (p *AdminPods) content() map[string]any {
	if p.Pods == nil {
		return map[string]any{"namespaces": p.Namespaces}
	}
	return map[string]any{"pods": map[string]any{"namespaceSelector": p.Namespaces, "podSelector": p.Pods}}
}

func (a *AdminPolicy) rules(rules []AdminRule, peersField string) (all []any) {
	actions := map[Opinion]string{MayAllow: "Allow", MayDrop: "Deny", mayPass: "Pass"}
	portsField, port := "ports", AdminPort.alpha1
	if a.Kind == ClusterKind {
		actions[MayAllow], portsField, port = "Accept", "protocols", AdminPort.alpha2
	}
	for i, rule := range rules {
		var peers, ports []any
		for _, p := range rule.Peers {
			peers = append(peers, p.content())
		}
		for _, p := range rule.Ports {
			ports = append(ports, port(p))
		}
		content := map[string]any{"name": fmt.Sprint("rule-", i), "action": actions[rule.Action], peersField: peers}
		if len(ports) > 0 {
			content[portsField] = ports
		}
		all = append(all, content)
	}
	return all
}

func (p *AdminPeer) content() map[string]any {
	switch {
	case p.Pods != nil:
		return p.Pods.content()
	case p.Nodes != nil:
		return map[string]any{"nodes": p.Nodes}
	case len(p.Networks) > 0:
		return map[string]any{"networks": p.Networks}
	}
	return map[string]any{"domainNames": p.Names}
}

func (p AdminPort) alpha1() map[string]any {
	switch {
	case p.Name != "":
		return map[string]any{"namedPort": p.Name}
	case p.First == p.Last:
		return map[string]any{"portNumber": map[string]any{"protocol": p.Protocol, "port": p.First}}
	}
	return map[string]any{"portRange": map[string]any{"protocol": p.Protocol, "start": p.First, "end": p.Last}}
}

func (p AdminPort) alpha2() map[string]any {
	destination := map[string]any{"number": p.First}
	switch {
	case p.Name != "":
		return map[string]any{"destinationNamedPort": p.Name}
	case p.First != p.Last:
		destination = map[string]any{"range": map[string]any{"start": p.First, "end": p.Last}}
	}
	return map[string]any{strings.ToLower(string(p.Protocol)): map[string]any{"destinationPort": destination}}
}
