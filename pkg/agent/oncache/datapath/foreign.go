// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
)

// unshaped are root qdiscs that neither delay nor drop on purpose. Bypassing them violates no configuration.
var unshaped = []string{"noqueue", "pfifo_fast", "pfifo", "fq_codel", "fq", "mq"}

// Bypassed names foreign objects on an interface that a packet of the slow path meets and a packet of the fast path would bypass: TC
// filters and programs behind the point where a hit leaves, and on a Pod's interface everything on egress, which bpf_redirect_peer
// skips. On the gateway's interface, hits of Egress leave at its egress hook, and hits of Ingress pass everything that packets of the
// slow path pass; but with Direct, packets between Pods and the uplink pass this interface both ways on the slow path, and hits do not meet it at
// all. Programs that run before ours are not affected otherwise. Programs at the same hook as ours are not listed: Attach takes the
// last place, and InPlace reports when it is lost.
//
// It does not see chains of netfilter's netdev family and packet sockets; see docs/design/oncache-hooks.md, "Coexistence".
func (d *Datapath) Bypassed(ifindex int, role Role) ([]string, error) {
	device, err := netlink.LinkByIndex(ifindex)
	if err != nil {
		return nil, fmt.Errorf("find interface index %d: %w", ifindex, err)
	}
	qdiscs, err := qdiscsOf(device)
	if err != nil {
		return nil, err
	}
	var out []string
	note := func(found []string, err2 error) { out, err = append(out, found...), errors.Join(err, err2) }
	if role == RoleNetkitPod || d.passesBy(role) {
		if x := device.Attrs().Xdp; x != nil && x.Attached {
			note([]string{fmt.Sprintf("XDP program %d", x.ProgId)}, nil)
		}
		note(d.tcxPrograms(ifindex, ebpf.AttachTCXIngress))
	}
	for _, q := range qdiscs {
		if q.Type() != "clsact" && q.Type() != "ingress" {
			continue
		}
		if role != RoleGateway || d.passesBy(role) {
			note(d.filtersBehind(device, role, ebpf.AttachTCXIngress))
		}
		if role != RoleUplink && q.Type() == "clsact" {
			note(d.filtersBehind(device, role, ebpf.AttachTCXEgress))
		}
	}
	if role == RolePod || role == RoleNetkitPod || d.passesBy(role) {
		note(d.tcxPrograms(ifindex, ebpf.AttachTCXEgress))
	}
	if role != RoleUplink {
		note(shapers(qdiscs), nil)
	}
	return out, err
}

// passesBy reports whether some hits do not meet an interface of the role at all.
func (d *Datapath) passesBy(role Role) bool { return role == RoleGateway && d.opts.Direct }

// tcxPrograms names other owners' programs at a TCX hook.
func (d *Datapath) tcxPrograms(ifindex int, attach ebpf.AttachType) ([]string, error) {
	if d.hook != HookTCX {
		return nil, nil
	}
	result, err := link.QueryPrograms(link.QueryOptions{Target: ifindex, Attach: attach})
	if err != nil {
		return nil, fmt.Errorf("list programs of interface index %d: %w", ifindex, err)
	}
	var out []string
	for _, p := range result.Programs {
		if name := programName(p.ID); !strings.HasPrefix(name, clsactPrefix) {
			out = append(out, fmt.Sprintf("TCX program %s (id %d)", name, p.ID))
		}
	}
	return out, nil
}

// filtersBehind names other owners' filters that a hit does not meet. Where hits leave from a filter of ours, these are the
// filters with a greater priority number.
func (d *Datapath) filtersBehind(device netlink.Link, role Role, attach ebpf.AttachType) ([]string, error) {
	filters, err := filtersAt(device, clsactParent(attach))
	if err != nil {
		return nil, err
	}
	before := uint16(0) // filters of a smaller priority number run before a hit leaves
	leaves := slices.ContainsFunc(d.programs(role), func(p program) bool { return p.redirects && p.attach == attach })
	if leaves && d.hook == HookClsact && !d.passesBy(role) {
		before = clsactPriority
	}
	var out []string
	for _, f := range filters {
		if isOurs(f) || f.Attrs().Priority < before {
			continue
		}
		direction := "ingress"
		if attach == ebpf.AttachTCXEgress {
			direction = "egress"
		}
		if name := fmt.Sprintf("TC filter %s, priority %d on %s", f.Type(), f.Attrs().Priority, direction); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, nil
}

func isOurs(f netlink.Filter) bool {
	b, ok := f.(*netlink.BpfFilter)
	return ok && b.Priority == clsactPriority && strings.HasPrefix(b.Name, clsactPrefix)
}

// shapers names root qdiscs that a packet has to wait for.
func shapers(qdiscs []netlink.Qdisc) (out []string) {
	for _, q := range qdiscs {
		if q.Attrs().Parent == netlink.HANDLE_ROOT && !slices.Contains(unshaped, q.Type()) {
			out = append(out, "qdisc "+q.Type())
		}
	}
	return out
}

func programName(id ebpf.ProgramID) string {
	p, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return "" // has just been removed
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil {
		return ""
	}
	return info.Name
}

// InPlace reports whether all programs of the role are attached to an interface, and whether no foreign program runs behind
// the one that hits leave from, at the same hook. If it returns false, Attach repairs that.
func (d *Datapath) InPlace(ifindex int, role Role) (bool, error) {
	for _, p := range d.programs(role) {
		var ok bool
		var err error
		if d.usesLink(p) {
			ok, err = d.linkInPlace(ifindex, p)
		} else {
			ok, err = filterInPlace(ifindex, p)
		}
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func (d *Datapath) linkInPlace(ifindex int, p program) (bool, error) {
	l, err := link.LoadPinnedLink(filepath.Join(d.opts.PinPath, linksDir, linkName(ifindex, p.name)), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open pinned link of %s: %w", p.name, err)
	}
	defer l.Close()
	info, err := l.Info()
	if err != nil {
		return false, fmt.Errorf("read pinned link of %s: %w", p.name, err)
	}
	if !isAt(info, ifindex, p.attach) {
		return false, nil
	}
	if !p.redirects {
		return true, nil
	}
	last, err := lastAt(ifindex, p.attach)
	return last == info.Program, err
}

// lastAt returns the last program at a TCX or netkit hook.
func lastAt(ifindex int, attach ebpf.AttachType) (ebpf.ProgramID, error) {
	result, err := link.QueryPrograms(link.QueryOptions{Target: ifindex, Attach: attach})
	if err != nil {
		return 0, fmt.Errorf("list programs of interface index %d: %w", ifindex, err)
	}
	if len(result.Programs) == 0 {
		return 0, nil
	}
	return result.Programs[len(result.Programs)-1].ID, nil
}

func filterInPlace(ifindex int, p program) (bool, error) {
	device, err := netlink.LinkByIndex(ifindex)
	if err != nil {
		return false, fmt.Errorf("find interface index %d: %w", ifindex, err)
	}
	filters, err := ourFilters(device)
	return slices.ContainsFunc(filters, func(f *netlink.BpfFilter) bool {
		return f.Name == p.name && f.Parent == clsactParent(p.attach)
	}), err
}
