// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kinds of Egress.
const (
	EgressKind         = "Egress"
	ExternalIPPoolKind = "ExternalIPPool"
)

// Egress gives Pods a fixed source address for what they send to outside the cluster.
type Egress struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   EgressSpec   `json:"spec"`
	Status EgressStatus `json:"status,omitempty"`
}

// EgressSpec has at least one of EgressIP and ExternalIPPool.
type EgressSpec struct {
	// AppliedTo without selectors selects nothing. With PodSelector only it selects in all Namespaces.
	AppliedTo AppliedTo `json:"appliedTo"`
	// EgressIP is an IPv4 or IPv6 address. With a pool and without an address, the controller allocates one and writes it here.
	EgressIP       string `json:"egressIP,omitempty"`
	ExternalIPPool string `json:"externalIPPool,omitempty"`
	// EgressIPs and ExternalIPPools are in the schema, and refused, as in Antrea.
	EgressIPs       []string   `json:"egressIPs,omitempty"`
	ExternalIPPools []string   `json:"externalIPPools,omitempty"`
	Bandwidth       *Bandwidth `json:"bandwidth,omitempty"`
}

// Bandwidth limits what leaves the cluster with an address. Both are quantities of Kubernetes: bits per second, and bits.
type Bandwidth struct {
	Rate  string `json:"rate"`
	Burst string `json:"burst"`
}

// EgressStatus says which Node has the address.
type EgressStatus struct {
	EgressNode string            `json:"egressNode,omitempty"`
	EgressIP   string            `json:"egressIP,omitempty"`
	Conditions []EgressCondition `json:"conditions,omitempty"`
}

// EgressConditionType names one aspect of an Egress.
type EgressConditionType string

const (
	// IPAllocated is written by the controller for an Egress with a pool.
	IPAllocated EgressConditionType = "IPAllocated"
	// IPAssigned reports whether a Node has the address.
	IPAssigned EgressConditionType = "IPAssigned"
	// BandwidthLimited is this project's. The Node that has the address writes it, only while it does not keep the bandwidth.
	BandwidthLimited EgressConditionType = "BandwidthLimited"
)

// EgressCondition is the state of one aspect.
type EgressCondition struct {
	Type               EgressConditionType    `json:"type"`
	Status             corev1.ConditionStatus `json:"status"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitempty"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
}

// ExternalIPPool has addresses that Nodes may have for Egresses.
type ExternalIPPool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ExternalIPPoolSpec   `json:"spec"`
	Status ExternalIPPoolStatus `json:"status,omitempty"`
}

// ExternalIPPoolSpec has addresses in the order of their allocation.
type ExternalIPPoolSpec struct {
	IPRanges   []IPRange   `json:"ipRanges"`
	SubnetInfo *SubnetInfo `json:"subnetInfo,omitempty"`
	// NodeSelector selects the Nodes that may have the addresses; all if it is empty.
	NodeSelector metav1.LabelSelector `json:"nodeSelector"`
}

// IPRange is a CIDR, or all addresses from Start to End.
type IPRange struct {
	CIDR  string `json:"cidr,omitempty"`
	Start string `json:"start,omitempty"`
	End   string `json:"end,omitempty"`
}

// SubnetInfo describes a subnet of addresses that is not the Nodes'.
type SubnetInfo struct {
	Gateway      string `json:"gateway"`
	PrefixLength int32  `json:"prefixLength"`
	// VLAN is 0 for none.
	VLAN int32 `json:"vlan,omitempty"`
}

// ExternalIPPoolStatus says how much is left.
type ExternalIPPoolStatus struct {
	Usage IPPoolUsage `json:"usage,omitempty"`
}

// IPPoolUsage counts addresses. Total is the highest int64 if there are more.
type IPPoolUsage struct {
	Total int64 `json:"total"`
	Used  int64 `json:"used"`
}
