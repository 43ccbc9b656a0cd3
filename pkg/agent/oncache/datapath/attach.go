// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Hook is a mechanism of the kernel for attaching TC programs.
type Hook string

const (
	HookAuto Hook = ""
	// HookTCX is a TCX link (Linux 6.6), pinned, so that it outlives the agent and is replaced atomically.
	HookTCX Hook = "tcx"
	// HookClsact is a filter on a clsact qdisc, with our own priority.
	HookClsact Hook = "clsact"
)

const linksDir = "links"

// Role is the purpose of an interface to the cache. It determines the programs on the interface.
type Role uint8

const (
	// RolePod is the host side of a Pod's veth pair: Egress on ingress, Ingress-Init on egress.
	RolePod Role = iota
	// RoleNetkitPod is the primary device of a Pod's netkit pair (Linux 6.7): Egress on the peer's hook, which runs when the
	// Pod transmits, Ingress-Init on egress.
	RoleNetkitPod
	// RoleUplink carries tunnel packets: Ingress on ingress, Egress-Init on egress.
	RoleUplink
	// RoleGateway is the gateway's interface, behind which is the host's own stack: the gateway's Egress on egress, its
	// Ingress-Init on ingress.
	RoleGateway
	// RoleTunnel is the kernel's tunnel device, into which Open vSwitch sends packets to other Nodes. Its program only saves time.
	RoleTunnel
)

// program is one program of a role and its attach point.
type program struct {
	name   string
	prog   *ebpf.Program
	attach ebpf.AttachType
	// redirects is set when hits leave from this program, so that programs behind it at its hook do not see them.
	redirects bool
}

func (d *Datapath) programs(role Role) []program {
	switch role {
	case RoleUplink:
		return []program{
			{object.BpfProgOncacheIngress, d.objects.OncacheIngress, ebpf.AttachTCXIngress, true},
			{object.BpfProgOncacheEgressInit, d.objects.OncacheEgressInit, ebpf.AttachTCXEgress, false},
		}
	case RoleTunnel:
		return []program{{object.BpfProgOncacheTunnel, d.objects.OncacheTunnel, ebpf.AttachTCXEgress, false}}
	case RoleGateway:
		return []program{
			{object.BpfProgOncacheGatewayEgress, d.objects.OncacheGatewayEgress, ebpf.AttachTCXEgress, true},
			{object.BpfProgOncacheGatewayIngressInit, d.objects.OncacheGatewayIngressInit, ebpf.AttachTCXIngress, false},
		}
	}
	egress := ebpf.AttachTCXIngress
	if role == RoleNetkitPod {
		egress = ebpf.AttachNetkitPeer
	}
	return []program{
		{object.BpfProgOncacheEgress, d.objects.OncacheEgress, egress, true},
		{object.BpfProgOncacheIngressInit, d.objects.OncacheIngressInit, ebpf.AttachTCXEgress, false},
	}
}

// Hook returns the mechanism that Load has chosen.
func (d *Datapath) Hook() Hook { return d.hook }

// chooseHook tries TCX on the loopback device of the current network namespace.
func chooseHook(want Hook, prog *ebpf.Program) (Hook, error) {
	if want != HookAuto {
		return want, nil
	}
	const loopback = 1
	l, err := link.AttachTCX(link.TCXOptions{Interface: loopback, Program: prog, Attach: ebpf.AttachTCXEgress})
	switch {
	case err == nil:
		return HookTCX, l.Close()
	case errors.Is(err, ebpf.ErrNotSupported):
		return HookClsact, nil
	default:
		return "", fmt.Errorf("probe for TCX on interface index %d: %w", loopback, err)
	}
}

// usesLink reports whether a program is attached by a TCX or netkit link; otherwise it is a clsact filter.
func (d *Datapath) usesLink(p program) bool {
	return d.hook == HookTCX || p.attach == ebpf.AttachNetkitPeer
}

// Attach puts the programs of the role on an interface, behind foreign programs at the same hook. It replaces the programs of an
// earlier agent without a gap. After an error none of our programs is left there.
func (d *Datapath) Attach(ifindex int, role Role) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Detach(ifindex))
		}
	}()
	for _, p := range d.programs(role) {
		if d.usesLink(p) {
			err = d.attachLink(ifindex, p)
		} else {
			err = attachClsact(ifindex, p)
		}
		if err != nil {
			return fmt.Errorf("attach %s to interface index %d (%s): %w", p.name, ifindex, p.attach, err)
		}
	}
	return nil
}

