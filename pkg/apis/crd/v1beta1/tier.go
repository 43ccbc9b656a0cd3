// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TierKind is the kind of tiers.
const TierKind = "Tier"

// Names of the tiers that the controller creates.
const (
	EmergencyTier   = "emergency"
	SecurityOpsTier = "securityops"
	NetworkOpsTier  = "networkops"
	PlatformTier    = "platform"
	// ApplicationTier is the tier of policies that do not name one.
	ApplicationTier = "application"
	// BaselineTier comes after Kubernetes' policies.
	BaselineTier = "baseline"
)

// DefaultTiers are the priorities of the tiers that the controller creates. They cannot be changed, so they are known even while the
// objects do not exist.
var DefaultTiers = map[string]int32{EmergencyTier: 50, SecurityOpsTier: 100, NetworkOpsTier: 150, PlatformTier: 200, ApplicationTier: 250, BaselineTier: 253}

// Tier is a step in the order of policies.
type Tier struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TierSpec `json:"spec"`
}

// TierList is a list of Tiers.
type TierList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Tier `json:"items"`
}

// TierSpec is the place of a tier.
type TierSpec struct {
	// Priority is 0 to 255, unique, and cannot be changed. The smallest is first.
	Priority    int32  `json:"priority"`
	Description string `json:"description,omitempty"`
}
