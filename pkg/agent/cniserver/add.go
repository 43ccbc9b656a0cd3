// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/ns"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/macaddr"
)

// maxAllocations bounds how often ADD asks for another address.
const maxAllocations = 256

// add connects a container. For a container that is already connected it returns the same result if everything is still in
// place. Otherwise it removes what exists and starts again, so that a repeated ADD never leaks. When add fails it undoes
// all its steps. If undoing fails too, the runtime's DEL removes the rest.
func (s *Server) add(ctx context.Context, req *request) (result *current.Result, err error) {
	if err := s.waitForNetwork(ctx); err != nil {
		return nil, err
	}
	if err := checkPrevResult(req); err != nil {
		return nil, err
	}
	unlock, err := s.lockContainer(ctx, req.containerID)
	if err != nil {
		return nil, err
	}
	defer unlock()
	pod, err := openNetNS(netnsPath(s.cfg.HostProcPathPrefix, req.netns))
	if err != nil {
		return nil, err
	}
	defer pod.Close()

	existing, found := s.findInterface(req)
	if found {
		reusable := s.verifyInterface(pod, req, existing)
		if reusable == nil {
			klog.InfoS("Container is connected already", "container", req.containerID, "interface", existing.InterfaceName)
			return s.result(req, existing)
		}
		klog.InfoS("Connecting the container again", "container", req.containerID, "interface", existing.InterfaceName, "reason", reusable)
		if err := s.disconnect(ctx, req, existing.InterfaceName); err != nil {
			return nil, err
		}
	}
	unlockName, err := s.lockName(ctx, req.hostInterface)
	if err != nil {
		return nil, err
	}
	defer unlockName()
	if err := s.claimName(ctx, req); err != nil {
		return nil, err
	}
	return s.connect(ctx, req, pod)
}

// waitForNetwork blocks ADD until the Node can forward a Pod's packets.
func (s *Server) waitForNetwork(ctx context.Context) error {
	select {
	case <-s.networkReady:
		return nil
	default:
	}
	timer := time.NewTimer(s.networkReadyTimeout)
	defer timer.Stop()
	reason := ""
	select {
	case <-s.networkReady:
		return nil
	case <-timer.C:
		reason = fmt.Sprintf("not after %s", s.networkReadyTimeout)
	case <-s.stopping.Done():
		reason = "the agent is stopping"
	case <-ctx.Done():
		reason = ctx.Err().Error()
	}
	return errorf(cnipb.ErrorCode_TRY_AGAIN_LATER, "the Node's network is not ready for Pods: %s", reason)
}

// claimName makes sure that the host interface's name is free. It removes the remains of an earlier attempt for this
// container, and refuses a name that belongs to another container.
func (s *Server) claimName(ctx context.Context, req *request) error {
	owned, portExists, err := s.ownsName(req.hostInterface, req.containerID)
	if err != nil {
		return err
	}
	if !owned {
		return errorf(cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE, "the name %s of the host interface is used by another container, want a sandbox with another ID", req.hostInterface)
	}
	if !portExists {
		return s.deleteLink(req.hostInterface)
	}
	return s.removeInterface(ctx, req.hostInterface)
}

// undoStack holds the functions that undo the steps of an ADD.
type undoStack []func(context.Context) error

func (u *undoStack) push(step func(context.Context) error) { *u = append(*u, step) }

// unwind undoes the steps, last first, and stops at the first failure: an address must not become free for others while
// flows or a port with it exist.
func (u undoStack) unwind(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	for i := len(u) - 1; i >= 0; i-- {
		if err := u[i](ctx); err != nil {
			return err
		}
	}
	return nil
}

// connect takes all steps of ADD under both locks, with the name free, or none of them.
func (s *Server) connect(ctx context.Context, req *request, pod ns.NetNS) (result *current.Result, err error) {
	var undo undoStack
	connected := false
	defer func() {
		if !connected { // after an error, or after a panic, which continues to the request's boundary
			err = s.takeBack(ctx, req, undo, err)
		}
	}()
	result, err = s.connectSteps(ctx, req, pod, &undo)
	connected = err == nil
	return result, err
}

