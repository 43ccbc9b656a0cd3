// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net/netip"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/cniserver"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

// typeKey is the key of a Port row's external_ids that says what the port is for. Ports without it are not the agent's.
const typeKey = "antrea-type"

// gatewayType is Open vSwitch's type of the gateway port.
const gatewayType = "internal"

func typeIDs(t interfacestore.InterfaceType) map[string]string {
	return map[string]string{typeKey: t.String()}
}

// existingPort finds the port of a type of which there is one: the port with the configured name, else the first with
// that type in external_ids; stale are the others with the type. The external_ids of a port that cannot be of the type
// are ignored.
func existingPort(ports []ovsconfig.Port, t interfacestore.InterfaceType, name string) (found *ovsconfig.Port, stale []string) {
	for i := range ports {
		p := &ports[i]
		if p.Name != name && (p.ExternalIDs[typeKey] != t.String() || !canBe(p, t)) {
			continue
		}
		switch {
		case found == nil:
			found = p
		case p.Name == name:
			stale = append(stale, found.Name)
			found = p
		default:
			stale = append(stale, p.Name)
		}
	}
	return found, stale
}

// canBe reports whether Open vSwitch's type of a port allows that it is the gateway's or a tunnel's.
func canBe(p *ovsconfig.Port, t interfacestore.InterfaceType) bool {
	plain := p.Type == "" || p.Type == "system"
	if t == interfacestore.GatewayInterface {
		return p.Type == gatewayType
	}
	return !plain && p.Type != gatewayType
}

// restoreInterfaces rebuilds the content of the interface store from the bridge's ports. Ports of Pods that cannot be read
// are left out, with a log message.
func restoreInterfaces(ports []ovsconfig.Port, node *config.NodeConfig) []*interfacestore.InterfaceConfig {
	var restored []*interfacestore.InterfaceConfig
	for i := range ports {
		p := &ports[i]
		t, ok := interfacestore.ParseInterfaceType(p.ExternalIDs[typeKey])
		if !ok {
			continue
		}
		c := &interfacestore.InterfaceConfig{
			Type: t, InterfaceName: p.Name,
			OVSPortConfig: &interfacestore.OVSPortConfig{PortUUID: p.UUID, OFPort: p.OFPort},
		}
		switch t {
		case interfacestore.GatewayInterface:
			c.MAC = node.Gateway.MAC
			for _, ip := range []netip.Addr{node.Gateway.IPv4, node.Gateway.IPv6} {
				if ip.IsValid() {
					c.IPs = append(c.IPs, ip)
				}
			}
		case interfacestore.ContainerInterface:
			var err error
			if c, err = cniserver.InterfaceFromPort(p); err != nil {
				klog.ErrorS(err, "Ignoring the port of a Pod that cannot be read", "port", p.Name)
				continue
			}
		}
		restored = append(restored, c)
	}
	return restored
}
