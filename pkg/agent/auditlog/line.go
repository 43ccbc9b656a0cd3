// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

const (
	// timeFormat is the format of the time of a line.
	timeFormat = "2006/01/02 15:04:05.000000"
	// none stands for what an entry does not have.
	none = "<nil>"
	// noPolicy stands in place of a policy for the isolation that all policies of a Pod cause together.
	noPolicy = "K8sNetworkPolicy"
)

var protocols = map[uint8]string{
	ippacket.ICMP: "ICMP", ippacket.TCP: "TCP", ippacket.UDP: "UDP", ippacket.ICMPv6: "ICMPv6", ippacket.SCTP: "SCTP",
}

// line returns a line of the log without its time: table, policy, name of the rule, direction, action, OpenFlow priority, Pod to which
// the policy is applied, source address and port, destination address and port, protocol, length of the IP packet, label of the rule.
// Rules of Kubernetes have neither name nor label.
func line(decision *openflow.PolicyPacket, pod string, packet *ippacket.Packet) string {
	policy, priority, name, label := noPolicy, none, none, none
	if decision.FlowID != 0 || decision.Reference != "" {
		policy = cmp.Or(decision.Reference, none)
	}
	if decision.Priority != 0 {
		priority = fmt.Sprint(decision.Priority)
	}
	if rule := decision.Rule; rule != nil {
		name, label = field(rule.Name), field(rule.LogLabel)
	}
	srcPort, dstPort := none, none
	if src, dst, ok := packet.Ports(); ok && packet.Protocol != ippacket.SCTP {
		srcPort, dstPort = fmt.Sprint(src), fmt.Sprint(dst)
	}
	protocol, ok := protocols[packet.Protocol]
	if !ok {
		protocol = fmt.Sprint(packet.Protocol)
	}
	return fmt.Sprintf("%s %s %s %v %v %s %s %v %s %v %s %s %d %s", decision.Table, policy, name, decision.Direction, decision.Action, priority, pod,
		packet.Src, srcPort, packet.Dst, dstPort, protocol, len(packet.IP), label)
}

// maxField is the number of bytes of a user's text in a line.
const maxField = 253

// field returns a text of the user so that it stays in its line, with spaces instead of control characters.
func field(text string) string {
	if len(text) > maxField {
		text = strings.ToValidUTF8(text[:maxField], "")
	}
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, text)
	return cmp.Or(text, none)
}

// suppressedLine returns a line, in the same format, in place of those beyond a share.
func suppressedLine(direction policy.Direction, pod string) string {
	return fmt.Sprintf("%s %s %s %v Suppressed %s %s %s %s %s %s %s 0 %s", none, none, none, direction, none, pod, none, none, none, none, none, none)
}
