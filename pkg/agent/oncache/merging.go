// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"
)

// largestMerged is the size up to which GRO merges TCP packets to ones with a length, in bytes: GRO_LEGACY_MAX_SIZE of
// include/linux/netdevice.h.
const largestMerged = 65536

// checkMerging refuses keys to the other Nodes while GRO on the transport interface may merge rewritten packets to ones without a length
// (BIG TCP), which Ingress could not restore. The kernel tells nobody about these settings. Tunnel packets are never merged to such.
func (k *uplinkKeeper) checkMerging() {
	if !k.config.Rewrite {
		return
	}
	device, err := netlink.LinkByName(k.config.Uplink)
	if err != nil {
		return // the fast path is off
	}
	reason := k.config.mergesTooMuch(device.Attrs())
	if !k.rewriters.refuse(reason) {
		return
	}
	klog.InfoS("Changed whether other Nodes may rewrite packets to this one", "reason", reason)
	k.mode.observer.NotRewriting(reason)
}

// mergesTooMuch returns an error that names the setting of the transport interface by which GRO may merge packets to ones without a length, of
// an IP version of the tunnel. The attributes of older kernels, which never do so, are 0.
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
			return fmt.Errorf("%s of transport interface %s is %d, so rewritten packets would be merged to ones without a length and lost; "+
				"to have packets rewritten, set it to at most %d with ip link", limit.name, attrs.Name, limit.bytes, largestMerged)
		}
	}
	return nil
}
