// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networkpolicy serves what the agent knows of NetworkPolicy: /networkpolicies is a list of apis.NetworkPolicy,
// /addressgroups and /appliedtogroups are lists of the groups of package v1beta2. The parameter name selects one object;
// policies can also be selected by their source's name, namespace and type, and by a local Pod ("namespace/name") that
// they are applied to.
package networkpolicy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
)

// Querier is the agent's policy controller.
type Querier interface {
	NetworkPolicies() []*v1beta2.NetworkPolicy
	AddressGroups() []*v1beta2.AddressGroup
	AppliedToGroups() []*v1beta2.AppliedToGroup
	// RulesOf returns the rules of a policy that are on the switch.
	RulesOf(policy string) []*policy.Rule
	// Enforced reports whether nothing of the policy's former rules is left in the datapath.
	Enforced(policy string) bool
}

// Stats returns what each rule has let pass, by flow id.
type Stats func(context.Context) (map[uint32]apis.RuleStats, error)

// sourceTypes are short names of types of sources, as users give them, and whether their objects have a Namespace.
var sourceTypes = map[string]struct {
	kind       v1beta2.NetworkPolicyType
	namespaced bool
}{
	"K8SNP": {v1beta2.K8sNetworkPolicy, true}, "ACNP": {v1beta2.AntreaClusterNetworkPolicy, false}, "ANNP": {v1beta2.AntreaNetworkPolicy, true},
	"ANP": {v1beta2.AdminNetworkPolicy, false}, "BANP": {v1beta2.BaselineAdminNetworkPolicy, false}, "K8SCNP": {v1beta2.K8sClusterNetworkPolicy, false},
}

// SourceType returns the type of sources with a short name, in upper or lower case, and whether their objects have a Namespace. An
// empty name stands for all types: the empty type.
func SourceType(name string) (kind v1beta2.NetworkPolicyType, namespaced bool, err error) {
	if name == "" {
		return "", false, nil
	}
	known, ok := sourceTypes[strings.ToUpper(name)]
	if !ok {
		return "", false, fmt.Errorf("type %q: allowed: K8sNP, ACNP, ANNP, BANP, ANP, K8sCNP", name)
	}
	return known.kind, known.namespaced, nil
}

// HandlePolicies serves /networkpolicies.
func HandlePolicies(q Querier, stats Stats) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		policies, err := selectPolicies(q, r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		name := r.URL.Query().Get("name")
		if name != "" && len(policies) == 0 {
			http.Error(w, fmt.Sprintf("networkpolicy %q not found", name), http.StatusNotFound)
			return
		}
		counted, err := stats(r.Context())
		if err != nil {
			klog.ErrorS(err, "Could not read the statistics of NetworkPolicies")
		}
		list := make([]apis.NetworkPolicy, 0, len(policies))
		for _, p := range policies {
			list = append(list, apis.NetworkPolicy{
				NetworkPolicy: p, Realized: realizedRules(q.RulesOf(p.Name), counted), Enforced: q.Enforced(p.Name),
			})
		}
		handlers.WriteJSON(w, list)
	}
}

func realizedRules(rules []*policy.Rule, counted map[uint32]apis.RuleStats) []apis.RealizedRule {
	var realized []apis.RealizedRule
	for _, r := range rules {
		rule := apis.RealizedRule{FlowID: r.FlowID, Direction: v1beta2.DirectionIn}
		if r.Direction == policy.Egress {
			rule.Direction = v1beta2.DirectionOut
		}
		if counted != nil {
			stats := counted[r.FlowID]
			rule.Stats = &stats
		}
		realized = append(realized, rule)
	}
	return realized
}

func selectPolicies(q Querier, query url.Values) ([]*v1beta2.NetworkPolicy, error) {
	if err := checkSelection(query); err != nil {
		return nil, err
	}
	sourceType, _, err := SourceType(query.Get("type"))
	if err != nil {
		return nil, err
	}
	groups, err := groupsOfPod(q, query.Get("pod"))
	if err != nil {
		return nil, err
	}
	matches := func(key, value string) bool { return query.Get(key) == "" || query.Get(key) == value }
	return slices.DeleteFunc(q.NetworkPolicies(), func(p *v1beta2.NetworkPolicy) bool {
		source := v1beta2.NetworkPolicyReference{}
		if p.SourceRef != nil {
			source = *p.SourceRef
		}
		selected := matches("name", p.Name) && matches("namespace", source.Namespace) && matches("source", source.Name) &&
			(sourceType == "" || sourceType == source.Type)
		if query.Get("pod") != "" {
			selected = selected && appliesTo(p, groups)
		}
		return !selected
	}), nil
}

// checkSelection refuses filters that exclude each other.
func checkSelection(query url.Values) error {
	filters := []string{"namespace", "pod", "source", "type"}
	switch {
	case query.Get("name") != "" && slices.ContainsFunc(filters, func(f string) bool { return query.Get(f) != "" }):
		return errors.New("with a name, none of the other options should be set: " + strings.Join(filters, ", "))
	case query.Get("pod") != "" && query.Get("namespace") != "":
		return errors.New("pod and namespace should not be set together: pod is NAMESPACE/NAME")
	}
	return nil
}

// appliesTo reports whether a policy, or a rule of it, is applied to one of the groups.
func appliesTo(p *v1beta2.NetworkPolicy, groups map[string]bool) bool {
	in := func(g string) bool { return groups[g] }
	return slices.ContainsFunc(p.AppliedToGroups, in) ||
		slices.ContainsFunc(p.Rules, func(r v1beta2.NetworkPolicyRule) bool { return slices.ContainsFunc(r.AppliedToGroups, in) })
}

// groupsOfPod returns the names of the AppliedToGroups that have the Pod, given as namespace/name, on this Node.
func groupsOfPod(q Querier, pod string) (map[string]bool, error) {
	if pod == "" {
		return nil, nil
	}
	namespace, name, ok := strings.Cut(pod, "/")
	if !ok || namespace == "" || name == "" {
		return nil, fmt.Errorf("pod %q: must be NAMESPACE/NAME", pod)
	}
	groups := map[string]bool{}
	for _, g := range q.AppliedToGroups() {
		for _, m := range g.GroupMembers {
			if m.Pod != nil && m.Pod.Namespace == namespace && m.Pod.Name == name {
				groups[g.Name] = true
			}
		}
	}
	return groups, nil
}

// HandleAddressGroups serves /addressgroups.
func HandleAddressGroups(q Querier) http.HandlerFunc {
	return handleGroups("addressgroup", q.AddressGroups, func(g *v1beta2.AddressGroup) string { return g.Name })
}

// HandleAppliedToGroups serves /appliedtogroups.
func HandleAppliedToGroups(q Querier) http.HandlerFunc {
	return handleGroups("appliedtogroup", q.AppliedToGroups, func(g *v1beta2.AppliedToGroup) string { return g.Name })
}

func handleGroups[T any](kind string, list func() []T, nameOf func(T) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		groups := list()
		if name := r.URL.Query().Get("name"); name != "" {
			groups = slices.DeleteFunc(groups, func(g T) bool { return nameOf(g) != name })
			if len(groups) == 0 {
				http.Error(w, fmt.Sprintf("%s %q not found", kind, name), http.StatusNotFound)
				return
			}
		}
		if groups == nil {
			groups = []T{}
		}
		handlers.WriteJSON(w, groups)
	}
}
