// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycheck

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// nameDigits is the number of digits of a hash in the name of a rule.
const nameDigits = 7

// RuleName returns the name that admission gives to a rule without one, which has an action: the direction, the action and a hash of the content.
// The name of a rule that does not change stays. Equal rules of one direction have one name, as in Antrea.
func RuleName(direction string, r *v1beta1.Rule) string {
	// A rule can always be encoded.
	content, _ := json.Marshal(r)
	sum := sha1.Sum(content)
	return fmt.Sprintf("%s-%s-%s", direction, strings.ToLower(string(*r.Action)), hex.EncodeToString(sum[:])[:nameDigits])
}
