// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/macaddr"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

const (
	// bridgeAttempt bounds one wait for vswitchd, after which a message says what is waited for.
	bridgeAttempt = 5 * time.Second
	// portTimeout bounds the wait for vswitchd to add a port.
	portTimeout = 10 * time.Second
)

// createBridge waits until vswitchd runs and has the bridge, or ctx ends.
func createBridge(ctx context.Context, ovs ovsconfig.BridgeClient, attempt time.Duration) error {
	for {
		attemptCtx, cancel := context.WithTimeout(ctx, attempt)
		err := ovs.Create(attemptCtx)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		klog.InfoS("Waiting for Open vSwitch", "reason", err)
	}
}

// tunnelOptions are the options of the tunnel port's Interface row (ovs-vswitchd.conf.db(5)). There is no local_ip: the
// kernel chooses the source by its routes.
func tunnelOptions(o *Options) map[string]string {
	options := map[string]string{"key": "flow", "remote_ip": "flow"}
	if o.TunnelPort != 0 {
		options["dst_port"] = fmt.Sprint(o.TunnelPort)
	}
	if o.TunnelCsum {
		options["csum"] = "true"
	}
	return options
}

// ensureTunnelPort makes the tunnel port, or changes the existing one to what the configuration says, and returns its
// OpenFlow port number. It calls suspend before it changes the tunnel.
func (i *Initializer) ensureTunnelPort(ctx context.Context, ports []ovsconfig.Port, suspend func() error) (uint32, error) {
	existing, stale := existingPort(ports, interfacestore.TunnelInterface, config.DefaultTunPortName)
	options := tunnelOptions(&i.options)
	if existing != nil && existing.Type != string(i.options.TunnelType) {
		klog.InfoS("Replacing the tunnel port", "port", existing.Name, "type", existing.Type, "newType", i.options.TunnelType)
		stale = append(stale, existing.Name)
		existing = nil
	}
	if existing == nil || len(stale) > 0 || !maps.Equal(existing.Options, options) {
		// Entries have headers for the tunnel as it was.
		if err := suspend(); err != nil {
			return 0, err
		}
	}
	// Two flow-based tunnel ports of one kind exclude each other: the old one has to go first.
	if err := i.deletePorts(stale); err != nil {
		return 0, err
	}
	if existing == nil {
		return i.createTunnelPort(ctx)
	}
	if !maps.Equal(existing.Options, options) {
		klog.InfoS("Changing the options of the tunnel port", "port", existing.Name, "options", existing.Options, "newOptions", options)
		if err := i.ovs.SetInterfaceOptions(existing.Name, options); err != nil {
			return 0, err
		}
	}
	if err := i.ensureType(existing, interfacestore.TunnelInterface); err != nil {
		return 0, err
	}
	return i.ofPort(ctx, existing.Name)
}

func (i *Initializer) createTunnelPort(ctx context.Context) (uint32, error) {
	return i.createPort(ctx, config.DefaultTunPortName, func() (string, error) {
		return i.ovs.CreateTunnelPort(config.DefaultTunPortName, string(i.options.TunnelType), config.TunnelOFPort, tunnelOptions(&i.options),
			typeIDs(interfacestore.TunnelInterface))
	})
}

// ensureGatewayPort makes the gateway port, or adopts the existing one, and fills in the gateway's name, MAC address and
// OpenFlow port number. The MAC address is mac or, if that is empty, what OVSDB has, or one that is chosen and then kept there.
func (i *Initializer) ensureGatewayPort(ctx context.Context, ports []ovsconfig.Port, mac net.HardwareAddr) (*config.GatewayConfig, error) {
	existing, stale := existingPort(ports, interfacestore.GatewayInterface, i.options.HostGateway)
	gateway := &config.GatewayConfig{Name: i.options.HostGateway}
	if existing != nil && existing.Type != gatewayType {
		klog.InfoS("Replacing the gateway port", "port", existing.Name, "type", existing.Type, "newType", gatewayType)
		stale = append(stale, existing.Name)
		existing = nil
	}
	if err := i.deletePorts(stale); err != nil {
		return nil, err
	}
	if existing != nil {
		gateway.Name, gateway.MAC = existing.Name, existing.MAC
		if gateway.Name != i.options.HostGateway {
			klog.InfoS("Keeping the name of the existing gateway port", "port", gateway.Name, "hostGateway", i.options.HostGateway)
		}
	}
	if len(gateway.MAC) == 0 || len(mac) > 0 && !bytes.Equal(gateway.MAC, mac) {
		if gateway.MAC = mac; len(mac) == 0 {
			gateway.MAC = macaddr.Random()
		}
		if existing != nil {
			klog.InfoS("Giving the gateway port another MAC address", "port", gateway.Name, "mac", existing.MAC, "newMAC", gateway.MAC)
			if err := i.ovs.SetInterfaceMAC(gateway.Name, gateway.MAC); err != nil {
				return nil, err
			}
		}
	}
	var err error
	if existing == nil {
		gateway.OFPort, err = i.createGatewayPort(ctx, gateway)
		return gateway, err
	}
	if err := i.ensureType(existing, interfacestore.GatewayInterface); err != nil {
		return nil, err
	}
	gateway.OFPort, err = i.ofPort(ctx, gateway.Name)
	return gateway, err
}

func (i *Initializer) createGatewayPort(ctx context.Context, gateway *config.GatewayConfig) (uint32, error) {
	return i.createPort(ctx, gateway.Name, func() (string, error) {
		return i.ovs.CreateInternalPort(gateway.Name, config.GatewayOFPort, gateway.MAC, typeIDs(interfacestore.GatewayInterface))
	})
}

// createPort removes the port again when vswitchd cannot add it.
func (i *Initializer) createPort(ctx context.Context, name string, create func() (string, error)) (uint32, error) {
	if _, err := create(); err != nil {
		return 0, err
	}
	ofPort, err := i.ofPort(ctx, name)
	if err != nil {
		return 0, errors.Join(err, i.ovs.DeletePort(name))
	}
	return ofPort, nil
}

func (i *Initializer) ofPort(ctx context.Context, name string) (uint32, error) {
	ctx, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	return i.ovs.GetOFPort(ctx, name)
}

func (i *Initializer) deletePorts(names []string) error {
	for _, name := range names {
		klog.InfoS("Deleting a port that is not needed any more", "port", name)
		if err := i.ovs.DeletePort(name); err != nil {
			return err
		}
	}
	return nil
}

func (i *Initializer) ensureType(p *ovsconfig.Port, t interfacestore.InterfaceType) error {
	if p.ExternalIDs[typeKey] == t.String() {
		return nil
	}
	ids := maps.Clone(p.ExternalIDs)
	if ids == nil {
		ids = map[string]string{}
	}
	ids[typeKey] = t.String()
	return i.ovs.SetPortExternalIDs(p.Name, ids)
}
