// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// largestMerged is the size, in bytes, up to which GRO merges TCP packets to packets with a length: GRO_LEGACY_MAX_SIZE of
// include/linux/netdevice.h.
const largestMerged = 65536

// refusal is the reason why no Node may be told keys; the zero value if they may.
type refusal struct {
	mu     sync.Mutex
	reason error
}

// change sets the present reason, nil for none, and reports whether it differs.
func (r *refusal) change(reason error) (news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.reason
	r.reason = reason
	return (before == nil) != (reason == nil) || reason != nil && before.Error() != reason.Error()
}

func (r *refusal) now() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reason
}

// checkMerging refuses keys to the other Nodes while GRO below Ingress may merge rewritten packets to packets without a length (BIG
// TCP), which Ingress could not restore. The kernel does not announce changes of these settings. Tunnel packets are never merged so.
func (k *uplinkKeeper) checkMerging() {
	if !k.config.Rewrite {
		return
	}
	uplink, err := netlink.LinkByName(k.config.Uplink)
	if err != nil {
		return // the fast path is off
	}
	devices, err := receivers(uplink, rtnl.Links)
	if err != nil {
		klog.ErrorS(err, "Could not find the devices below the transport interface", "uplink", k.config.Uplink)
		return // what was found last still counts
	}
	var reason error
	for _, device := range devices {
		if reason = k.config.mergesTooMuch(device.Attrs()); reason != nil {
			break
		}
	}
	k.dp.RefuseKeys(reason != nil) // also at start: an earlier agent may have left something else
	if !k.refusal.change(reason) {
		return
	}
	klog.InfoS("Changed whether other Nodes may rewrite packets to this one", "reason", reason)
	k.mode.observer.NotRewriting(reason)
}

// receivers returns the devices on which GRO may merge packets that the device receives: itself, and the devices below it if it is a
// VLAN, a bond or the like, unless they are in other network namespaces. list lists all devices.
func receivers(device netlink.Link, list func() ([]netlink.Link, error)) ([]netlink.Link, error) {
	switch device.Type() {
	case "vlan", "macvlan", "ipvlan", "bond", "team", "bridge":
	default:
		return []netlink.Link{device}, nil
	}
	all, err := list()
	if err != nil {
		return nil, fmt.Errorf("list all devices: %w", err)
	}
	return withLower(device, all), nil
}

// withLower returns the device and all devices below it. A veth device has its peer where others have the device below.
func withLower(device netlink.Link, all []netlink.Link) []netlink.Link {
	attrs, found := device.Attrs(), []netlink.Link{device}
	hasParent := attrs.NetNsID < 0 && slices.Contains([]string{"vlan", "macvlan", "ipvlan"}, device.Type())
	for _, d := range all {
		if d.Attrs().MasterIndex == attrs.Index || hasParent && d.Attrs().Index == attrs.ParentIndex {
			found = append(found, withLower(d, all)...)
		}
	}
	return found
}

// mergesTooMuch returns an error that names the setting of a device by which GRO may merge packets to packets without a length, of an
// IP version of the tunnel. Older kernels never do so: their attributes are 0.
func (c *Config) mergesTooMuch(attrs *netlink.LinkAttrs) error {
	for _, limit := range []struct {
		name  string
		bytes uint32
		used  bool
	}{
		{"gro_ipv4_max_size", attrs.GROIPv4MaxSize, c.UplinkIPv4.IsValid()},
		{"gro_max_size", attrs.GROMaxSize, c.UplinkIPv6.IsValid()},
	} {
		if limit.used && limit.bytes > largestMerged {
			return fmt.Errorf("%s of interface %s is %d, so rewritten packets would be merged to ones without a length and lost; "+
				"to have packets rewritten, set it to at most %d with ip link", limit.name, attrs.Name, limit.bytes, largestMerged)
		}
	}
	return nil
}
