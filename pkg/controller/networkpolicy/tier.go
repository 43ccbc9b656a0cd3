// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// capitalized are names of default tiers as earlier versions of Antrea wrote them.
var capitalized = map[string]bool{
	"Emergency": true, "SecurityOps": true, "NetworkOps": true, "Platform": true, "Application": true, "Baseline": true,
}

// knownTier is a tier that is not one of Antrea's.
type knownTier struct {
	uid      types.UID
	priority int32
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
	if priority, ok := v1beta1.DefaultTiers[name]; ok {
		return priority, "", true
	}
	found, known := c.antrea.tiers[name]
	return found.priority, name, known
}
