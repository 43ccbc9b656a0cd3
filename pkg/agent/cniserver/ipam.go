// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

// defaultPluginDir is the directory of host-local in the agent's image. The directories of CNI_PATH are paths of the host:
// they need not exist in the agent's container.
const defaultPluginDir = "/opt/cni/bin"

// podAddress is an address of a Pod with the prefix length of its Pod CIDR, and the gateway of its default route.
type podAddress struct {
	prefix  netip.Prefix
	gateway netip.Addr
}

// hostLocal runs the host-local plugin for the Node's Pod CIDRs.
type hostLocal struct {
	podCIDRs []netip.Prefix
	// dataDir is "" for host-local's default (/var/lib/cni/networks).
	dataDir string
	// fallbackDir is searched after the directories of CNI_PATH.
	fallbackDir string
}

// hostLocalCall is the plugin, found and configured for one request.
type hostLocalCall struct {
	*hostLocal
	req   *request
	path  string
	stdin []byte
}

// prepare finds and configures the plugin without running it. Its errors, and errors of the call, have code 101.
func (h *hostLocal) prepare(req *request) (*hostLocalCall, error) {
	stdin, err := req.conf.hostLocalConfig(h.podCIDRs, h.dataDir)
	if err != nil {
		return nil, errorf(cnipb.ErrorCode_IPAM_FAILURE, "configuration for %s in network %q: %w", hostLocalType, req.conf.name, err)
	}
	path, err := invoke.FindInPath(hostLocalType, append(filepath.SplitList(req.path), h.fallbackDir))
	if err != nil {
		return nil, errorf(cnipb.ErrorCode_IPAM_FAILURE, "IPAM plugin %s: %w", hostLocalType, err)
	}
	return &hostLocalCall{hostLocal: h, req: req, path: path, stdin: stdin}, nil
}

// add allocates one address per Pod CIDR, in their order. After an error the caller must call del, which releases addresses
// left by a plugin that was killed.
func (c *hostLocalCall) add(ctx context.Context, netnsPath string) ([]podAddress, error) {
	result, err := invoke.ExecPluginWithResult(ctx, c.path, c.stdin, c.args(cmdAdd, netnsPath), nil)
	if err != nil {
		return nil, c.pluginError(cmdAdd, err)
	}
	converted, err := current.NewResultFromResult(result)
	if err != nil {
		return nil, c.pluginError(cmdAdd, err)
	}
	return c.addresses(converted.IPs)
}

// addresses checks that the plugin returned one usable address per Pod CIDR.
func (h *hostLocal) addresses(ips []*current.IPConfig) ([]podAddress, error) {
	addresses := make([]podAddress, 0, len(h.podCIDRs))
	for _, cidr := range h.podCIDRs {
		gateway := gatewayOf(cidr)
		for _, ip := range ips {
			addr, ok := netip.AddrFromSlice(ip.Address.IP)
			if addr = addr.Unmap(); ok && cidr.Contains(addr) && addr != gateway && addr != cidr.Masked().Addr() {
				addresses = append(addresses, podAddress{prefix: netip.PrefixFrom(addr, cidr.Bits()), gateway: gateway})
				break
			}
		}
	}
	if len(addresses) != len(h.podCIDRs) || len(ips) != len(h.podCIDRs) {
		return nil, errorf(cnipb.ErrorCode_IPAM_FAILURE, "%s gave addresses %v, want one in each of the Pod CIDRs %v", hostLocalType, ips, h.podCIDRs)
	}
	return addresses, nil
}

// check verifies that the container still has an address.
func (c *hostLocalCall) check(ctx context.Context, netnsPath string) error {
	return c.run(ctx, cmdCheck, netnsPath)
}

// del releases the container's addresses; it succeeds when it has none.
func (c *hostLocalCall) del(ctx context.Context) error {
	return c.run(ctx, cmdDel, c.req.netns)
}

func (c *hostLocalCall) run(ctx context.Context, cmd command, netnsPath string) error {
	if err := invoke.ExecPluginWithoutResult(ctx, c.path, c.stdin, c.args(cmd, netnsPath), nil); err != nil {
		return c.pluginError(cmd, err)
	}
	return nil
}

func (c *hostLocalCall) args(cmd command, netnsPath string) *invoke.Args {
	// host-local refuses the keys that name the Pod unless it is told to ignore unknown keys.
	args := strings.TrimSuffix(c.req.args, ";")
	if args != "" {
		args += ";"
	}
	return &invoke.Args{
		Command:       string(cmd),
		ContainerID:   c.req.containerID,
		NetNS:         netnsPath,
		PluginArgsStr: args + "IgnoreUnknown=true",
		IfName:        c.req.ifname,
		Path:          c.req.path,
	}
}

func (c *hostLocalCall) pluginError(cmd command, err error) error {
	e := &cniError{code: cnipb.ErrorCode_IPAM_FAILURE}
	if pluginErr := (*types.Error)(nil); errors.As(err, &pluginErr) {
		e.details = pluginErr.Details
		err = errors.New(pluginErr.Msg)
	}
	e.err = fmt.Errorf("%s %s for container %q in network %q: %w", hostLocalType, cmd, c.req.containerID, c.req.conf.name, err)
	return e
}
