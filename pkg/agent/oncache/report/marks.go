// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
)

// namedRules limits the rules that the problem names.
const namedRules = 3

// ForeignMarks makes a problem of rules of other programs that change the bits of the packet mark which the cache uses.
func ForeignMarks(problems problem.Reporter) route.ForeignMarks {
	return route.ForeignMarks{Bits: oncache.PacketMark, Found: func(program string, rules []string) {
		subject := problem.Subject{Kind: problem.KindFirewall, Name: program}
		if len(rules) == 0 {
			problems.Resolve(oncache.ReasonPacketMarkShared, subject)
			return
		}
		more := ""
		if len(rules) > namedRules {
			more = fmt.Sprintf(" and %d more", len(rules)-namedRules)
		}
		problems.Report(oncache.ReasonPacketMarkShared, subject, fmt.Sprintf("rules of %s change bits of the packet mark that ONCache needs (%#x): %s%s. "+
			"Packets that they match stay on the slow path, and of the mark that they set, these bits may get lost: give them a mask of other bits",
			program, oncache.PacketMark, strings.Join(rules[:min(len(rules), namedRules)], "; "), more))
	}}
}
