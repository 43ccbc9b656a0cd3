// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

const (
	sortBy        = "sort-by"
	defaultSortBy = ".sourceRef.name"
	// effectivePriority is the value of --sort-by for the order of evaluation.
	effectivePriority = "effectivePriority"
	// kubernetesTier is the place of Kubernetes' policies among the tiers.
	kubernetesTier = 251
)

var sortByFlag = Flag{
	Name: sortBy, Usage: "Sort by this field, a JSONPath such as .metadata.name (default " + defaultSortBy + "), or by " + effectivePriority + ": tier, priority, name",
}

// policies lays out policies in the order of the flag --sort-by; decode reads them from the server's answer.
func policies[In any](decode func(In) []apis.NetworkPolicy) func(url.Values) Response {
	return func(query url.Values) Response {
		return Transform(func(in In) ([]apis.NetworkPolicy, error) {
			list := selectSources(decode(in), query)
			return list, sortPolicies(list, query.Get(sortBy))
		}, UnsortedList(networkPolicyColumns...))
	}
}

// withoutSort leaves out of a query what the server does not know.
func withoutSort(query url.Values) url.Values {
	rest := url.Values{}
	for key, values := range query {
		if key != sortBy {
			rest[key] = values
		}
	}
	return rest
}

// sourceTypes are short names of types of sources.
var sourceTypes = map[v1beta2.NetworkPolicyType]string{
	v1beta2.K8sNetworkPolicy: "K8sNP", v1beta2.AntreaClusterNetworkPolicy: "ACNP", v1beta2.AntreaNetworkPolicy: "ANNP",
	v1beta2.AdminNetworkPolicy: "ANP", v1beta2.BaselineAdminNetworkPolicy: "BANP", v1beta2.K8sClusterNetworkPolicy: "K8sCNP",
}

// selectSources applies the flags about sources. The agent has applied them already, the controller does not know them.
func selectSources(list []apis.NetworkPolicy, query url.Values) []apis.NetworkPolicy {
	matches := func(key, value string) bool { return query.Get(key) == "" || strings.EqualFold(query.Get(key), value) }
	return slices.DeleteFunc(list, func(p apis.NetworkPolicy) bool {
		source := sourceOf(p)
		return !matches("source", source.Name) || !matches("namespace", source.Namespace) || !matches("type", sourceTypes[source.Type])
	})
}

func sourceOf(p apis.NetworkPolicy) v1beta2.NetworkPolicyReference {
	if p.NetworkPolicy == nil || p.SourceRef == nil {
		return v1beta2.NetworkPolicyReference{}
	}
	return *p.SourceRef
}

// sortPolicies sorts by a JSONPath or by effectivePriority. Policies without the field are last.
func sortPolicies(list []apis.NetworkPolicy, by string) error {
	if strings.EqualFold(by, effectivePriority) {
		slices.SortStableFunc(list, compareEffective)
		return nil
	}
	found := len(list) == 0 || by == ""
	if by == "" {
		by = defaultSortBy
	}
	path := jsonpath.New(sortBy).AllowMissingKeys(true)
	if err := path.Parse("{." + strings.TrimPrefix(strings.Trim(by, "{}"), ".") + "}"); err != nil {
		return fmt.Errorf("--%s: %q is not a JSONPath: %w", sortBy, by, err)
	}
	type keyed struct {
		policy apis.NetworkPolicy
		key    any
	}
	all := make([]keyed, 0, len(list))
	for _, p := range list {
		key, err := valueAt(path, p)
		if err != nil {
			return fmt.Errorf("--%s: %q: %w", sortBy, by, err)
		}
		found = found || key != nil
		all = append(all, keyed{p, key})
	}
	if !found {
		return fmt.Errorf("--%s: no policy has a field %q", sortBy, by)
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return compareValues(a.key, b.key) })
	for i := range all {
		list[i] = all[i].policy
	}
	return nil
}

// valueAt returns the first value of a path, nil if there is none.
func valueAt(path *jsonpath.JSONPath, policy apis.NetworkPolicy) (any, error) {
	text, err := json.Marshal(policy)
	if err != nil {
		return nil, err
	}
	var object any
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	results, err := path.FindResults(object)
	if err != nil {
		return nil, err
	}
	for _, values := range results {
		for _, value := range values {
			return value.Interface(), nil
		}
	}
	return nil, nil
}

// compareValues compares numbers as numbers and everything else as text.
func compareValues(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(missing(a), missing(b))
	}
	x, okX := a.(float64)
	y, okY := b.(float64)
	if okX && okY {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

func missing(value any) int {
	if value == nil {
		return 1
	}
	return 0
}

func compareEffective(a, b apis.NetworkPolicy) int {
	return cmp.Or(cmp.Compare(tierOf(a), tierOf(b)), cmp.Compare(priorityOf(a), priorityOf(b)), cmp.Compare(sourceOf(a).Name, sourceOf(b).Name))
}

func tierOf(p apis.NetworkPolicy) int32 {
	if p.NetworkPolicy == nil || p.TierPriority == nil {
		return kubernetesTier
	}
	return *p.TierPriority
}

func priorityOf(p apis.NetworkPolicy) float64 {
	if p.NetworkPolicy == nil || p.Priority == nil {
		return 0
	}
	return *p.Priority
}