// takeBack undoes the steps after err. It returns err, extended if undoing failed as well.
func (s *Server) takeBack(ctx context.Context, req *request, undo undoStack, err error) error {
	undoErr := undo.unwind(ctx)
	if undoErr == nil {
		return err
	}
	klog.ErrorS(undoErr, "Could not undo a failed ADD; DEL must do it", "container", req.containerID, "interface", req.hostInterface)
	code := cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE
	if coded := (*cniError)(nil); errors.As(err, &coded) {
		code = coded.code
	}
	return errorf(code, "%w; undoing it failed: %w", err, undoErr)
}

// connectSteps takes the steps and adds their inverses to undo. The outcome of some steps can be unknown after an error;
// these are undone even when they fail, so their undo is added first.
func (s *Server) connectSteps(ctx context.Context, req *request, pod ns.NetNS, undo *undoStack) (*current.Result, error) {
	addresses, err := s.allocate(ctx, req, pod, undo)
	if err != nil {
		return nil, err
	}
	pair := s.newPodInterface(req, addresses)
	if err := createPair(pod, pair); err != nil {
		return nil, configError(err)
	}
	undo.push(func(context.Context) error { return s.deleteLink(pair.hostName) })
	s.did("pair created")
	if err := s.configurePair(pod, pair); err != nil {
		return nil, configError(err)
	}
	s.did("pair configured")
	iface := s.newInterfaceConfig(req, pair)
	undo.push(func(context.Context) error { return s.deletePort(pair.hostName) })
	if err := s.createPort(ctx, iface); err != nil {
		return nil, configError(err)
	}
	result, err := s.result(req, iface)
	if err != nil {
		return nil, err
	}
	if err := s.admit(ctx, iface, undo); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, configError(fmt.Errorf("the runtime has given up: %w", err))
	}
	s.store.AddInterface(iface)
	s.did("interface stored")
	s.announceInBackground(pod, pair)
	return result, nil
}

// allocate leases addresses that no interface of the Node has. The plugin may offer an address in use, because it does not
// know the leases in another directory that the CNI configuration named before.
func (s *Server) allocate(ctx context.Context, req *request, pod ns.NetNS, undo *undoStack) ([]podAddress, error) {
	ipam, err := s.ipam.prepare(req)
	if err != nil {
		return nil, err
	}
	if err := s.leases.note(s.leaseDirOf(req)); err != nil {
		return nil, errorf(cnipb.ErrorCode_IPAM_FAILURE, "%w", err)
	}
	s.did("directory of the leases noted")
	undo.push(func(ctx context.Context) error {
		defer s.did("lease released")
		return ipam.del(ctx)
	})
	for attempt := 1; ; attempt++ {
		addresses, err := ipam.add(ctx, pod.Path())
		if err != nil && attempt == 1 {
			// The container may have addresses from an ADD or DEL that an agent did not live to finish; host-local gives it
			// no others.
			if err := ipam.del(ctx); err != nil {
				return nil, err
			}
			addresses, err = ipam.add(ctx, pod.Path())
		}
		if err != nil {
			return nil, err
		}
		s.did("address leased")
		inUse := s.addressInUse(addresses)
		if inUse == nil {
			return addresses, nil
		}
		if attempt == maxAllocations {
			return nil, errorf(cnipb.ErrorCode_IPAM_FAILURE, "%s has given %d addresses in use, the last one %w", hostLocalType, attempt, inUse)
		}
		klog.InfoS("Asking for another address", "container", req.containerID, "reason", inUse)
		// The plugin offers addresses in turn, so the next one follows this one.
		if err := ipam.del(ctx); err != nil {
			return nil, err
		}
		s.did("address in use released")
	}
}

// addressInUse returns an error that names an address which an interface has.
func (s *Server) addressInUse(addresses []podAddress) error {
	for _, a := range addresses {
		if c, ok := s.store.GetInterfaceByIP(a.prefix.Addr()); ok {
			return fmt.Errorf("%s of interface %s: its lease is in another directory", a.prefix.Addr(), c.InterfaceName)
		}
	}
	return nil
}

