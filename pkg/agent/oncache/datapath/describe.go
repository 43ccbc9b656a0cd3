// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// DescribePrograms writes which programs have been loaded, with the tags by which the same ones are found elsewhere, and then the
// programs at the hooks of each device that has any, ours and foreign ones, in the order in which they run. A device that has
// disappeared is left out; the error names devices that could not be examined.
func (d *Datapath) DescribePrograms(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# hook=%s layout=%s\n", d.hook, d.layout)
	var errs []error
	for _, p := range d.allPrograms() {
		info, err := p.Info()
		if err != nil {
			errs = append(errs, fmt.Errorf("read info of program %v: %w", p, err))
			continue
		}
		id, _ := info.ID()
		instructions, _ := info.VerifiedInstructions()
		loaded, _ := info.LoadTime()
		fmt.Fprintf(out, "program name=%s id=%d tag=%s type=%v verified=%d loaded=%v\n", info.Name, id, info.Tag, info.Type, instructions, loaded)
	}
	devices, err := rtnl.Links()
	if err != nil {
		errs = append(errs, fmt.Errorf("list interfaces: %w", err))
	}
	for _, device := range devices {
		lines, err := d.atHooks(device)
		if err != nil && !errors.Is(err, unix.ENODEV) {
			errs = append(errs, err)
		}
		for _, line := range lines {
			fmt.Fprintf(out, "device name=%s index=%d %s\n", device.Attrs().Name, device.Attrs().Index, line)
		}
	}
	return errors.Join(append(errs, out.Flush())...)
}

// allPrograms returns the programs of all roles, each once.
func (d *Datapath) allPrograms() (programs []*ebpf.Program) {
	for _, role := range []Role{RolePod, RoleUplink, RoleGateway, RoleTunnel} {
		for _, p := range d.programs(role) {
			if !slices.Contains(programs, p.prog) {
				programs = append(programs, p.prog)
			}
		}
	}
	return programs
}

// linkHooks are the hooks of links, by the names that bpftool gives them.
var linkHooks = []struct {
	name   string
	attach ebpf.AttachType
	netkit bool
}{
	{"tcx/ingress", ebpf.AttachTCXIngress, false},
	{"tcx/egress", ebpf.AttachTCXEgress, false},
	{"netkit/primary", ebpf.AttachNetkitPrimary, true},
	{"netkit/peer", ebpf.AttachNetkitPeer, true},
}

// atHooks returns a line for each program or filter on a device.
func (d *Datapath) atHooks(device netlink.Link) (lines []string, err error) {
	attrs := device.Attrs()
	if x := attrs.Xdp; x != nil && x.Attached {
		lines = append(lines, fmt.Sprintf("at=xdp id=%d name=%s", x.ProgId, programName(ebpf.ProgramID(x.ProgId))))
	}
	for _, hook := range linkHooks {
		if hook.netkit && device.Type() != "netkit" || !hook.netkit && d.hook != HookTCX {
			continue
		}
		found, err := link.QueryPrograms(link.QueryOptions{Target: attrs.Index, Attach: hook.attach})
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EACCES) {
			continue // a netkit device may be asked on its primary side only
		}
		if err != nil {
			return lines, fmt.Errorf("list programs at %s of %s: %w", hook.name, attrs.Name, err)
		}
		for _, p := range found.Programs {
			lines = append(lines, fmt.Sprintf("at=%s id=%d name=%s", hook.name, p.ID, programName(p.ID)))
		}
	}
	filters, err := filtersOf(device)
	return append(lines, filters...), err
}

// filtersOf returns a line for each filter of the kernel's traffic control on a device.
func filtersOf(device netlink.Link) (lines []string, err error) {
	qdiscs, err := qdiscsOf(device)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(qdiscs, func(q netlink.Qdisc) bool { return q.Type() == "clsact" || q.Type() == "ingress" }) {
		return nil, nil
	}
	for _, side := range []struct {
		name   string
		parent uint32
	}{{"ingress", netlink.HANDLE_MIN_INGRESS}, {"egress", netlink.HANDLE_MIN_EGRESS}} {
		filters, err := filtersAt(device, side.parent)
		if err != nil {
			return lines, err
		}
		for _, f := range filters {
			line := fmt.Sprintf("at=filter/%s type=%s priority=%d", side.name, f.Type(), f.Attrs().Priority)
			if b, ok := f.(*netlink.BpfFilter); ok {
				line += fmt.Sprintf(" id=%d name=%s", b.Id, b.Name)
			}
			lines = append(lines, line)
		}
	}
	return lines, nil
}
