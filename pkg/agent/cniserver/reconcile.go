// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

// Reconcile brings the remains of an earlier agent in line with the Node's Pods. It must be called before networkReady
// closes. It looks at each Pod interface of the store, restored from the bridge. If the Pod or its host interface is gone,
// it removes flows, port, entry and device, and releases the addresses of a Pod that is gone. Otherwise it installs the
// flows again. After that it releases every lease whose address is neither in the status of a Pod nor in the store.
//
// It waits for podsSynced or the end of ctx. An interface that fails does not stop the others: the errors are joined, and
// the caller may call again. A panic over one interface is reported, but is not an error. Neither is it an error when Open
// vSwitch refuses both the policies of an interface and isolation: the interface is closed, and Run tries again. pods may
// contain Pods of other Nodes; they count as gone.
func (s *Server) Reconcile(ctx context.Context, pods corelisters.PodLister, podsSynced cache.InformerSynced) error {
	select {
	case <-s.networkReady:
		// The kubelet can be ahead of the informer: a new Pod would look like a deleted one.
		return errors.New("reconcile Pod interfaces: the network is ready already and new Pods may exist, want a call before that")
	default:
	}
	if !cache.WaitForCacheSync(ctx.Done(), podsSynced) {
		return fmt.Errorf("reconcile Pod interfaces: wait for the list of Pods: %w", context.Cause(ctx))
	}
	var errs []error
	for _, c := range s.store.GetInterfacesByType(interfacestore.ContainerInterface) {
		subject := problem.Subject{Kind: "Pod", Namespace: c.PodNamespace, Name: c.PodName}
		if err := recovery.Call(boundaryName, subject, func() error { return s.reconcileInterface(ctx, c, pods) }, "interface", c.InterfaceName); recovery.Is(err) {
			// It would panic again. This Pod stays without flows; neither the others nor the Node wait for it.
			continue
		} else if isLasting(err) {
			klog.ErrorS(err, "A Pod stays disconnected until its policies can be put in force", "pod", klog.KRef(c.PodNamespace, c.PodName), "interface", c.InterfaceName)
			s.closed.add(c, pods)
		} else if err != nil {
			errs = append(errs, fmt.Errorf("reconcile interface %s of Pod %s/%s: %w", c.InterfaceName, c.PodNamespace, c.PodName, err))
		}
	}
	if err := s.collectLeases(pods); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (s *Server) reconcileInterface(ctx context.Context, listed *interfacestore.InterfaceConfig, pods corelisters.PodLister) error {
	unlock, err := s.lockContainer(ctx, listed.ContainerID)
	if err != nil {
		return err
	}
	defer unlock()
	unlockName, err := s.lockName(ctx, listed.InterfaceName)
	if err != nil {
		return err
	}
	defer unlockName()
	c, known := s.store.GetInterfaceByName(listed.InterfaceName)
	known = known && isContainer(c, listed.ContainerID)
	pod, err := pods.Pods(listed.PodNamespace).Get(listed.PodName)
	switch {
	case apierrors.IsNotFound(err) || err == nil && !s.isLocalPod(pod):
		return s.removeGone(ctx, listed, known)
	case !known:
		return nil // A DEL was faster, or an earlier attempt has removed an interface that did not work.
	case err != nil:
		return fmt.Errorf("look up the Pod: %w", err)
	}
	return s.restoreInterface(ctx, c)
}

// removeGone removes the interface of a deleted Pod, if it is known, and then releases the addresses. It is unknown
// after a DEL, or after an attempt that has failed since: in the latter case nothing else would release them.
func (s *Server) removeGone(ctx context.Context, c *interfacestore.InterfaceConfig, known bool) error {
	if known {
		klog.InfoS("Removing the interface of a Pod that is gone", "interface", c.InterfaceName, "pod", klog.KRef(c.PodNamespace, c.PodName), "container", c.ContainerID)
		if err := s.removeRestored(ctx, c.InterfaceName); err != nil {
			return err
		}
	}
	if err := s.releaseLeases(c.ContainerID, c.IFDev); err != nil {
		return err
	}
	s.did("lease released")
	return nil
}

// removeRestored is removeInterface, except that it removes the device before the port. After an interrupted DEL a
// runtime tries again, but here it may never do so. If the agent dies half-way, the next one finds the rest by the
// port.
func (s *Server) removeRestored(ctx context.Context, name string) error {
	if err := s.uninstallFlows(ctx, name); err != nil {
		return err
	}
	if err := s.deleteLink(name); err != nil {
		return err
	}
	return s.removeInterface(ctx, name)
}

// restoreInterface installs the flows of an interface again once its policies are in force, or closes the interface if they
// cannot be, or removes one that no longer works. In that case the address stays allocated until the runtime's DEL.
func (s *Server) restoreInterface(ctx context.Context, c *interfacestore.InterfaceConfig) error {
	ofPort, err := s.workingOFPort(ctx, c.InterfaceName)
	if err != nil {
		return err
	}
	if ofPort == 0 {
		klog.InfoS("Removing an interface that does not work any more", "interface", c.InterfaceName, "pod", klog.KRef(c.PodNamespace, c.PodName), "container", c.ContainerID)
		return s.removeRestored(ctx, c.InterfaceName)
	}
	if err := s.ports.RequestOFPort(c.InterfaceName, ofPort); err != nil {
		return fmt.Errorf("keep the OpenFlow port: %w", err)
	}
	restored := c
	if c.OVSPortConfig == nil || c.OFPort != ofPort {
		moved := *c
		moved.OVSPortConfig = &interfacestore.OVSPortConfig{OFPort: ofPort}
		if c.OVSPortConfig != nil {
			moved.PortUUID = c.PortUUID
		}
		restored = &moved
	}
	if s.cfg.Policies != nil {
		if err := s.cfg.Policies.PodArrives(restored); err != nil {
			return s.closeUnprotected(ctx, restored, fmt.Errorf("install policies: %w", err))
		}
		s.did("policies installed")
	}
	if err := s.flows.InstallPodFlows(ctx, c.InterfaceName, c.IPs, c.MAC, ofPort); err != nil {
		return fmt.Errorf("install flows: %w", err)
	}
	s.did("flows installed")
	if restored != c {
		s.store.AddInterface(restored)
	}
	return nil
}

// workingOFPort returns the interface's OpenFlow port, or 0 when its device is gone or OVS cannot use it. If OVS does not
// answer in time, that is an error: it says nothing about the interface.
func (s *Server) workingOFPort(ctx context.Context, name string) (uint32, error) {
	if _, err := netlink.LinkByName(name); err != nil {
		if isLinkNotFound(err) {
			return 0, nil
		}
		return 0, fmt.Errorf("find host interface: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, ofPortTimeout)
	defer cancel()
	ofPort, err := s.ports.GetOFPort(ctx, name)
	if err == nil {
		return ofPort, nil
	}
	if ctx.Err() != nil {
		return 0, fmt.Errorf("OpenFlow port: %w", err)
	}
	// A Pod may lose its interface only if OVSDB is certain.
	port, found, lookUpErr := s.ports.GetPort(name)
	if lookUpErr != nil || found && port.OFPort != 0 {
		return 0, fmt.Errorf("OpenFlow port: %w", errors.Join(err, lookUpErr))
	}
	klog.ErrorS(err, "OVS cannot use the interface", "interface", name)
	return 0, nil
}

// isLocalPod reports whether the server is responsible for the Pod's interface.
func (s *Server) isLocalPod(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == s.cfg.Node.Name && !pod.Spec.HostNetwork
}

// collectLeases releases the addresses of neither a Pod nor an interface.
func (s *Server) collectLeases(lister corelisters.PodLister) error {
	pods, err := lister.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list Pods to collect unused addresses: %w", err)
	}
	keep := map[netip.Addr]bool{}
	for _, pod := range pods {
		if !s.isLocalPod(pod) {
			continue
		}
		for _, ip := range append([]corev1.PodIP{{IP: pod.Status.PodIP}}, pod.Status.PodIPs...) {
			if addr, err := netip.ParseAddr(ip.IP); err == nil {
				keep[addr.Unmap()] = true
			}
		}
	}
	for _, c := range s.store.GetInterfacesByType(interfacestore.ContainerInterface) {
		for _, ip := range c.IPs {
			keep[ip.Unmap()] = true
		}
	}
	return s.releaseLeasesExcept(keep)
}
