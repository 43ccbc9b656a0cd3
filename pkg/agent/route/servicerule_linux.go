// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

const (
	// serviceTable has the route of marked packets to the bridge.
	serviceTable = 170
)

// serviceRule leads packets with the mark of Services to the bridge. It stands before the rule of the table local, or packets to an address that
// this Node has for a while, such as keepalived's, would not get there. A port range in the rule itself would spare the mark and the
// set, but the kernel compares rules one by one.
func (f family) serviceRule() *netlink.Rule {
	r := f.newRule(0, serviceTable, config.RouteProtocol)
	mask := uint32(config.ServiceMark)
	r.Mark, r.Mask = config.ServiceMark, &mask
	return r
}

func (f family) newRule(priority, table int, protocol uint8) *netlink.Rule {
	r := netlink.NewRule()
	r.Family, r.Priority, r.Table, r.Protocol = f.af, priority, table, protocol
	return r
}

// isService reports whether a rule is the one of serviceRule, whoever has made it.
func (f family) isService(r netlink.Rule) bool {
	return r.Table == serviceTable && r.Mark == config.ServiceMark && r.Mask != nil && *r.Mask == config.ServiceMark
}

// looksUpLocal reports whether all packets that meet the rule are looked up in the table local.
func looksUpLocal(r netlink.Rule) bool {
	return r.Table == unix.RT_TABLE_LOCAL && r.Mark == 0 && r.Src == nil && r.Dst == nil && r.IifName == "" && r.OifName == "" && !r.Invert
}

// spareLocal is a second rule of the table local, which is there while the first one changes its place.
func (f family) spareLocal() *netlink.Rule {
	return f.newRule(1, unix.RT_TABLE_LOCAL, config.RouteProtocol)
}

func isSpareLocal(r netlink.Rule) bool { return looksUpLocal(r) && r.Protocol == config.RouteProtocol }

// ruleStep is one change of the rules.
type ruleStep struct {
	add  bool
	rule *netlink.Rule
}

// serviceRuleSteps returns the steps that bring the rules, which are in their order, to the state in which the rule of Services comes first; wanted
// says that there should be one. The kernel puts a new rule behind the rules of its priority, and there is none before 0. So the rule of the table
// local is made again, with a spare one in its place, and has its usual priority afterwards.
func (f family) serviceRuleSteps(rules []netlink.Rule, wanted bool) (steps []ruleStep) {
	add := func(r *netlink.Rule) { steps = append(steps, ruleStep{true, r}) }
	remove := func(r *netlink.Rule) { steps = append(steps, ruleStep{false, r}) }
	own := slices.IndexFunc(rules, f.isService)
	local := slices.IndexFunc(rules, func(r netlink.Rule) bool { return looksUpLocal(r) && !isSpareLocal(r) })
	spare := slices.ContainsFunc(rules, isSpareLocal)
	if !wanted {
		if own >= 0 {
			remove(f.serviceRule())
		}
	} else if own < 0 || local >= 0 && local < own {
		if own < 0 {
			add(f.serviceRule())
		}
		if local >= 0 && rules[local].Priority == 0 {
			if !spare {
				add(f.spareLocal())
			}
			remove(f.newRule(0, unix.RT_TABLE_LOCAL, 0))
			local, spare = -1, true
		}
	}
	if local < 0 {
		add(f.newRule(0, unix.RT_TABLE_LOCAL, unix.RTPROT_KERNEL))
	}
	if spare {
		remove(f.spareLocal())
	}
	return steps
}

// syncServiceRule makes the route in the table of Services, and the rule that leads there. The caller holds mutex.
func (s *stack) syncServiceRule(link int) error {
	want := s.serviceTableRoute(link)
	have, err := rtnl.Dump(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(s.family.af, want, netlink.RT_FILTER_TABLE|netlink.RT_FILTER_OIF|netlink.RT_FILTER_GW|netlink.RT_FILTER_PROTOCOL)
	})
	if err == nil && len(have) == 0 {
		err = netlink.RouteReplace(want)
	}
	if err != nil {
		return fmt.Errorf("add the %s route of Services to table %d on link %d: %w", s.family.name, serviceTable, link, err)
	}
	return s.family.changeServiceRule(true)
}

func (f family) changeServiceRule(wanted bool) error {
	rules, err := rtnl.Dump(func() ([]netlink.Rule, error) { return netlink.RuleList(f.af) })
	if err != nil {
		return fmt.Errorf("list %s routing rules: %w", f.name, err)
	}
	for _, step := range f.serviceRuleSteps(rules, wanted) {
		do, what := netlink.RuleDel, "delete"
		if step.add {
			do, what = netlink.RuleAdd, "add"
		}
		err := do(step.rule)
		if err != nil && !(step.add && errors.Is(err, unix.EEXIST)) && !(!step.add && errors.Is(err, unix.ENOENT)) {
			return fmt.Errorf("%s %s routing rule %q: %w (needs policy routing in the kernel)", what, f.name, step.rule, err)
		}
		klog.V(2).InfoS("Changed a routing rule", "added", step.add, "rule", step.rule)
	}
	return nil
}

// serviceTableRoute leads everything that is looked up in the table of Services to the bridge.
func (s *stack) serviceTableRoute(link int) *netlink.Route {
	return &netlink.Route{Family: s.family.af, Table: serviceTable, LinkIndex: link, Gw: s.family.virtualService.AsSlice(),
		Flags: int(netlink.FLAG_ONLINK), Protocol: config.RouteProtocol}
}

// hasServiceRule reports whether there is a rule of Services or, after an interruption, a spare one.
func (f family) hasServiceRule() (bool, error) {
	rules, err := rtnl.Dump(func() ([]netlink.Rule, error) { return netlink.RuleList(f.af) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EAFNOSUPPORT) {
		return false, nil // the kernel has no policy routing, or not this IP version
	}
	if err != nil {
		return false, fmt.Errorf("list %s routing rules: %w", f.name, err)
	}
	return slices.ContainsFunc(rules, func(r netlink.Rule) bool { return f.isService(r) || isSpareLocal(r) }), nil
}
