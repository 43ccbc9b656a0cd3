// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

const (
	// egressMask are the bits of the packet mark that say which source a packet gets.
	egressMask = 0xff
	// egressHolder has the Egress addresses of this Node among the holders of addresses. No Node has that name.
	egressHolder = "Egresses of this Node"
	// egressComment is Antrea's.
	egressComment = "SNAT Pod to external packets"
)

// SetEgressMarks replaces the sources that packets from the gateway with a mark, 1 to 254, get outside the cluster; other Nodes may send
// tunnel packets to these addresses. New connections with another mark are dropped. It needs Options.Egress. After an error, all or some of the
// former marks are in force; it can be repeated.
func (c *Client) SetEgressMarks(ctx context.Context, marks map[uint8]netip.Addr) error {
	for mark, addr := range marks {
		if mark == 0 || mark == config.ServiceMark {
			return fmt.Errorf("mark %d for source %s: must be 1 to %d", mark, addr, config.ServiceMark-1)
		}
	}
	return c.each(func(s *stack) error {
		if err := s.setEgressMarks(ctx, marks); err != nil {
			return fmt.Errorf("give packets the %s source of their Egress: %w", s.family.name, err)
		}
		return nil
	})
}

// FormerEgressMarks returns the marks that Initialize has found, and keeps until SetEgressMarks.
func (c *Client) FormerEgressMarks() map[uint8]netip.Addr {
	marks := map[uint8]netip.Addr{}
	for _, s := range c.stacks {
		s.firewallMutex.Lock()
		maps.Copy(marks, s.firewall.params.egressMarks)
		s.firewallMutex.Unlock()
	}
	return marks
}

func (s *stack) setEgressMarks(ctx context.Context, all map[uint8]netip.Addr) error {
	marks := map[uint8]netip.Addr{}
	for mark, addr := range all {
		if s.hasPods() && s.family.has(addr) {
			marks[mark] = addr
		}
	}
	s.firewallMutex.Lock()
	defer s.firewallMutex.Unlock()
	w := s.firewall
	if !w.params.egress {
		return fmt.Errorf("needs the feature gate Egress, which is off")
	}
	if !maps.Equal(w.params.egressMarks, marks) {
		former, p := w.params, w.params
		p.egressMarks = marks
		w.want(p)
		if err := w.apply(ctx); err != nil {
			w.want(former)
			return err
		}
	}
	return s.setNodeAddresses(egressHolder, slices.Collect(maps.Values(marks)))
}

// keepFormerEgresses finds the marks that a former agent has left, and keeps them: new connections would get the Node's address instead.
func (s *stack) keepFormerEgresses(ctx context.Context) error {
	s.firewallMutex.Lock()
	defer s.firewallMutex.Unlock()
	w := s.firewall
	if !w.params.egress || !s.hasPods() {
		return nil
	}
	rules, err := w.rules(ctx)
	if err != nil {
		return err
	}
	p := w.params
	p.egressMarks = formerEgressMarks(s.family, rules[tableNAT])
	w.want(p)
	if len(p.egressMarks) > 0 {
		klog.InfoS("Keeping the sources of Egresses for now", "family", w.family.name, "marks", p.egressMarks)
	}
	return s.setNodeAddresses(egressHolder, slices.Collect(maps.Values(p.egressMarks)))
}

// formerEgressMarks reads rules of the table nat, as iptables-save(8) prints them.
func formerEgressMarks(f family, nat []string) map[uint8]netip.Addr {
	marks := map[uint8]netip.Addr{}
	for _, line := range nat {
		args := splitArgs(line)
		if argument(args, "-A") != chainPrefix+chainPostrouting || !leadsTo(args, []string{"SNAT"}) {
			continue
		}
		text, mask, _ := strings.Cut(argument(args, "--mark"), "/")
		mark := number(text, 0)
		addr, err := netip.ParseAddr(argument(args, "--to-source"))
		if err == nil && f.has(addr) && number(mask, 0) == egressMask && mark > 0 && mark < config.ServiceMark {
			marks[uint8(mark)] = addr
		}
	}
	return marks
}

func egressMarkMatch(mark uint8) []string {
	return []string{"-m", "mark", "--mark", fmt.Sprintf("%#x/%#x", mark, egressMask)}
}

// anyEgressMark matches packets from Pods that must get a source.
func (p ruleParams) anyEgressMark() []string {
	return []string{"-i", p.gateway, "-m", "mark", "!", "--mark", fmt.Sprintf("0x0/%#x", egressMask)}
}

// addEgressSources gives packets their sources. It must come before the rules that masquerade.
func (t *table) addEgressSources(p ruleParams) {
	for _, mark := range slices.Sorted(maps.Keys(p.egressMarks)) {
		args := slices.Concat([]string{"!", "-o", p.gateway}, egressMarkMatch(mark), []string{"-j", "SNAT", "--to-source", p.egressMarks[mark].String()})
		if p.egressRandomFully {
			args = append(args, "--random-fully")
		}
		t.add(chainPrefix+chainPostrouting, egressComment, args...)
	}
}

// addEgressGuard drops new connections whose mark has no source any more: Open vSwitch's datapath follows a change of its flows only after a
// while, and the connections would get the Node's address. It must come last in its chain.
func (t *table) addEgressGuard(p ruleParams) {
	if !p.egress || !p.podCIDR.IsValid() {
		return
	}
	forward := chainPrefix + chainForward
	t.add(forward, "leave connections their sources", append(p.anyEgressMark(), "-m", "conntrack", "!", "--ctstate", "NEW", "-j", "RETURN")...)
	for _, mark := range slices.Sorted(maps.Keys(p.egressMarks)) {
		t.add(forward, "leave packets with a source", slices.Concat([]string{"-i", p.gateway}, egressMarkMatch(mark), []string{"-j", "RETURN"})...)
	}
	t.add(forward, "drop packets without the source of their Egress", append(p.anyEgressMark(), "-j", "DROP")...)
}
