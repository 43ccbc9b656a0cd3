// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/leftover"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

const (
	// setBusyTimeout limits the time that a set may be in use after the last rule that matches it has gone: the kernel frees rules later.
	setBusyTimeout  = 5 * time.Second
	setBusyInterval = 50 * time.Millisecond
)

// Leftovers finds the routing rules, the iptables chains, with their rules and the jumps to them, and the ipsets that a Client of any configuration has made
// in the current network namespace, and its routes. Neighbors and addresses are not listed: they go with the gateway port.
func Leftovers(ctx context.Context) ([]leftover.Item, error) {
	var found []leftover.Item
	for _, f := range []family{familyIPv4, familyIPv6} {
		has, err := f.hasServiceRule()
		if err != nil {
			return nil, err
		}
		if has {
			found = append(found, leftover.Item{Name: f.name + " routing rule of Services", Remove: func() error { return f.changeServiceRule(false) }})
		}
		rules, err := f.ownEgressRules()
		if err != nil {
			return nil, err
		}
		if len(rules) > 0 {
			found = append(found, leftover.Item{Name: fmt.Sprintf("%d %s routing rules of Egresses", len(rules), f.name), Remove: func() error { return f.deleteRules(rules) }})
		}
		routes, err := f.leftoverRoutes()
		if err != nil {
			return nil, err
		}
		found = append(found, routes...)
		chains, err := f.leftoverChains(ctx)
		if err != nil {
			return nil, err
		}
		found = append(found, chains...)
	}
	sets, err := leftoverSets()
	return append(found, sets...), err
}

// leftoverRoutes finds the routes with the agent's protocol number, in whatever table.
func (f family) leftoverRoutes() ([]leftover.Item, error) {
	filter := &netlink.Route{Protocol: config.RouteProtocol, Table: unix.RT_TABLE_UNSPEC}
	routes, err := rtnl.Dump(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(f.af, filter, netlink.RT_FILTER_PROTOCOL|netlink.RT_FILTER_TABLE)
	})
	if errors.Is(err, unix.EAFNOSUPPORT) || err == nil && len(routes) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s routes: %w", f.name, err)
	}
	return []leftover.Item{{
		Name: fmt.Sprintf("%d %s routes", len(routes), f.name),
		Remove: func() error {
			var errs []error
			for _, r := range routes {
				errs = append(errs, deleteRoute(&r))
			}
			return errors.Join(errs...)
		},
	}}, nil
}

// leftoverChains are the chains of all implementations of iptables.
func (f family) leftoverChains(ctx context.Context) (found []leftover.Item, err error) {
	for _, v := range f.variants() {
		saved, err := f.saved(ctx, v)
		if err != nil {
			return nil, err
		}
		for _, t := range leftoverTables(saved) {
			found = append(found, leftover.Item{
				Name:   fmt.Sprintf("%s chains %s of table %s, and %d rules in them or leading to them", f.program(v, ""), strings.Join(t.chains, ", "), t.name, t.rules),
				Remove: func() error { return f.remove(ctx, v, t) },
			})
		}
	}
	return found, nil
}

func (f family) protocolName() string { return strings.TrimSuffix(f.saveProgram, "-save") }

// leftoverTable is one table with chains of ours. Removal is the input of "iptables-restore --noflush" that removes all of it at once.
type leftoverTable struct {
	name    string
	chains  []string
	rules   int
	removal string
}

// leftoverTables reads the output of iptables-save(8). Our chains have the prefix ANTREA-, from whatever version.
func leftoverTables(saved string) (found []leftoverTable) {
	rules := rulesByTable(saved)
	name := ""
	chains := map[string][]string{}
	var order []string
	for line := range strings.Lines(saved) {
		if table, ok := strings.CutPrefix(strings.TrimSpace(line), "*"); ok {
			name = table
		} else if chain, ok := strings.CutPrefix(line, ":"+chainPrefix); ok {
			if chains[name] == nil {
				order = append(order, name)
			}
			chain, _, _ = strings.Cut(chain, " ")
			chains[name] = append(chains[name], chainPrefix+chain)
		}
	}
	for _, name := range order {
		found = append(found, removalOf(name, chains[name], rules[name]))
	}
	return found
}

func removalOf(name string, chains, rules []string) leftoverTable {
	t := leftoverTable{name: name, chains: chains}
	var b strings.Builder
	fmt.Fprintf(&b, "*%s\n", name)
	for _, chain := range chains {
		fmt.Fprintf(&b, ":%s - [0:0]\n", chain) // empties it
	}
	for _, line := range rules {
		args := splitArgs(line)
		if slices.Contains(chains, args[1]) {
			t.rules++
		} else if leadsTo(args, chains) {
			t.rules++
			b.WriteString("-D" + strings.TrimPrefix(line, "-A") + "\n")
		}
	}
	for _, chain := range chains {
		fmt.Fprintf(&b, "-X %s\n", chain)
	}
	b.WriteString("COMMIT\n")
	t.removal = b.String()
	return t
}

// leadsTo reports whether a rule jumps to one of the chains. A comment may also be "-j".
func leadsTo(args, chains []string) bool {
	for i, arg := range args[:len(args)-1] {
		if (arg == "-j" || arg == "-g") && slices.Contains(chains, args[i+1]) {
			return true
		}
	}
	return false
}

// leftoverSets finds nothing where the kernel has no ipsets.
func leftoverSets() ([]leftover.Item, error) {
	var all []netlink.IPSetResult
	err := ipsetCall(func() (err error) { all, err = netlink.IpsetListAll(); return err })
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil, nil // see explainIPSet
	}
	if err != nil {
		return nil, fmt.Errorf("list ipsets: %w", explainIPSet(err))
	}
	var found []leftover.Item
	for _, set := range all {
		if strings.HasPrefix(set.SetName, chainPrefix) {
			found = append(found, leftover.Item{Name: "ipset " + set.SetName, Remove: func() error { return destroySet(set.SetName) }})
		}
	}
	return found, nil
}

func destroySet(name string) error {
	for deadline := time.Now().Add(setBusyTimeout); ; time.Sleep(setBusyInterval) {
		err := ipsetCall(func() error { return netlink.IpsetDestroy(name) })
		switch {
		case err == nil || errors.Is(err, unix.ENOENT):
			return nil
		case !errors.Is(err, nl.IPSetError(nl.IPSET_ERR_BUSY)) || time.Now().After(deadline):
			return fmt.Errorf("destroy ipset %s: %w", name, explainIPSet(err))
		}
	}
}
