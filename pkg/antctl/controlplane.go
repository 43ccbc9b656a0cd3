// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"net/url"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

const controlPlanePath = "/apis/controlplane.antrea.io/v1beta2"

// controlPlaneDefinitions are the commands that show what antrea-controller has computed for all Nodes.
var controlPlaneDefinitions = []Definition{
	{
		Use: "networkpolicy", Aliases: []string{"networkpolicies", "netpol"}, Group: Get,
		Short: "Print the NetworkPolicies that the controller has computed",
		Args:  []Arg{{Name: "name"}},
		Flags: []Flag{
			{Name: "namespace", Shorthand: "n", Usage: "Only policies whose source is in this Namespace"},
			{Name: "source", Shorthand: "S", Usage: "Only policies whose source has this name"},
			{Name: "type", Shorthand: "T", Usage: typeUsage},
			sortByFlag,
		},
		Controller: &Endpoint{Path: controlPlanePath + "/networkpolicies", Query: byName, ResponseFor: policies(
			func(list v1beta2.NetworkPolicyList) []apis.NetworkPolicy {
				var all []apis.NetworkPolicy
				for i := range list.Items {
					all = append(all, apis.NetworkPolicy{NetworkPolicy: &list.Items[i]})
				}
				return all
			},
		)},
	},
	{
		Use: "appliedtogroup", Aliases: []string{"appliedtogroups", "atg"}, Group: Get,
		Short: "Print the groups of Pods, Nodes and Services that policies are applied to",
		Args:  []Arg{{Name: "name"}},
		Controller: &Endpoint{Path: controlPlanePath + "/appliedtogroups", Query: byName, Response: Transform(
			func(list v1beta2.AppliedToGroupList) ([]v1beta2.AppliedToGroup, error) { return list.Items, nil },
			List(appliedToGroupColumns...))},
	},
	{
		Use: "addressgroup", Aliases: []string{"addressgroups", "ag"}, Group: Get,
		Short: "Print the groups of Pods and Nodes that rules name as peers",
		Args:  []Arg{{Name: "name"}},
		Controller: &Endpoint{Path: controlPlanePath + "/addressgroups", Query: byName, Response: Transform(
			func(list v1beta2.AddressGroupList) ([]v1beta2.AddressGroup, error) { return list.Items, nil },
			List(addressGroupColumns...))},
	},
}

// byName selects an object of the Kubernetes kind.
func byName(query url.Values) url.Values {
	if !query.Has("name") {
		return nil
	}
	return url.Values{"fieldSelector": {"metadata.name=" + query.Get("name")}}
}
