// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"strings"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// defaultTiers are the priorities of the tiers that the controller creates. They cannot be changed, so they are known even
// while the objects do not exist.
var defaultTiers = map[string]int32{
	v1beta1.EmergencyTier: 50, v1beta1.SecurityOpsTier: 100, v1beta1.NetworkOpsTier: 150,
	v1beta1.PlatformTier: 200, v1beta1.ApplicationTier: 250, v1beta1.BaselineTier: 253,
}

// capitalized are names of default tiers as earlier versions of Antrea wrote them.
var capitalized = map[string]bool{
	"Emergency": true, "SecurityOps": true, "NetworkOps": true, "Platform": true, "Application": true, "Baseline": true,
}

// firstTier is the place before all other tiers.
const firstTier int32 = 0

// tier resolves the name of a tier. dependency is the name if it depends on an object.
func (c *core) tier(name string) (priority int32, dependency string, known bool) {
	if name == "" {
		name = v1beta1.ApplicationTier
	}
	if capitalized[name] {
		name = strings.ToLower(name)
	}
	if priority, ok := defaultTiers[name]; ok {
		return priority, "", true
	}
	priority, known = c.antrea.tiers[name]
	return priority, name, known
}
