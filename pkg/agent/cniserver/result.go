// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"bytes"
	"net/netip"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

// checkPrevResult refuses a chain in which an earlier plugin has made the very interface that ADD must make.
func checkPrevResult(req *request) error {
	if req.conf.prevResult == nil {
		return nil
	}
	for _, iface := range req.conf.prevResult.Interfaces {
		if iface.Name == req.ifname && iface.Sandbox != "" {
			return errorf(cnipb.ErrorCode_INVALID_NETWORK_CONFIG, "prevResult of network %q has interface %s in sandbox %s already, want antrea to be the plugin that creates it",
				req.conf.name, iface.Name, iface.Sandbox)
		}
	}
	return nil
}

// result describes what ADD has made, after what earlier plugins of the chain have made.
func (s *Server) result(req *request, iface *interfacestore.InterfaceConfig) (*current.Result, error) {
	link, err := netlink.LinkByName(iface.InterfaceName)
	if err != nil {
		return nil, errorf(cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE, "find host interface %s: %w", iface.InterfaceName, err)
	}
	result := &current.Result{CNIVersion: current.ImplementedSpecVersion, DNS: req.conf.dns}
	if prev := req.conf.prevResult; prev != nil {
		result.Interfaces = append(result.Interfaces, prev.Interfaces...)
		result.IPs = append(result.IPs, prev.IPs...)
		result.Routes = append(result.Routes, prev.Routes...)
		if result.DNS.IsEmpty() {
			result.DNS = prev.DNS
		}
	}
	containerIndex := len(result.Interfaces) + 1
	attrs := link.Attrs()
	result.Interfaces = append(result.Interfaces,
		&current.Interface{Name: iface.InterfaceName, Mac: attrs.HardwareAddr.String(), Mtu: attrs.MTU},
		&current.Interface{Name: req.ifname, Mac: iface.MAC.String(), Mtu: attrs.MTU, Sandbox: req.netns})
	for _, ip := range iface.IPs {
		cidr, ok := s.podCIDROf(ip)
		if !ok {
			return nil, errorf(cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE, "address %s of host interface %s is in none of the Pod CIDRs %v", ip, iface.InterfaceName, s.ipam.podCIDRs)
		}
		gateway := gatewayOf(cidr)
		result.IPs = append(result.IPs, &current.IPConfig{
			Interface: current.Int(containerIndex),
			Address:   *ipNet(netip.PrefixFrom(ip, cidr.Bits())),
			Gateway:   gateway.AsSlice(),
		})
		result.Routes = append(result.Routes, &types.Route{Dst: *ipNet(defaultDestination(gateway)), GW: gateway.AsSlice()})
	}
	return result, nil
}

func (s *Server) podCIDROf(ip netip.Addr) (netip.Prefix, bool) {
	for _, cidr := range s.ipam.podCIDRs {
		if cidr.Contains(ip) {
			return cidr, true
		}
	}
	return netip.Prefix{}, false
}

// encodeResult encodes a result as JSON in the CNI version of the request.
func encodeResult(req *request, result *current.Result) ([]byte, error) {
	converted, err := result.GetAsVersion(req.conf.cniVersion)
	if err != nil {
		return nil, errorf(cnipb.ErrorCode_INCOMPATIBLE_CNI_VERSION, "convert the result to CNI version %s: %w", req.conf.cniVersion, err)
	}
	var encoded bytes.Buffer
	if err := converted.PrintTo(&encoded); err != nil {
		return nil, errorf(cnipb.ErrorCode_IO_FAILURE, "encode the result: %w", err)
	}
	return encoded.Bytes(), nil
}
