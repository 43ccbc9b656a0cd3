// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

import "fmt"

// Refusal is a case in which the API server refuses an object.
type Refusal struct {
	Name string
	// Before are objects that it accepts.
	Before []Object
	// Refused is created, or changed if it is in Before; Deleted is deleted. One of both is set.
	Refused *Object
	Deleted *Object
	// Message is a part of the answer.
	Message string
	// Also is another refusal of the same case; nil if there is none.
	Also *Refusal
}

const somePods = "podSelector: {matchLabels: {pod: a}}"

// Validation are the cases of TestGroupValidationWebhook.
var Validation = []Refusal{
	refused("CreateInvalidACNP", "tier no-exist does not exist", acnp("acnp-tier-not-exist", 1, tier("no-exist"), appliedTo(somePods))),
	refused("CreateInvalidANNP", "tier non-exist does not exist", annp("x", "annp-tier-not-exist", 1, tier("non-exist"), appliedTo(somePods))),
	refused("CreateInvalidTier", "tier tier-prio-20-2 priority 20 overlaps with existing Tier", tierObject("tier-prio-20-2", 20), tierObject("tier-prio-20", 20)),
	refused("CreateInvalidClusterGroup", oneSourceOfClusterGroup, clusterGroup("cg-invalid", somePods, serviceReference("x", "web"))),
	refused("CreateInvalidGroup", oneSourceOfGroup, group("x", "grp-invalid", somePods, serviceReference("x", "web"))),
	refused("UpdateInvalidACNP", "appliedTo should not be set in both spec and rules",
		acnp("acnp-applied-to-update", 1, appliedTo(somePods), ingress(from("Allow", tcp80+", "+appliedTo(somePods)))), acnp("acnp-applied-to-update", 1, appliedTo(somePods))),
	refused("UpdateInvalidANNP", "appliedTo should not be set in both spec and rules",
		annp("x", "annp-applied-to-update", 1, appliedTo(somePods), ingress(from("Allow", tcp80+", "+appliedTo(somePods)))), annp("x", "annp-applied-to-update", 1, appliedTo(somePods))),
	refused("UpdateInvalidTier", "update to Tier priority is not allowed", tierObject("prio-updated-tier", 31), tierObject("prio-updated-tier", 21)),
	refused("UpdateInvalidClusterGroup", oneSourceOfClusterGroup, clusterGroup("cg-updated", somePods, serviceReference("x", "web")), clusterGroup("cg-updated", somePods)),
	refused("UpdateInvalidGroup", oneSourceOfGroup, group("x", "grp-updated", somePods, serviceReference("x", "web")), group("x", "grp-updated", somePods)),
	{Name: "DeleteReferencedTier", Deleted: &Object{Kind: Tier, Name: "emergency"}, Message: "cannot delete reserved tier emergency"},
}

// Mutation are policies without a tier, by case of TestGroupMutationWebhook.
var Mutation = map[string]Object{
	"MutateACNPNoTier": acnp("acnp-no-tier", 10, appliedTo(somePods)),
	"MutateANNPNoTier": annp("x", "annp-no-tier", 10, appliedTo(somePods)),
}

// GroupRefusals are the cases of TestGroup.
var GroupRefusals = groupRefusals(Group)

// ClusterGroupRefusals are the cases of TestClusterGroup in which groups are refused.
var ClusterGroupRefusals = groupRefusals(ClusterGroup)

const (
	oneSourceOfClusterGroup = "At most one of podSelector, externalEntitySelector, nodeSelector, serviceReference, ipBlocks or childGroups can be set for a ClusterGroup"
	oneSourceOfGroup        = "At most one of podSelector, externalEntitySelector, serviceReference, ipBlocks or childGroups can be set for a Group"
)

func groupRefusals(kind Kind) []Refusal {
	message, word, ns := oneSourceOfClusterGroup, "ClusterGroup", ""
	if kind == Group {
		message, word, ns = oneSourceOfGroup, "Group", "x"
	}
	made := func(name string, fields ...string) Object {
		return Object{Kind: kind, Namespace: ns, Name: name, Spec: spec(fields...)}
	}
	const ipBlocks = "ipBlocks: [{cidr: 10.0.0.10/32}]"
	svc := serviceReference("x", "web")
	nested := refused("ExceedMaxNestedLevelDenied", "cannot set "+word+" nested as childGroup, who has 1 childGroups itself",
		made("grandparent", children("nested")), made("nested", children("leaf")), made("leaf", somePods))
	grandchild := refused("", "cannot set childGroups for "+word+" leaf, who has 1 parents", made("leaf", children("other")))
	nested.Also = &grandchild
	return []Refusal{
		refused("IPBlockWithPodSelectorDenied", message, made("ipb-pod", ipBlocks, somePods)),
		refused("IPBlockWithNamespaceSelectorDenied", message, made("ipb-ns", ipBlocks, everyNamespace)),
		refused("ServiceRefWithPodSelectorDenied", message, made("svc-pod", svc, somePods)),
		refused("ServiceRefWithNamespaceSelectorDenied", message, made("svc-ns", svc, everyNamespace)),
		refused("ServiceRefWithIPBlockDenied", message, made("svc-ipb", svc, ipBlocks)),
		refused("ChildGroupWithPodSelectorDenied", message, made("child-pod", children("other"), somePods)),
		refused("ChildGroupWithServiceRefDenied", message, made("child-svc", children("other"), svc)),
		nested,
	}
}

func refused(name, message string, o Object, before ...Object) Refusal {
	return Refusal{Name: name, Before: before, Refused: &o, Message: message}
}

func tierObject(name string, priority int) Object {
	return Object{Kind: Tier, Name: name, Spec: fmt.Sprintf("{priority: %d}", priority)}
}
