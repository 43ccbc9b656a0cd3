// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

// del disconnects a container. It works without the network namespace, with any part missing, and any number of times.
func (s *Server) del(ctx context.Context, req *request) error {
	unlock, err := s.lockContainer(ctx, req.containerID)
	if err != nil {
		return err
	}
	defer unlock()
	name := req.hostInterface
	if existing, found := s.findInterface(req); found {
		name = existing.InterfaceName
	}
	return s.disconnect(ctx, req, name)
}

// disconnect removes the host interface called name, if it is the container's, and then releases the addresses. The caller
// holds the container's lock. An empty name stands for a container without a known interface.
func (s *Server) disconnect(ctx context.Context, req *request, name string) error {
	if name != "" {
		unlock, err := s.lockName(ctx, name)
		if err != nil {
			return err
		}
		defer unlock()
		owned, _, err := s.ownsName(name, req.containerID)
		if err != nil {
			return err
		}
		if owned {
			if err := s.removeInterface(ctx, name); err != nil {
				return err
			}
		} else {
			klog.InfoS("Leaving the interface alone, it belongs to another container", "interface", name, "container", req.containerID)
		}
	}
	ipam, err := s.ipam.prepare(req)
	if err != nil {
		return err
	}
	if err := ipam.del(ctx); err != nil {
		return err
	}
	s.did("lease released")
	return nil
}

// removeInterface removes everything under a name that the caller has locked. Flows go first, so that a reused OpenFlow
// port number can never inherit them. It stops at the first failure to keep that order.
func (s *Server) removeInterface(ctx context.Context, name string) error {
	if err := s.uninstallFlows(ctx, name); err != nil {
		return err
	}
	if err := s.deletePort(name); err != nil {
		return err
	}
	s.store.DeleteInterface(&interfacestore.InterfaceConfig{InterfaceName: name})
	s.did("interface forgotten")
	return s.deleteLink(name)
}

func (s *Server) deleteLink(name string) error {
	if err := deleteHostLink(name); err != nil {
		return configError(err)
	}
	s.did("pair deleted")
	return nil
}

func (s *Server) uninstallFlows(ctx context.Context, name string) error {
	if err := s.flows.UninstallPodFlows(ctx, name); err != nil {
		return configError(fmt.Errorf("uninstall flows of host interface %s: %w", name, err))
	}
	s.did("flows uninstalled")
	return nil
}

func (s *Server) deletePort(name string) error {
	if err := s.ports.DeletePort(name); err != nil {
		return configError(fmt.Errorf("delete OVS port %s: %w", name, err))
	}
	s.did("port deleted")
	return nil
}

// findInterface returns the store's entry for the container and interface of a request.
func (s *Server) findInterface(req *request) (*interfacestore.InterfaceConfig, bool) {
	if c, ok := s.store.GetContainerInterface(req.containerID); ok && c.IFDev == req.ifname {
		return c, true
	}
	if c, ok := s.store.GetInterfaceByName(req.hostInterface); ok && isContainer(c, req.containerID) && c.IFDev == req.ifname {
		return c, true
	}
	return nil, false
}

// ownsName reports whether the container may create and remove the host interface called name, that is, whether no other
// container has it on the bridge or in the store. It also reports whether an OVS port of that name exists.
func (s *Server) ownsName(name, containerID string) (owned, portExists bool, err error) {
	port, portExists, err := s.ports.GetPort(name)
	if err != nil {
		return false, false, errorf(cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE, "look up OVS port %s: %w", name, err)
	}
	if c, ok := s.store.GetInterfaceByName(name); ok {
		return isContainer(c, containerID), portExists, nil
	}
	return !portExists || port.ExternalIDs[externalIDContainerID] == containerID, portExists, nil
}

func isContainer(c *interfacestore.InterfaceConfig, containerID string) bool {
	return c.ContainerInterfaceConfig != nil && c.ContainerID == containerID
}
