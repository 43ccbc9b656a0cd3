// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// realization is one change of policy rules as an agent logs it.
type realization struct {
	at time.Time
	// enforced is set when the datapath follows the rules. Otherwise the switch has answered the barrier, and the cache was
	// evicted.
	enforced bool
	policies []string // UIDs
}

var realizedLine = regexp.MustCompile(`^I(\d{4} \d\d:\d\d:\d\d\.\d{6}) .*"(Realized|Enforced) NetworkPolicies" policies=\[([^\]]*)\]`)

// realizations returns those that the agent of a Node has logged since then.
func realizations(n *cluster.Node, since time.Time) (changes []realization, err error) {
	text, err := os.ReadFile(n.AgentLog())
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		m := realizedLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		at, err := time.ParseInLocation("2006 0102 15:04:05.000000", fmt.Sprint(since.Year(), " ", m[1]), time.Local)
		if err != nil {
			return nil, err
		}
		if at.After(since) {
			changes = append(changes, realization{at, m[2] == "Enforced", strings.Split(strings.ReplaceAll(m[3], `"`, ""), ",")})
		}
	}
	return changes, nil
}
