// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

const (
	// The tables of subnets of Egress addresses are Antrea's: one for each subnet.
	firstEgressTable, lastEgressTable = 101, 120
	// egressPriority is the priority of the rules that lead there: before the Node's own.
	egressPriority = 100
	// noRouteMetric is the metric of the route that is left when the device of a subnet goes. Without it, packets would leave by the Node's own routes.
	noRouteMetric = math.MaxInt32
)

// egressSubnets leads packets with the marks of Egresses to the subnets of their sources.
type egressSubnets struct {
	// known is set once marks are: before that, what a former agent has left stays.
	known  bool
	marks  map[uint8]config.EgressMark
	tables map[config.EgressSubnet]int
	// addRule is netlink.RuleAdd but in tests.
	addRule func(*netlink.Rule) error
}

// setEgressSubnets changes the marks. Rules and tables that cannot be removed now harm no packet: Upkeep tries again.
func (s *stack) setEgressSubnets(marks map[uint8]config.EgressMark) (unreached map[uint8]error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.egress.known, s.egress.marks = true, marks
	unreached, err := s.syncEgressSubnets()
	if err != nil {
		klog.ErrorS(err, "Routing rules or tables of former Egress addresses stay for now", "family", s.family.name)
	}
	return unreached
}

// syncEgressSubnets makes tables and rules for the marks, and removes others. unreached says for which marks it has failed; cleanUp is the error of removals,
// which harms no packet. The caller holds mutex.
func (s *stack) syncEgressSubnets() (unreached map[uint8]error, cleanUp error) {
	unreached = map[uint8]error{}
	if !s.egress.known {
		return unreached, nil
	}
	have, err := s.family.egressRules()
	wanted, used := map[uint8]int{}, map[config.EgressSubnet]bool{}
	for _, mark := range slices.Sorted(maps.Keys(s.egress.marks)) {
		subnet := s.egress.marks[mark].Subnet
		if !subnet.IsSeparate() {
			continue
		}
		used[subnet] = true
		table, tableErr := 0, err
		if err == nil {
			table, tableErr = s.egressTable(subnet, have)
		}
		if tableErr == nil {
			wanted[mark] = table
			tableErr = errors.Join(s.syncEgressTable(table, subnet), s.addEgressRule(mark, table, have))
		}
		if tableErr != nil {
			unreached[mark] = fmt.Errorf("subnet %s: %w", subnet, tableErr)
		}
	}
	if err != nil {
		return unreached, err
	}
	errs := []error{s.family.removeEgressRules(have, wanted)}
	freed := false
	for subnet, table := range s.egress.tables {
		if used[subnet] {
			continue
		}
		if err := s.family.clearTable(table); err != nil {
			errs = append(errs, err)
			continue
		}
		delete(s.egress.tables, subnet)
		freed = true
	}
	if err := errors.Join(errs...); err != nil || !freed || len(unreached) == 0 {
		return unreached, err
	}
	return s.syncEgressSubnets() // there may be a table now
}

// repairEgressSubnets returns all errors as one.
func (s *stack) repairEgressSubnets() error {
	unreached, err := s.syncEgressSubnets()
	return errors.Join(append(slices.Collect(maps.Values(unreached)), err)...)
}

// egressTable returns the table of a subnet, a free one if it has none. rules are the rules that are there.
func (s *stack) egressTable(subnet config.EgressSubnet, rules []netlink.Rule) (int, error) {
	if table, ok := s.egress.tables[subnet]; ok {
		return table, nil
	}
	taken := slices.Collect(maps.Values(s.egress.tables))
	foreign := 0
	for table := firstEgressTable; table <= lastEgressTable; table++ {
		if slices.Contains(taken, table) {
			continue
		}
		routes, err := s.family.routesOf(table)
		if err != nil {
			return 0, err
		}
		if isForeignTable(table, rules, routes) {
			foreign++
			continue
		}
		if err := deleteRoutes(routes); err != nil {
			return 0, err
		}
		s.egress.tables[subnet] = table
		return table, nil
	}
	return 0, fmt.Errorf("of the routing tables %d to %d, %d have Egress addresses in other subnets and %d have routes or rules of other programs: none is free",
		firstEgressTable, lastEgressTable, len(taken), foreign)
}

