// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
	"github.com/antrea-oncache/antrea/pkg/agent/upkeep"
)

const (
	// ReasonDisconnected is the problem of a Pod whose device or port others have removed, and which only a new Pod replaces.
	ReasonDisconnected problem.Reason = "PodDisconnected"

	// lookInterval is the time between two looks at all Pods without events.
	lookInterval = 10 * time.Second
	// busyTimeout is how long a look waits for a request about the same Pod. The next look comes soon.
	busyTimeout = time.Second
)

// podState is what there is of a Pod's host interface.
type podState struct{ device, up, attached, port bool }

// podRepair is what an interface needs.
type podRepair int

const (
	nothingToRepair podRepair = iota
	setUp
	addPort
	// attach is for a port whose device Open vSwitch does not have.
	attach
	// replacePod is beyond repair: the device in the Pod has gone with that of the host.
	replacePod
)

func (p podState) repair() podRepair {
	switch {
	case !p.device:
		return replacePod
	case !p.up:
		return setUp
	case !p.port:
		return addPort
	case !p.attached:
		return attach
	}
	return nothingToRepair
}

// podKeeper keeps the interfaces of Pods as ADD has made them. Its methods are not for concurrent use.
type podKeeper struct {
	server   *Server
	problems problem.Reporter
	// reported are the Pods with a problem, by interface.
	reported map[string]problem.Subject
}

// Upkeep keeps the host devices and ports of Pods, and reports to problems those that cannot be repaired.
func (s *Server) Upkeep(problems problem.Reporter) upkeep.Part {
	k := &podKeeper{server: s, problems: problems, reported: map[string]problem.Subject{}}
	return upkeep.Part{Name: "devices of Pods", Every: lookInterval, Events: upkeep.Links, Repair: k.look}
}

// look repairs all Pods' interfaces. One that cannot be repaired is a problem of its Pod, not a failure.
func (k *podKeeper) look(ctx context.Context) error {
	links, err := rtnl.Links()
	if err != nil {
		return fmt.Errorf("list network devices: %w", err)
	}
	devices := make(map[string]*netlink.LinkAttrs, len(links))
	for _, l := range links {
		devices[l.Attrs().Name] = l.Attrs()
	}
	present := map[string]bool{}
	var errs []error
	for _, c := range k.server.store.GetInterfacesByType(interfacestore.ContainerInterface) {
		present[c.InterfaceName] = true
		state, err := k.server.podState(c.InterfaceName, devices[c.InterfaceName])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if state.repair() == nothingToRepair {
			k.resolve(c.InterfaceName)
			continue
		}
		errs = append(errs, k.repair(ctx, c))
	}
	for name := range k.reported {
		if !present[name] {
			k.resolve(name)
		}
	}
	return errors.Join(errs...)
}

func (s *Server) podState(name string, device *netlink.LinkAttrs) (podState, error) {
	_, found, err := s.ports.GetPort(name)
	if err != nil {
		return podState{}, err
	}
	p := podState{device: device != nil, port: found}
	if device != nil {
		p.up = device.Flags&net.FlagUp != 0
		p.attached = s.cfg.Reconfigure == nil || device.MasterIndex != 0
	}
	return p, nil
}

// repair looks again while no request can change the interface.
func (k *podKeeper) repair(ctx context.Context, listed *interfacestore.InterfaceConfig) error {
	s := k.server
	waiting, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	unlock, err := s.lockContainer(waiting, listed.ContainerID)
	if err != nil {
		return nil
	}
	defer unlock()
	unlockName, err := s.lockName(waiting, listed.InterfaceName)
	if err != nil {
		return nil
	}
	defer unlockName()
	c, known := s.store.GetInterfaceByName(listed.InterfaceName)
	if !known || !isContainer(c, listed.ContainerID) {
		return nil
	}
	link, err := netlink.LinkByName(c.InterfaceName)
	if err != nil && !isLinkNotFound(err) {
		return fmt.Errorf("find host interface %s: %w", c.InterfaceName, err)
	}
	var device *netlink.LinkAttrs
	if err == nil {
		device = link.Attrs()
	}
	state, err := s.podState(c.InterfaceName, device)
	if err != nil {
		return err
	}
	if err := s.repairInterface(ctx, c, link, state.repair()); err != nil {
		k.report(c, err)
		return nil
	}
	k.resolve(c.InterfaceName)
	return nil
}

func (s *Server) repairInterface(ctx context.Context, c *interfacestore.InterfaceConfig, link netlink.Link, repair podRepair) error {
	if repair != nothingToRepair && repair != replacePod {
		klog.InfoS("Somebody has changed the interface of a Pod, repairing it", "pod", klog.KRef(c.PodNamespace, c.PodName), "interface", c.InterfaceName)
	}
	switch repair {
	case setUp:
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("its host interface %s is down and cannot be set up: %w", c.InterfaceName, err)
		}
	case addPort:
		if _, err := s.ports.CreatePort(c.InterfaceName, PortExternalIDs(c)); err != nil {
			return fmt.Errorf("its port was deleted, and cannot be made anew: %w", err)
		}
		if err := s.restoreInterface(ctx, c); err != nil {
			return fmt.Errorf("its port was deleted and made anew, without flows: %w", err)
		}
	case attach:
		if err := s.cfg.Reconfigure(ctx); err != nil {
			return fmt.Errorf("Open vSwitch does not have its host interface %s: %w", c.InterfaceName, err)
		}
		link, err := netlink.LinkByName(c.InterfaceName)
		if err == nil && link.Attrs().MasterIndex == 0 {
			err = errors.New("it has not added it again; delete the Pod, so that another one replaces it")
		}
		if err != nil {
			return fmt.Errorf("Open vSwitch does not have its host interface %s: %w", c.InterfaceName, err)
		}
	case replacePod:
		return fmt.Errorf("its host interface %s is gone, and with it the Pod's; delete the Pod, so that another one replaces it", c.InterfaceName)
	}
	return nil
}

func (k *podKeeper) report(c *interfacestore.InterfaceConfig, err error) {
	subject := problem.Subject{Kind: "Pod", Namespace: c.PodNamespace, Name: c.PodName}
	k.reported[c.InterfaceName] = subject
	k.problems.Report(ReasonDisconnected, subject, fmt.Sprintf("the Pod has no network: %v", err))
}

func (k *podKeeper) resolve(name string) {
	if subject, reported := k.reported[name]; reported {
		delete(k.reported, name)
		k.problems.Resolve(ReasonDisconnected, subject)
	}
}
