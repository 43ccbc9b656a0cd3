// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/upkeep"
	"github.com/antrea-oncache/antrea/pkg/ovs/kerneldp"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

// lookInterval is the time between two looks at the fixed ports, which cost some microseconds: OVSDB's content is in memory.
const lookInterval = 2 * time.Second

// Upkeep keeps the bridge, its two fixed ports and their devices as Initialize has made them.
func (i *Initializer) Upkeep() []upkeep.Part {
	return []upkeep.Part{
		{Name: "tunnel", Every: lookInterval, Events: upkeep.Links, Repair: i.restoreTunnel},
		{Name: "gateway", Every: lookInterval, Events: upkeep.Links | upkeep.Addresses | upkeep.Settings, Repair: i.restoreGateway},
	}
}

func (i *Initializer) restorePorts(ctx context.Context) error {
	return errors.Join(i.restoreGateway(ctx), i.restoreTunnel(ctx))
}

// restoreGateway makes the gateway again what Initialize made it.
func (i *Initializer) restoreGateway(ctx context.Context) error {
	i.restoring.Lock()
	defer i.restoring.Unlock()
	ports, err := i.restoreBridge(ctx)
	if err != nil {
		return err
	}
	gateway, err := i.ensureGatewayPort(ctx, ports, i.node.Gateway.MAC)
	if err != nil {
		return fmt.Errorf("restore the gateway port: %w", err)
	}
	if gateway.Name != i.node.Gateway.Name {
		return fmt.Errorf("the gateway port is called %s, want %s: restart the agent", gateway.Name, i.node.Gateway.Name)
	}
	if err := i.keepOFPort(ctx, gateway.Name, gateway.OFPort, i.node.Gateway.OFPort); err != nil {
		return err
	}
	if err := i.restoreGatewayDevice(ctx, gateway); err != nil {
		return err
	}
	if i.gatewayMTU > i.node.MTU {
		i.gatewayMTU = gatewayMTU(ports, i.node) // the last Pod with a larger one may be gone
	}
	_, err = i.configureGateway(ctx, gateway)
	return err
}

// restoreGatewayDevice recreates the port if its device is gone: deleted from the kernel's datapath, or moved to
// another network namespace.
func (i *Initializer) restoreGatewayDevice(ctx context.Context, gateway *config.GatewayConfig) error {
	present := func() (bool, error) {
		_, err := netlink.LinkByName(gateway.Name)
		return err == nil, ignoreGone(err)
	}
	return i.remake(ctx, gateway.Name, present, func() (uint32, error) { return i.createGatewayPort(ctx, gateway) })
}

// restoreTunnel makes the tunnel again what Initialize made it.
func (i *Initializer) restoreTunnel(ctx context.Context) error {
	i.restoring.Lock()
	defer i.restoring.Unlock()
	ports, err := i.restoreBridge(ctx)
	if err != nil {
		return err
	}
	// The cache's entries contain headers for the tunnel as configured.
	ofPort, err := i.ensureTunnelPort(ctx, ports, func() error { return nil })
	if err != nil {
		return errors.Join(fmt.Errorf("restore the tunnel port: %w", err), checkTunnelPort(i.network.TunnelType, i.network.TunnelPort))
	}
	name := config.DefaultTunPortName
	if existing, _ := existingPort(ports, interfacestore.TunnelInterface, name); existing != nil {
		name = existing.Name
	}
	if err := i.keepOFPort(ctx, name, ofPort, i.node.TunnelOFPort); err != nil {
		return err
	}
	if i.options.TunnelDevice == nil {
		return nil
	}
	return i.restoreTunnelDevice(ctx, name, i.options.TunnelDevice(string(i.network.TunnelType), i.network.TunnelPort))
}

// restoreBridge returns the ports of the bridge, which it makes if it is gone.
func (i *Initializer) restoreBridge(ctx context.Context) ([]ovsconfig.Port, error) {
	ports, err := i.ovs.ListPorts()
	if err == nil {
		return ports, nil
	}
	if createErr := i.applied(ctx); createErr != nil {
		return nil, errors.Join(err, createErr)
	}
	klog.InfoS("Restored the bridge", "bridge", i.node.OVSBridge, "reason", err)
	return i.ovs.ListPorts()
}

// Reconfigure makes ovs-vswitchd apply the database again. Then it adds devices that others have removed from the
// kernel's datapath, except tunnels.
func (i *Initializer) Reconfigure(ctx context.Context) error { return i.applied(ctx) }

// applied returns when ovs-vswitchd has applied what is in the database.
func (i *Initializer) applied(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	return i.ovs.Create(ctx)
}

// keepOFPort restores the port number that the pipeline's flows use, if it has changed.
func (i *Initializer) keepOFPort(ctx context.Context, name string, have, want uint32) error {
	if have == want {
		return nil
	}
	klog.InfoS("The OpenFlow port was changed, changing it back", "port", name, "ofPort", have, "wantOFPort", want)
	err := i.ovs.RequestOFPort(name, want)
	if err == nil {
		err = i.applied(ctx)
	}
	if err == nil {
		have, err = i.ofPort(ctx, name)
	}
	if err == nil && have != want {
		err = fmt.Errorf("it is %d", have)
	}
	if err != nil {
		return fmt.Errorf("give port %s the OpenFlow port %d again (or restart the agent): %w", name, want, err)
	}
	return nil
}

// remake deletes a port and creates it again if its device is not present even when ovs-vswitchd has applied what is in the database: it does not
// make a device again that others have removed.
func (i *Initializer) remake(ctx context.Context, name string, present func() (bool, error), create func() (uint32, error)) error {
	if there, err := present(); there || err != nil {
		return err
	}
	if err := i.checkDatapath(); err != nil {
		return fmt.Errorf("the device of port %s is gone: %w", name, err)
	}
	if err := i.applied(ctx); err != nil {
		return fmt.Errorf("the device of port %s is gone: %w", name, err)
	}
	if there, err := present(); there || err != nil {
		return err
	}
	klog.InfoS("The device of a port was removed, recreating it", "port", name)
	if err := i.ovs.DeletePort(name); err != nil {
		return err
	}
	// Otherwise ovs-vswitchd would see both changes at once, which are none.
	if err := i.applied(ctx); err != nil {
		return err
	}
	if _, err := create(); err != nil {
		return fmt.Errorf("recreate port %s: %w", name, err)
	}
	deadline := time.Now().Add(portTimeout)
	for {
		there, err := present()
		if there || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("port %s was recreated, but has no device after %s: see the log of ovs-vswitchd", name, portTimeout)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(linkPollInterval):
		}
	}
}

// checkDatapath fails if the kernel has no datapath, which only a new ovs-vswitchd makes, with the ports that are in the database.
func (i *Initializer) checkDatapath() error {
	if i.options.TunnelDevice == nil {
		return nil
	}
	exists, err := kerneldp.Exists()
	if err == nil && !exists {
		err = errors.New("the kernel has no datapath of Open vSwitch: restart ovs-vswitchd (container antrea-ovs)")
	}
	return err
}

// ignoreGone returns no error for a device that does not exist.
func ignoreGone(err error) error {
	if gone := (netlink.LinkNotFoundError{}); errors.As(err, &gone) {
		return nil
	}
	return err
}