// isForeignTable reports whether other programs use a table: it may have no routes now because their device is down.
func isForeignTable(table int, rules []netlink.Rule, routes []netlink.Route) bool {
	foreign := slices.ContainsFunc(routes, func(r netlink.Route) bool { return r.Protocol != config.RouteProtocol })
	for _, r := range rules {
		if r.Table == table && isOwnEgressRule(r) {
			return false
		}
		foreign = foreign || r.Table == table
	}
	return foreign
}

// syncEgressTable makes the routes of a table. The last one is there first.
func (s *stack) syncEgressTable(table int, subnet config.EgressSubnet) error {
	everywhere := &net.IPNet{IP: make(net.IP, subnet.Gateway.Addr().BitLen()/8), Mask: net.CIDRMask(0, subnet.Gateway.Addr().BitLen())}
	routes := []*netlink.Route{{Family: s.family.af, Dst: everywhere, Table: table, Type: unix.RTN_UNREACHABLE, Priority: noRouteMetric, Protocol: config.RouteProtocol}}
	link, err := gatewayLink(subnet.Link(s.uplink))
	if err == nil {
		routes = append(routes,
			&netlink.Route{Family: s.family.af, Dst: toIPNet(subnet.Gateway.Masked()), LinkIndex: link, Scope: netlink.SCOPE_LINK, Table: table, Protocol: config.RouteProtocol},
			&netlink.Route{Family: s.family.af, Dst: everywhere, Gw: subnet.Gateway.Addr().AsSlice(), LinkIndex: link, Table: table, Protocol: config.RouteProtocol})
	}
	have, listErr := s.family.routesOf(table)
	if listErr != nil {
		return listErr
	}
	for _, want := range routes {
		if slices.ContainsFunc(have, func(r netlink.Route) bool { return sameEgressRoute(&r, want) }) {
			continue
		}
		if err := netlink.RouteReplace(want); err != nil {
			return fmt.Errorf("add route %s to table %d: %w", want, table, err)
		}
	}
	return err
}

func sameEgressRoute(have, want *netlink.Route) bool {
	destination := func(r *netlink.Route) netip.Prefix {
		if r.Dst == nil {
			return netip.Prefix{}
		}
		if p := fromIPNet(r.Dst); p.Bits() > 0 {
			return p
		}
		return netip.Prefix{}
	}
	unreachable := want.Type == unix.RTN_UNREACHABLE
	return destination(have) == destination(want) && (have.Type == unix.RTN_UNREACHABLE) == unreachable && have.Gw.Equal(want.Gw) &&
		(unreachable || have.LinkIndex == want.LinkIndex)
}

// routesOf returns the routes of a table.
func (f family) routesOf(table int) ([]netlink.Route, error) {
	routes, err := rtnl.Dump(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(f.af, &netlink.Route{Table: table}, netlink.RT_FILTER_TABLE)
	})
	if err != nil {
		return nil, fmt.Errorf("list the %s routes of table %d: %w", f.name, table, err)
	}
	return routes, nil
}

// clearTable deletes the agent's routes of a table.
func (f family) clearTable(table int) error {
	routes, err := f.routesOf(table)
	if err != nil {
		return err
	}
	return deleteRoutes(slices.DeleteFunc(routes, func(r netlink.Route) bool { return r.Protocol != config.RouteProtocol }))
}

func deleteRoutes(routes []netlink.Route) error {
	var errs []error
	for _, r := range routes {
		errs = append(errs, deleteRoute(&r))
	}
	return errors.Join(errs...)
}

