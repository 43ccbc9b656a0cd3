// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// clsactPriority and clsactHandle, together with the name, identify our filters. The priority is late, so that foreign capture and
// accounting programs see packets before we redirect them.
const (
	clsactPriority = 0x0cac
	clsactHandle   = 0x0cac
	clsactPrefix   = "oncache_"
)

func attachClsact(ifindex int, p program) error {
	device, err := netlink.LinkByIndex(ifindex)
	if err != nil {
		return err
	}
	if err := ensureClsact(device); err != nil {
		return err
	}
	return netlink.FilterReplace(&netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{
			LinkIndex: ifindex,
			Parent:    clsactParent(p.attach),
			Handle:    clsactHandle,
			Protocol:  unix.ETH_P_ALL,
			Priority:  clsactPriority,
		},
		Fd:           p.prog.FD(),
		Name:         p.name,
		DirectAction: true,
	})
}

func clsactParent(a ebpf.AttachType) uint32 {
	if a == ebpf.AttachTCXIngress {
		return netlink.HANDLE_MIN_INGRESS
	}
	return netlink.HANDLE_MIN_EGRESS
}

// qdiscsOf lists the qdiscs of a device.
func qdiscsOf(device netlink.Link) ([]netlink.Qdisc, error) {
	qdiscs, err := rtnl.Dump(func() ([]netlink.Qdisc, error) { return netlink.QdiscList(device) })
	if err != nil {
		return nil, fmt.Errorf("list qdiscs of %s: %w", device.Attrs().Name, err)
	}
	return qdiscs, nil
}

// filtersAt lists the filters of a device below a parent.
func filtersAt(device netlink.Link, parent uint32) ([]netlink.Filter, error) {
	filters, err := rtnl.Dump(func() ([]netlink.Filter, error) { return netlink.FilterList(device, parent) })
	if err != nil {
		return nil, fmt.Errorf("list filters of %s: %w", device.Attrs().Name, err)
	}
	return filters, nil
}

// ensureClsact adds the qdisc if the device has none. It is never replaced and never removed: others may use it, and
// an empty clsact does nothing.
func ensureClsact(device netlink.Link) error {
	qdiscs, err := qdiscsOf(device)
	if err != nil {
		return err
	}
	for _, q := range qdiscs {
		switch q.Type() {
		case "clsact":
			return nil
		case "ingress":
			return fmt.Errorf("%s has an ingress qdisc, which leaves no room for clsact", device.Attrs().Name)
		}
	}
	err = netlink.QdiscAdd(&netlink.GenericQdisc{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: device.Attrs().Index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT},
		QdiscType:  "clsact",
	})
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add clsact qdisc to %s: %w", device.Attrs().Name, err)
	}
	return nil
}

func detachClsact(ifindex int) error {
	device, err := netlink.LinkByIndex(ifindex)
	var gone netlink.LinkNotFoundError
	if errors.As(err, &gone) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find interface index %d: %w", ifindex, err)
	}
	filters, err := ourFilters(device)
	if err != nil {
		return err
	}
	for _, f := range filters {
		if err := netlink.FilterDel(f); err != nil {
			return fmt.Errorf("remove filter %s from %s: %w", f.Name, device.Attrs().Name, err)
		}
	}
	return nil
}

// removeClsact removes our filters from a device, and the qdisc with the last filter. An empty clsact does nothing; another owner adds
// it again with the next filter.
func removeClsact(ifindex int) error {
	device, err := netlink.LinkByIndex(ifindex)
	if gone := (netlink.LinkNotFoundError{}); errors.As(err, &gone) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find interface index %d: %w", ifindex, err)
	}
	ours, err := ourFilters(device)
	if err != nil || len(ours) == 0 {
		return err
	}
	if err := detachClsact(ifindex); err != nil {
		return err
	}
	for _, parent := range []uint32{netlink.HANDLE_MIN_INGRESS, netlink.HANDLE_MIN_EGRESS} {
		others, err := filtersAt(device, parent)
		if err != nil {
			return err
		}
		if len(others) > 0 {
			return nil
		}
	}
	err = netlink.QdiscDel(&netlink.GenericQdisc{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: ifindex, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT},
		QdiscType:  "clsact",
	})
	if err != nil {
		return fmt.Errorf("remove the empty clsact qdisc of %s: %w", device.Attrs().Name, err)
	}
	return nil
}

func ourFilters(device netlink.Link) ([]*netlink.BpfFilter, error) {
	qdiscs, err := qdiscsOf(device)
	if err != nil {
		return nil, err
	}
	var out []*netlink.BpfFilter
	for _, q := range qdiscs {
		if q.Type() != "clsact" {
			continue
		}
		for _, parent := range []uint32{netlink.HANDLE_MIN_INGRESS, netlink.HANDLE_MIN_EGRESS} {
			filters, err := filtersAt(device, parent)
			if err != nil {
				return nil, err
			}
			for _, f := range filters {
				if isOurs(f) {
					out = append(out, f.(*netlink.BpfFilter))
				}
			}
		}
	}
	return out, nil
}

// clsactInterfaces lists the interfaces of this network namespace that carry our filters.
func clsactInterfaces() ([]int, error) {
	devices, err := rtnl.Links()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	var out []int
	for _, device := range devices {
		filters, err := ourFilters(device)
		if err != nil {
			return nil, err
		}
		if len(filters) > 0 {
			out = append(out, device.Attrs().Index)
		}
	}
	return out, nil
}
