// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"

	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/wireguard"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

const (
	// The protocols' registered ports: RFC 8926, RFC 7348 and draft-davie-stt.
	genevePort = 6081
	vxlanPort  = 4789
	sttPort    = 7471

	// Bytes that a tunnel adds to a Pod's IP packet: outer IPv4 (20), then UDP (8) and the tunnel's header (8), or GRE
	// without key (8), and the inner Ethernet header (14). RFC 8926, RFC 7348, RFC 2784.
	udpTunnelOverhead = 50
	greOverhead       = 42
	// extraIPv6Overhead is the difference between the lengths of an IPv6 and an IPv4 header.
	extraIPv6Overhead = 20

	// maxMTU is Antrea's upper limit: larger values break GSO once the tunnel's headers are added.
	maxMTU = 65000
	// minMTU is the size that every IPv4 host must be able to receive (RFC 791), minIPv6MTU the size that every link
	// must carry (RFC 8200).
	minMTU     = 576
	minIPv6MTU = 1280
)

// tunnelPort is the UDP or TCP port in use; 0 for protocols without ports.
func tunnelPort(t config.TunnelType, configured uint16) uint16 {
	if configured != 0 {
		return configured
	}
	switch t {
	case config.TunnelTypeGeneve:
		return genevePort
	case config.TunnelTypeVXLAN:
		return vxlanPort
	case config.TunnelTypeSTT:
		return sttPort
	default:
		return 0
	}
}

// podMTU is the MTU of new Pods. ipv6 says that Pods have IPv6 addresses.
func podMTU(o *Options, uplink *config.Uplink, ipv6 bool) (int, error) {
	configured, mode, tunnel := o.DefaultMTU, o.TrafficEncapMode, o.TunnelType
	least := minMTU
	if ipv6 {
		least = minIPv6MTU
	}
	if configured != 0 {
		if configured < least {
			return 0, fmt.Errorf("defaultMTU is %d: Pods with IPv6 addresses need at least %d", configured, least)
		}
		return configured, checkEncryptedMTU(o, uplink)
	}
	mtu := uplink.MTU
	if o.WireGuardPort != 0 {
		mtu = wireguard.MTU(uplink)
	} else if mode == config.TrafficEncapModeEncap || mode == config.TrafficEncapModeHybrid {
		switch tunnel {
		case config.TunnelTypeGeneve, config.TunnelTypeVXLAN:
			mtu -= udpTunnelOverhead
		case config.TunnelTypeGRE:
			mtu -= greOverhead
		default:
			return 0, fmt.Errorf("the header length of tunnel type %q is not known; set defaultMTU", tunnel)
		}
		// Pods of both families have one MTU, which must fit the longer outer header.
		if uplink.IPv6.IsValid() {
			mtu -= extraIPv6Overhead
		}
		if o.ClusterWireGuardPort != 0 {
			mtu -= wireguard.ClusterOverhead
		}
		mtu = min(mtu, maxMTU)
	}
	if mtu < least {
		return 0, fmt.Errorf("device %s with MTU %d leaves %d bytes for Pods, want at least %d", uplink.Name, uplink.MTU, mtu, least)
	}
	return mtu, nil
}

// gatewayMTU is the MTU of the gateway: the MTU of new Pods or, if it is larger, of a Pod that is there, up to the uplink's. Open vSwitch drops packets
// that do not fit the device to which it sends them (ovs_vport_send in net/openvswitch/vport.c); what passes the gateway, the host sends on, or answers
// with the MTU of the path.
func gatewayMTU(ports []ovsconfig.Port, node *config.NodeConfig) int {
	mtu := node.MTU
	for i := range ports {
		if t, known := interfacestore.ParseInterfaceType(ports[i].ExternalIDs[typeKey]); !known || t != interfacestore.ContainerInterface {
			continue
		}
		if link, err := netlink.LinkByName(ports[i].Name); err == nil { // otherwise the Pod is gone
			mtu = max(mtu, min(link.Attrs().MTU, node.Uplink.MTU))
		}
	}
	return mtu
}

// checkEncryptedMTU refuses a configured MTU with which encrypted packets would not fit the uplink.
func checkEncryptedMTU(o *Options, uplink *config.Uplink) error {
	key, most := "trafficEncryptionMode", wireguard.MTU(uplink)
	switch {
	case o.ClusterWireGuardPort != 0:
		key, most = "multicluster.trafficEncryptionMode", uplink.MTU-udpTunnelOverhead-wireguard.ClusterOverhead
	case o.WireGuardPort == 0:
		return nil
	}
	if o.DefaultMTU > most {
		return fmt.Errorf("defaultMTU is %d: with %s wireGuard, device %s with MTU %d leaves at most %d bytes for Pods", o.DefaultMTU, key, uplink.Name, uplink.MTU, most)
	}
	return nil
}