// egressRules returns the rules that lead to the tables of Egresses, whoever has made them.
func (f family) egressRules() ([]netlink.Rule, error) {
	rules, err := rtnl.Dump(func() ([]netlink.Rule, error) { return netlink.RuleList(f.af) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EAFNOSUPPORT) {
		return nil, nil // the kernel has no policy routing, or not this IP version
	}
	if err != nil {
		return nil, fmt.Errorf("list %s routing rules: %w", f.name, err)
	}
	return slices.DeleteFunc(rules, func(r netlink.Rule) bool { return r.Table < firstEgressTable || r.Table > lastEgressTable }), nil
}

// hasEgressMark reports whether a rule is for packets with the mark of an Egress.
func hasEgressMark(r netlink.Rule) bool { return r.Mask != nil && *r.Mask == egressMask && r.Mark != 0 }

// isOwnEgressRule reports whether an agent has made the rule.
func isOwnEgressRule(r netlink.Rule) bool {
	return hasEgressMark(r) && r.Protocol == config.RouteProtocol
}

func (f family) egressRule(mark uint8, table int) *netlink.Rule {
	r := f.newRule(egressPriority, table, config.RouteProtocol)
	mask := uint32(egressMask)
	r.Mark, r.Mask = uint32(mark), &mask
	return r
}

// addEgressRule leads packets with a mark to a table, unless a rule does.
func (s *stack) addEgressRule(mark uint8, table int, have []netlink.Rule) error {
	if slices.ContainsFunc(have, func(r netlink.Rule) bool { return isEgressRule(&r, mark, table) }) {
		return nil
	}
	if err := s.egress.addRule(s.family.egressRule(mark, table)); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add the %s routing rule of mark %d to table %d: %w (needs policy routing in the kernel)", s.family.name, mark, table, err)
	}
	return nil
}

func isEgressRule(r *netlink.Rule, mark uint8, table int) bool {
	return r.Priority == egressPriority && isOwnEgressRule(*r) && r.Mark == uint32(mark) && r.Table == table
}

// removeEgressRules removes the agent's other rules, and foreign ones that would lead packets with its marks elsewhere.
func (f family) removeEgressRules(have []netlink.Rule, wanted map[uint8]int) error {
	return f.deleteRules(slices.DeleteFunc(slices.Clone(have), func(r netlink.Rule) bool {
		table, used := wanted[uint8(r.Mark)]
		return !hasEgressMark(r) || used && isEgressRule(&r, uint8(r.Mark), table) || !used && r.Protocol != config.RouteProtocol
	}))
}

func (f family) deleteRules(rules []netlink.Rule) error {
	var errs []error
	for _, r := range rules {
		r.Family = f.af
		if err := netlink.RuleDel(&r); err != nil && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, fmt.Errorf("delete the %s routing rule %s: %w", f.name, r, err))
		}
	}
	return errors.Join(errs...)
}

// ownEgressRules returns the rules that an agent has made.
func (f family) ownEgressRules() ([]netlink.Rule, error) {
	rules, err := f.egressRules()
	return slices.DeleteFunc(rules, func(r netlink.Rule) bool { return !isOwnEgressRule(r) }), err
}

// removeEgressSubnets removes what a former agent has left.
func (f family) removeEgressSubnets() error {
	rules, err := f.ownEgressRules()
	if err != nil {
		return err
	}
	errs := []error{f.deleteRules(rules)}
	for table := firstEgressTable; table <= lastEgressTable; table++ {
		errs = append(errs, f.clearTable(table))
	}
	return errors.Join(errs...)
}

// withFormerSubnets adds the subnets of marks that a former agent has left.
func (s *stack) withFormerSubnets(marks map[uint8]config.EgressMark) (map[uint8]config.EgressMark, error) {
	rules, err := s.family.ownEgressRules()
	if err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, r := range rules {
		meaning, ok := marks[uint8(r.Mark)]
		if !ok {
			continue
		}
		routes, err := s.family.routesOf(r.Table)
		if err != nil {
			return nil, err
		}
		if subnet, ok := subnetOf(routes); ok {
			meaning.Subnet, s.egress.tables[subnet] = subnet, r.Table
			marks[uint8(r.Mark)] = meaning
		}
	}
	return marks, nil
}

// subnetOf reads the routes of a table; ok is false if it is not one of a subnet.
func subnetOf(routes []netlink.Route) (subnet config.EgressSubnet, ok bool) {
	for _, to := range routes {
		gateway, hasGateway := netip.AddrFromSlice(to.Gw)
		for _, local := range routes {
			if !hasGateway || local.Dst == nil || local.LinkIndex != to.LinkIndex || local.Gw != nil || !fromIPNet(local.Dst).Contains(gateway.Unmap()) {
				continue
			}
			link, err := netlink.LinkByIndex(to.LinkIndex)
			if err != nil {
				return subnet, false
			}
			subnet.Gateway = netip.PrefixFrom(gateway.Unmap(), fromIPNet(local.Dst).Bits())
			subnet.VLAN, _ = config.EgressVLAN(link.Attrs().Name)
			return subnet, true
		}
	}
	return subnet, false
}