// attachLink makes a pinned TCX or netkit link, or replaces the program of the existing one.
func (d *Datapath) attachLink(ifindex int, p program) error {
	dir := filepath.Join(d.opts.PinPath, linksDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create pin directory: %w", err)
	}
	pin := filepath.Join(dir, linkName(ifindex, p.name))
	if old, err := link.LoadPinnedLink(pin, nil); err == nil {
		defer old.Close()
		kept, err := keepLink(old, ifindex, p)
		if err != nil || kept {
			return err
		}
		// Either the device of that link is gone and its index was reused, perhaps for another kind of device, or a foreign program is
		// behind ours.
		if err := removeLink(pin); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open pinned link %s: %w", pin, err)
	}
	l, err := newLink(ifindex, p)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.Pin(pin); err != nil {
		return fmt.Errorf("pin link to %s: %w", pin, err)
	}
	return nil
}

// keepLink replaces the program of a link. It does not keep a link at another hook, or one with a program behind it that
// would not see hits.
func keepLink(l link.Link, ifindex int, p program) (kept bool, err error) {
	info, err := l.Info()
	if err != nil || !isAt(info, ifindex, p.attach) {
		return false, nil
	}
	if p.redirects {
		last, err := lastAt(ifindex, p.attach)
		if err != nil || last != info.Program {
			return false, err
		}
	}
	if err := l.Update(p.prog); err != nil {
		return false, fmt.Errorf("replace program of pinned link: %w", err)
	}
	return true, nil
}

func newLink(ifindex int, p program) (link.Link, error) {
	if p.attach == ebpf.AttachNetkitPeer {
		return link.AttachNetkit(link.NetkitOptions{Interface: ifindex, Program: p.prog, Attach: p.attach})
	}
	return link.AttachTCX(link.TCXOptions{Interface: ifindex, Program: p.prog, Attach: p.attach})
}

// isAt reports whether a link is at the given hook of the device that has the index now. A link whose device is gone has
// index 0. A link at the hook of a netkit peer has the peer's index in the Pod's namespace.
func isAt(info *link.Info, ifindex int, attach ebpf.AttachType) bool {
	if tcx := info.TCX(); tcx != nil {
		return tcx.Ifindex == uint32(ifindex) && ebpf.AttachType(tcx.AttachType) == attach
	}
	netkit := info.Netkit()
	if netkit == nil || ebpf.AttachType(netkit.AttachType) != attach {
		return false
	}
	device, err := netlink.LinkByIndex(ifindex)
	return err == nil && netkit.Ifindex == uint32(device.Attrs().ParentIndex)
}

// attachable are the programs of all roles.
var attachable = []string{
	object.BpfProgOncacheEgress, object.BpfProgOncacheEgressInit, object.BpfProgOncacheIngress, object.BpfProgOncacheIngressInit,
	object.BpfProgOncacheGatewayEgress, object.BpfProgOncacheGatewayIngressInit,
	object.BpfProgOncacheTunnel,
}

// Detach removes our programs from an interface, which may already be gone.
func (d *Datapath) Detach(ifindex int) error {
	return detach(d.opts.PinPath, ifindex)
}

func detach(pinPath string, ifindex int) error {
	var errs []error
	for _, name := range attachable {
		errs = append(errs, removeLink(filepath.Join(pinPath, linksDir, linkName(ifindex, name))))
	}
	return errors.Join(append(errs, detachClsact(ifindex))...)
}

// removeLink detaches explicitly: a program that inspects the link may hold the last reference.
func removeLink(pin string) error {
	l, err := link.LoadPinnedLink(pin, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open pinned link %s: %w", pin, err)
	}
	defer l.Close()
	if d, ok := l.(interface{ Detach() error }); ok {
		_ = d.Detach() // fails when the device is gone, and the link with it
	}
	if err := os.Remove(pin); err != nil {
		return fmt.Errorf("remove pinned link: %w", err)
	}
	return nil
}

// Attached lists the interfaces in the current network namespace that carry our programs, by either kind of hook.
func Attached(pinPath string) ([]int, error) {
	pinned, err := pinnedInterfaces(pinPath)
	if err != nil {
		return nil, err
	}
	filtered, err := clsactInterfaces()
	if err != nil {
		return nil, err
	}
	return append(pinned, filtered...), nil
}

func pinnedInterfaces(pinPath string) ([]int, error) {
	entries, err := os.ReadDir(filepath.Join(pinPath, linksDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list pinned links: %w", err)
	}
	seen := map[int]bool{}
	var out []int
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "-")
		if i, err := strconv.Atoi(number); err == nil && !seen[i] {
			seen[i] = true
			out = append(out, i)
		}
	}
	return out, nil
}

func linkName(ifindex int, prog string) string { return strconv.Itoa(ifindex) + "-" + prog }

// RemoveAll detaches all our programs in the current network namespace and removes every pin. It needs no loaded Datapath,
// and succeeds when there is nothing to remove.
func RemoveAll(pinPath string) error {
	interfaces, err := Attached(pinPath)
	if err != nil {
		return err
	}
	var errs []error
	for _, i := range interfaces {
		errs = append(errs, detach(pinPath, i))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := os.RemoveAll(pinPath); err != nil {
		return fmt.Errorf("remove pins: %w", err)
	}
	return nil
}
