// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepair

import (
	"fmt"

	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
)

// Marker is the netfilter rule of a Node that says which packets may teach the cache: it writes an epoch into the mark of
// every forwarded packet of an established connection, as Open vSwitch's flows do (appendix B.2 of the ONCache paper does this with
// DSCP bits). It is the chain's first rule, because other rules accept packets.
type Marker struct {
	In   proc.Doer
	IPv6 bool
	// Of are conditions of iptables. The rule is for packets that meet one of them; nil for all packets.
	Of []string

	rule string
}

// Marker returns the rule of a Node of such a pair.
func (o Options) Marker(host proc.Doer) *Marker {
	m := &Marker{In: host, IPv6: o.Inner6}
	if o.Direct {
		m.Of = []string{"-i " + PodIf, "-i " + SwitchIf} // the host also forwards them, unlike Open vSwitch
	}
	return m
}

// Firewall is the program that changes netfilter's rules for one IP version.
func Firewall(ipv6 bool) string {
	if ipv6 {
		return "ip6tables"
	}
	return "iptables"
}

// Mark replaces the rule by one that writes this epoch (1 to 511). Epoch 0 removes the rule, so nothing is learned.
func (m *Marker) Mark(epoch uint32) error {
	conditions := m.Of
	if conditions == nil {
		conditions = []string{""}
	}
	rule := func(action, mark string) (script string) {
		for _, condition := range conditions {
			script += fmt.Sprintf("%s -w -%s FORWARD %s -m conntrack --ctstate ESTABLISHED -j MARK --set-xmark %s\n", Firewall(m.IPv6), action, condition, mark)
		}
		return script
	}
	wanted := ""
	if epoch != 0 {
		wanted = fmt.Sprintf("%#x/0x3ff00000", epoch<<20)
		if err := Run(m.In, rule("I", wanted)); err != nil {
			return err
		}
	}
	if m.rule != "" {
		if err := Run(m.In, rule("D", m.rule)); err != nil {
			return err
		}
	}
	m.rule = wanted
	return nil
}
