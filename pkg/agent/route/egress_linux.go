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

// SetEgressMarks replaces the sources that packets from the gateway with a mark, 1 to 254, get outside the cluster, and the subnets by which they leave; other
// Nodes may send tunnel packets to these addresses. New connections with another mark are dropped. It needs Options.Egress. After an error, all or some of the
// former marks are in force; it can be repeated. unreached says for which marks packets cannot leave by their subnet: they go nowhere.
func (c *Client) SetEgressMarks(ctx context.Context, marks map[uint8]config.EgressMark) (unreached map[uint8]error, err error) {
	for mark, meaning := range marks {
		if mark == 0 || mark == config.ServiceMark {
			return nil, fmt.Errorf("mark %d for source %s: must be 1 to %d", mark, meaning.Addr, config.ServiceMark-1)
		}
	}
	unreached = map[uint8]error{}
	return unreached, c.each(func(s *stack) error {
		failed, err := s.setEgressMarks(ctx, marks)
		maps.Copy(unreached, failed)
		if err != nil {
			return fmt.Errorf("give packets the %s source of their Egress: %w", s.family.name, err)
		}
		return nil
	})
}

// FormerEgressMarks returns the marks that Initialize has found, and keeps until SetEgressMarks.
func (c *Client) FormerEgressMarks() map[uint8]config.EgressMark {
	marks := map[uint8]config.EgressMark{}
	for _, s := range c.stacks {
		s.firewallMutex.Lock()
		maps.Copy(marks, s.firewall.params.egressMarks)
		s.firewallMutex.Unlock()
	}
	return marks
}

func (s *stack) setEgressMarks(ctx context.Context, all map[uint8]config.EgressMark) (unreached map[uint8]error, err error) {
	marks := map[uint8]config.EgressMark{}
	for mark, meaning := range all {
		if s.hasPods() && s.family.has(meaning.Addr) {
			marks[mark] = meaning
		}
	}
	s.firewallMutex.Lock()
	defer s.firewallMutex.Unlock()
	w := s.firewall
	if !w.params.egress {
		return nil, fmt.Errorf("needs the feature gate Egress, which is off")
	}
	unreached = s.setEgressSubnets(marks)
	if !maps.Equal(w.params.egressMarks, marks) {
		former, p := w.params, w.params
		p.egressMarks = marks
		w.want(p)
		if err := w.apply(ctx); err != nil {
			w.want(former)
			return nil, err
		}
	}
	return unreached, s.setNodeAddresses(egressHolder, sourcesOf(marks))
}

// keepFormerEgresses finds the marks that a former agent has left, and keeps them: new connections would get the Node's address instead.
func (s *stack) keepFormerEgresses(ctx context.Context) error {
	s.firewallMutex.Lock()
	defer s.firewallMutex.Unlock()
	w := s.firewall
	if !w.params.egress || !s.hasPods() {
		return s.family.removeEgressSubnets()
	}
	rules, err := w.rules(ctx)
	if err != nil {
		return err
	}
	p := w.params
	if p.egressMarks, err = s.withFormerSubnets(formerEgressMarks(s.family, rules[tableNAT])); err != nil {
		return err
	}
	w.want(p)
	if len(p.egressMarks) > 0 {
		klog.InfoS("Keeping the sources of Egresses for now", "family", w.family.name, "marks", p.egressMarks)
	}
	return s.setNodeAddresses(egressHolder, sourcesOf(p.egressMarks))
}

func sourcesOf(marks map[uint8]config.EgressMark) (sources []netip.Addr) {
	for _, meaning := range marks {
		sources = append(sources, meaning.Addr)
	}
	return sources
}

// formerEgressMarks reads rules of the table nat, as iptables-save(8) prints them.
func formerEgressMarks(f family, nat []string) map[uint8]config.EgressMark {
	marks := map[uint8]config.EgressMark{}
	for _, line := range nat {
		args := splitArgs(line)
		if argument(args, "-A") != chainPrefix+chainPostrouting || !leadsTo(args, []string{"SNAT"}) {
			continue
		}
		text, mask, _ := strings.Cut(argument(args, "--mark"), "/")
		mark := number(text, 0)
		addr, err := netip.ParseAddr(argument(args, "--to-source"))
		if err == nil && f.has(addr) && number(mask, 0) == egressMask && mark > 0 && mark < config.ServiceMark {
			marks[uint8(mark)] = config.EgressMark{Addr: addr}
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
		args := slices.Concat([]string{"!", "-o", p.gateway}, egressMarkMatch(mark), []string{"-j", "SNAT", "--to-source", p.egressMarks[mark].Addr.String()})
		if p.egressRandomFully {
			args = append(args, "--random-fully")
		}
		t.add(chainPrefix+chainPostrouting, egressComment, args...)
	}
}

// remotePods matches packets with sources of other Nodes' Pods that leave the cluster here, for which they have an Egress.
func (p ruleParams) remotePods() []string {
	return []string{"-i", p.gateway, "!", "-o", p.gateway, "!", "-s", p.podCIDR.String(), "-m", "set", "--match-set", p.podSet, "src"}
}

// addEgressGuard drops packets that would leave with another source than their Egress's. New connections whose mark has no source any more would get the
// Node's address: Open vSwitch's datapath follows a change of its flows only after a while. Invalid packets are not translated at all: the end of a TCP
// connection that connection tracking does not know, because the Node had the address at another time. Neither are packets of other Nodes' Pods without a
// mark, but in known connections. It must come last in its chain.
func (t *table) addEgressGuard(p ruleParams) {
	if !p.egress || !p.podCIDR.IsValid() {
		return
	}
	forward := chainPrefix + chainForward
	t.add(forward, "leave connections their sources", append(p.anyEgressMark(), "-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED", "-j", "RETURN")...)
	for _, mark := range slices.Sorted(maps.Keys(p.egressMarks)) {
		t.add(forward, "leave packets with a source", slices.Concat([]string{"-i", p.gateway}, egressMarkMatch(mark), []string{"-m", "conntrack", "--ctstate", "NEW", "-j", "RETURN"})...)
	}
	t.add(forward, "drop packets without the source of their Egress", append(p.anyEgressMark(), "-j", "DROP")...)
	t.add(forward, "drop packets of Pods of other Nodes without a source", append(p.remotePods(), "-m", "conntrack", "--ctstate", "INVALID,NEW,UNTRACKED", "-j", "DROP")...)
}