// admit installs the Pod's policies and then lets its packets pass.
func (s *Server) admit(ctx context.Context, iface *interfacestore.InterfaceConfig, undo *undoStack) error {
	if s.cfg.Policies != nil {
		undo.push(func(context.Context) error { s.cfg.Policies.PodLeaves(iface); return nil })
		if err := s.cfg.Policies.PodArrives(iface); err != nil {
			return configError(fmt.Errorf("install the policies of host interface %s: %w", iface.InterfaceName, err))
		}
		s.did("policies installed")
	}
	undo.push(func(context.Context) error { s.store.DeleteInterface(iface); return nil })
	undo.push(func(ctx context.Context) error { return s.uninstallFlows(ctx, iface.InterfaceName) })
	if err := s.flows.InstallPodFlows(ctx, iface.InterfaceName, iface.IPs, iface.MAC, iface.OFPort); err != nil {
		return configError(fmt.Errorf("install flows of host interface %s: %w", iface.InterfaceName, err))
	}
	s.did("flows installed")
	return nil
}

func (s *Server) newPodInterface(req *request, addresses []podAddress) *podInterface {
	return &podInterface{
		kind: s.cfg.PodInterfaceType, hostName: req.hostInterface, ifname: req.ifname, mtu: s.mtu(req), addresses: addresses,
		mac: macaddr.Random(), hostMAC: macaddr.Random(),
	}
}

func (s *Server) mtu(req *request) int {
	if req.conf.mtu != 0 {
		return req.conf.mtu
	}
	return s.cfg.Node.MTU
}

// configurePair sets up the host side first. The container side then has a carrier when it is set up, and can send at once.
// In the other order the kernel drops its packets until it has processed the change of the carrier.
func (s *Server) configurePair(pod ns.NetNS, pair *podInterface) error {
	if err := setHostSideUp(pair.hostName); err != nil {
		return err
	}
	if s.cfg.DisableTXChecksumOffload {
		if err := disableTXChecksum(pod, pair.ifname); err != nil {
			return err
		}
	}
	if err := setPodSysctls(pod, pair); err != nil {
		return err
	}
	return configureContainerSide(pod, pair)
}

func (s *Server) newInterfaceConfig(req *request, pair *podInterface) *interfacestore.InterfaceConfig {
	ips := make([]netip.Addr, len(pair.addresses))
	for i, a := range pair.addresses {
		ips[i] = a.prefix.Addr()
	}
	return &interfacestore.InterfaceConfig{
		Type:          interfacestore.ContainerInterface,
		InterfaceName: pair.hostName,
		IPs:           ips,
		MAC:           pair.mac,
		ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{
			ContainerID:  req.containerID,
			PodName:      req.podName,
			PodNamespace: req.podNamespace,
			IFDev:        req.ifname,
			NetNS:        req.netns,
		},
	}
}

// createPort puts the host side on the bridge and adds to iface what OVS has assigned.
func (s *Server) createPort(ctx context.Context, iface *interfacestore.InterfaceConfig) error {
	uuid, err := s.ports.CreatePort(iface.InterfaceName, PortExternalIDs(iface))
	if err != nil {
		return fmt.Errorf("create OVS port %s: %w", iface.InterfaceName, err)
	}
	s.did("port created")
	ctx, cancel := context.WithTimeout(ctx, ofPortTimeout)
	defer cancel()
	ofPort, err := s.ports.GetOFPort(ctx, iface.InterfaceName)
	if err != nil {
		return fmt.Errorf("OpenFlow port of OVS port %s: %w", iface.InterfaceName, err)
	}
	// Flows name Pods by these numbers.
	if err := s.ports.RequestOFPort(iface.InterfaceName, ofPort); err != nil {
		return fmt.Errorf("keep the OpenFlow port of OVS port %s: %w", iface.InterfaceName, err)
	}
	iface.OVSPortConfig = &interfacestore.OVSPortConfig{PortUUID: uuid, OFPort: ofPort}
	return nil
}

// announceInBackground announces the Pod's addresses to its neighbors without delaying the result. A Pod works without it.
func (s *Server) announceInBackground(pod ns.NetNS, pair *podInterface) {
	fd, err := packetSocket(pod, pair.ifname)
	if err != nil {
		klog.ErrorS(err, "Not announcing the addresses of the Pod", "interface", pair.hostName)
		return
	}
	s.background.Go(func() {
		_ = recovery.Call("announcement", recovery.Part("announcement of Pods"), func() error { announcePod(s.stopping, fd, pair); return nil })
	})
}

// configError gives an error without a code the code for a failure to configure the interface (102).
func configError(err error) error {
	if err == nil {
		return nil
	}
	return errorf(cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE, "%w", err)
}
