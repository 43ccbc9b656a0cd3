// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/leftover"
	"github.com/antrea-oncache/antrea/pkg/ovs/kerneldp"
)

const (
	// switchTimeout is for a container antrea-ovs that is about to end.
	switchTimeout  = time.Minute
	switchInterval = 200 * time.Millisecond
)

// waitForSwitch waits until no ovs-vswitchd runs on the Node: it would make again what is removed.
func waitForSwitch(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, switchTimeout)
	defer cancel()
	for waiting := false; ; waiting = true {
		sockets, err := kerneldp.Vswitchds()
		if err != nil || len(sockets) == 0 {
			return err
		}
		if !waiting {
			fmt.Fprintf(out, "waiting for ovs-vswitchd to end (%s)\n", strings.Join(sockets, ", "))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ovs-vswitchd still runs (%s): if it belongs to the container antrea-ovs, delete the DaemonSet antrea-agent; "+
				"if it is the Node's own, stop its service", strings.Join(sockets, ", "))
		case <-time.After(switchInterval):
		}
	}
}

// openvswitch finds the kernel's datapath and the devices that were made for it: the tunnel, and the devices of Pods,
// whose network ends with it. Other devices, such as a network card on the bridge, stay.
func (o *Options) openvswitch(context.Context) ([]leftover.Item, error) {
	ports, found, err := kerneldp.Ports()
	if err != nil || !found {
		return nil, err
	}
	if !slices.Contains(ports, o.Bridge) && !slices.Contains(ports, o.Gateway) {
		fmt.Fprintf(o.Out, "datapath %s stays: it has neither the bridge %s nor the gateway %s, but %s\n", kerneldp.Name, o.Bridge, o.Gateway, strings.Join(ports, ", "))
		return nil, nil
	}
	items := []leftover.Item{{
		Name:   fmt.Sprintf("datapath %s of Open vSwitch, with the bridge %s, the gateway %s, and the routes over it", kerneldp.Name, o.Bridge, o.Gateway),
		Remove: kerneldp.Delete,
	}}
	slices.Sort(ports)
	for _, name := range ports {
		link, err := netlink.LinkByName(name)
		if gone := (netlink.LinkNotFoundError{}); errors.As(err, &gone) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for device %s: %w", name, err)
		}
		if kind := madeFor(link); kind != "" {
			items = append(items, leftover.Item{Name: kind + " " + name, Remove: func() error { return deleteLink(name) }})
		}
	}
	return items, nil
}

// madeFor tells what a device is that the agent or vswitchd has made; empty for others. vswitchd names tunnel devices by type and port.
func madeFor(link netlink.Link) string {
	switch kind := link.Type(); kind {
	case "veth", "netkit":
		return "Pod interface"
	case "geneve", "vxlan", "gretap", "ip6gretap":
		if strings.Contains(link.Attrs().Name, "_sys") {
			return kind + " device"
		}
	}
	return ""
}

func deleteLink(name string) error {
	link, err := netlink.LinkByName(name)
	if gone := (netlink.LinkNotFoundError{}); errors.As(err, &gone) {
		return nil
	}
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if err != nil {
		return fmt.Errorf("delete device %s: %w", name, err)
	}
	return nil
}
