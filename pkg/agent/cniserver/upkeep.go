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
	// busyTimeout limits the time for which a look waits for a request about the same Pod. The next look comes soon.
	busyTimeout = time.Second
	// patience is the number of failed repairs in a row after which a Pod has a problem.
	patience = 2
)

// podState is the state of a Pod's host interface. Port says that the database has its row, sameNumber that the row has
// the OpenFlow port that flows use.
type podState struct{ device, up, attached, port, sameNumber bool }

// podRepair is the repair that an interface needs.
type podRepair int

const (
	nothingToRepair podRepair = iota
	setUp
	addPort
	// renumber is for a port whose flows have another number.
	renumber
	// attach is for a port whose device Open vSwitch does not have.
	attach
	// replacePod is beyond repair: the device in the Pod was deleted with the host's device.
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
	case !p.sameNumber:
		return renumber
	case !p.attached:
		return attach
	}
	return nothingToRepair
}

// podKeeper keeps the interfaces of Pods as ADD has made them. Its methods are not for concurrent use.
type podKeeper struct {
	server   *Server
	problems problem.Reporter
	// reported are the Pods with a problem, failures counts the last repairs in turn that have failed, both by interface.
	reported map[string]problem.Subject
	failures map[string]int
}

// Upkeep keeps the host devices and ports of Pods, and reports to problems those that cannot be repaired.
func (s *Server) Upkeep(problems problem.Reporter) upkeep.Part {
	k := &podKeeper{server: s, problems: problems, reported: map[string]problem.Subject{}, failures: map[string]int{}}
	return upkeep.Part{Name: "devices of Pods", Every: lookInterval, Events: upkeep.Links, Repair: k.repairAll}
}

// repairAll repairs all Pods' interfaces. One that cannot be repaired is a problem of its Pod, not a failure.
func (k *podKeeper) repairAll(ctx context.Context) error {
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
		state, err := k.server.podState(c, devices[c.InterfaceName])
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
	for name := range k.failures {
		if !present[name] {
			k.resolve(name)
		}
	}
	return errors.Join(errs...)
}

func (s *Server) podState(c *interfacestore.InterfaceConfig, device *netlink.LinkAttrs) (podState, error) {
	port, found, err := s.ports.GetPort(c.InterfaceName)
	if err != nil {
		return podState{}, err
	}
	p := podState{device: device != nil, port: found}
	// Without a number ovs-vswitchd is about to give one, the same as before.
	p.sameNumber = found && (port.OFPort == 0 || c.OVSPortConfig != nil && port.OFPort == c.OFPort)
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
	state, err := s.podState(c, device)
	if err != nil {
		return err
	}
	repair := state.repair()
	err = s.repairInterface(ctx, c, link, repair)
	if err == nil {
		k.resolve(c.InterfaceName)
		return nil
	}
	if k.failures[c.InterfaceName]++; repair == replacePod || k.failures[c.InterfaceName] >= patience {
		k.report(c, err)
	}
	if repair == replacePod {
		return nil
	}
	return fmt.Errorf("interface of Pod %s/%s: %w", c.PodNamespace, c.PodName, err)
}

func (s *Server) repairInterface(ctx context.Context, c *interfacestore.InterfaceConfig, link netlink.Link, repair podRepair) error {
	if repair != nothingToRepair && repair != replacePod {
		klog.InfoS("Repairing the interface of a Pod, which another program has changed", "pod", klog.KRef(c.PodNamespace, c.PodName), "interface", c.InterfaceName)
	}
	switch repair {
	case setUp:
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("its host interface %s is down and cannot be set up: %w", c.InterfaceName, err)
		}
	case addPort:
		if _, err := s.ports.CreatePort(c.InterfaceName, PortExternalIDs(c)); err != nil {
			return fmt.Errorf("its port was deleted, and cannot be recreated: %w", err)
		}
		return s.installAnew(ctx, c)
	case renumber:
		return s.installAnew(ctx, c)
	case attach:
		if err := s.cfg.Reconfigure(ctx); err != nil {
			return fmt.Errorf("its host interface %s is not attached to Open vSwitch: %w", c.InterfaceName, err)
		}
		link, err := netlink.LinkByName(c.InterfaceName)
		if err == nil && link.Attrs().MasterIndex == 0 {
			err = errors.New("it has not added it again; delete the Pod, so that another one replaces it")
		}
		if err != nil {
			return fmt.Errorf("its host interface %s is not attached to Open vSwitch: %w", c.InterfaceName, err)
		}
	case replacePod:
		return fmt.Errorf("its host interface %s is gone, and with it the Pod's; delete the Pod, so that another one replaces it", c.InterfaceName)
	}
	return nil
}

func (s *Server) installAnew(ctx context.Context, c *interfacestore.InterfaceConfig) error {
	if err := s.restoreInterface(ctx, c); err != nil {
		return fmt.Errorf("its port was recreated, without flows: %w", err)
	}
	return nil
}

func (k *podKeeper) report(c *interfacestore.InterfaceConfig, err error) {
	subject := problem.Subject{Kind: "Pod", Namespace: c.PodNamespace, Name: c.PodName}
	k.reported[c.InterfaceName] = subject
	k.problems.Report(ReasonDisconnected, subject, fmt.Sprintf("the Pod has no network: %v", err))
}

func (k *podKeeper) resolve(name string) {
	delete(k.failures, name)
	if subject, reported := k.reported[name]; reported {
		delete(k.reported, name)
		k.problems.Resolve(ReasonDisconnected, subject)
	}
}
