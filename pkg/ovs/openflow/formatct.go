// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"net/netip"
	"strings"
)

func ctText(a CT) string {
	var parts []string
	if a.Commit {
		parts = append(parts, "commit")
	}
	if a.Force {
		parts = append(parts, "force")
	}
	if a.Table != 0 {
		parts = append(parts, fmt.Sprintf("table=%d", a.Table))
	}
	switch {
	case a.ZoneField != 0:
		parts = append(parts, "zone="+subfield(a.ZoneField, a.ZoneRange))
	case a.Zone != 0:
		parts = append(parts, fmt.Sprintf("zone=%d", a.Zone))
	}
	switch {
	case a.NATTo != nil:
		parts = append(parts, natText(a.NATTo))
	case a.NAT:
		parts = append(parts, "nat")
	}
	if len(a.Exec) > 0 {
		parts = append(parts, "exec("+joinActions(a.Exec)+")")
	}
	if len(parts) == 0 {
		return "ct"
	}
	return "ct(" + strings.Join(parts, ",") + ")"
}

// natText formats "nat(src=10.0.0.1-10.0.0.9:1000-2000,random)"; an IPv6 address with ports is in brackets.
func natText(n *NATTo) string {
	var b strings.Builder
	b.WriteString("nat(dst")
	if n.Source {
		b.Reset()
		b.WriteString("nat(src")
	}
	address := func(ip netip.Addr) string {
		if ip = ip.Unmap(); ip.Is6() && n.FirstPort != 0 {
			return "[" + ip.String() + "]"
		}
		return ip.String()
	}
	if n.First.IsValid() {
		b.WriteString("=" + address(n.First))
	}
	if n.Last.IsValid() {
		b.WriteString("-" + address(n.Last))
	}
	if n.FirstPort != 0 {
		fmt.Fprintf(&b, ":%d", n.FirstPort)
	}
	if n.LastPort != 0 {
		fmt.Fprintf(&b, "-%d", n.LastPort)
	}
	for _, flag := range []struct {
		set  bool
		text string
	}{{n.Persistent, ",persistent"}, {n.Hash, ",hash"}, {n.Random, ",random"}} {
		if flag.set {
			b.WriteString(flag.text)
		}
	}
	return b.String() + ")"
}

// defaultPriority is the priority that ovs-ofctl does not print in a learn action (OFP_DEFAULT_PRIORITY).
const defaultPriority = 32768

func learnText(a Learn) string {
	parts := []string{fmt.Sprintf("table=%d", a.Table)}
	number := func(name string, value uint16) {
		if value != 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", name, value))
		}
	}
	number("idle_timeout", a.IdleTimeout)
	number("hard_timeout", a.HardTimeout)
	number("fin_idle_timeout", a.FinIdleTimeout)
	number("fin_hard_timeout", a.FinHardTimeout)
	if a.Priority != defaultPriority {
		parts = append(parts, fmt.Sprintf("priority=%d", a.Priority))
	}
	if a.SendFlowRemoved {
		parts = append(parts, "send_flow_rem")
	}
	if a.DeleteLearned {
		parts = append(parts, "delete_learned")
	}
	if a.Cookie != 0 {
		parts = append(parts, fmt.Sprintf("cookie=%#x", a.Cookie))
	}
	if a.Limit != 0 {
		parts = append(parts, fmt.Sprintf("limit=%d", a.Limit))
	}
	for i := range a.Specs {
		parts = append(parts, learnSpecText(&a.Specs[i]))
	}
	return "learn(" + strings.Join(parts, ",") + ")"
}

func learnSpecText(s *LearnSpec) string {
	source := hex(s.Value)
	if s.Src != 0 {
		source = subfield(s.Src, s.SrcRange)
	}
	switch s.Kind {
	case LearnOutput:
		return "output:" + source
	case LearnLoad:
		return "load:" + source + "->" + subfield(s.Dst, s.DstRange)
	}
	spec := s.Dst.spec()
	switch {
	case s.Src != 0 && s.Src == s.Dst && s.SrcRange == s.DstRange:
		return source
	case s.Src == 0 && spec != nil && s.DstRange == spec.whole() && len(s.Value) == spec.bytes():
		if s.Dst == FieldEthType {
			return spec.name + "=" + hex(s.Value)
		}
		return spec.name + "=" + spec.text(s.Value, nil)
	}
	return subfield(s.Dst, s.DstRange) + "=" + source
}
