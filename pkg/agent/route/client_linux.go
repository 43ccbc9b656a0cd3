// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
)

// Options are the settings of a Client that other Nodes need not share.
type Options struct {
	// Ports are opened in the Node's firewall.
	Ports Ports
	// Sysctls records what settings of the Node were before they are changed.
	Sysctls *sysctl.Record
	// ProxyAll leads connections to Services that come from the Node or from outside to the bridge.
	ProxyAll bool
	// NodePolicies applies the policies of SetNodePolicyRules to connections of the Node's own programs.
	NodePolicies bool
	// Egress gives packets sources by their marks, with ports chosen at random if EgressRandomFully is set.
	Egress, EgressRandomFully bool
	// PodPorts leads ports of the Node to Pods, as SetPodPorts says.
	PodPorts bool
	// Needed, if set, reports whether this Node depends on what is at the address and port, with port 0 at any: what a former agent has led
	// away of that is given back before all Services are known.
	Needed func(addr netip.Addr, port uint16) bool
	// ForeignMarks, if set, is told about other people's rules.
	ForeignMarks ForeignMarks
}

// Client implements Interface on Linux. It has a stack for each IP version that Pods or tunnel packets use.
// It does all its work on the calling goroutine, in the network namespace of that goroutine's thread. Its methods may be
// called concurrently.
type Client struct {
	ownNode string
	stacks  []*stack
}

var _ Interface = (*Client)(nil)

// NewClient checks the configuration and finds the iptables programs; it changes nothing. It fails for traffic modes
// that are not built, and when Pod CIDRs and the network's IP versions do not agree.
func NewClient(network *config.NetworkConfig, node *config.NodeConfig, options Options) (*Client, error) {
	if !network.TrafficEncapMode.IsBuilt() {
		return nil, fmt.Errorf("traffic mode %q is not supported, want one of %q", network.TrafficEncapMode, config.BuiltEncapModes)
	}
	if node.Gateway.Name == "" {
		return nil, fmt.Errorf("no gateway port name for Node %s", node.Name)
	}
	protocol, err := tunnelProtocol(network.TunnelType)
	if err != nil {
		return nil, err
	}
	params := ruleParams{
		gateway:        node.Gateway.Name,
		tunnelProtocol: protocol, tunnelPort: network.TunnelPort, rewritePort: network.RewritePort, wireGuardPort: network.WireGuardPort,
		ports: options.Ports, randomFully: network.SNATFullyRandomPorts, noSNAT: network.NoSNAT, nodePolicies: options.NodePolicies,
		egress: options.Egress, egressRandomFully: options.EgressRandomFully, podPortsOn: options.PodPorts,
	}
	if protocol == protocolGRE {
		params.tunnelPort = 0
	} else if params.tunnelPort == 0 {
		return nil, fmt.Errorf("tunnel type %s has port 0, want the port in use", network.TunnelType)
	}
	c := &Client{ownNode: node.Name}
	for _, u := range []struct {
		family    family
		pods      bool
		podCIDR   netip.Prefix
		transport netip.Addr
	}{
		{familyIPv4, network.IPv4Enabled, node.PodIPv4CIDR, node.Uplink.IPv4.Addr()},
		{familyIPv6, network.IPv6Enabled, node.PodIPv6CIDR, node.Uplink.IPv6.Addr()},
	} {
		switch {
		case u.pods && (!u.family.has(u.podCIDR.Addr()) || u.podCIDR != u.podCIDR.Masked()):
			return nil, fmt.Errorf("the Pod CIDR %s of Node %s is not an %s network address with prefix length", u.podCIDR, node.Name, u.family.name)
		case !u.pods && u.podCIDR.IsValid():
			return nil, fmt.Errorf("the network does not have %s, but Node %s has the Pod CIDR %s", u.family.name, node.Name, u.podCIDR)
		case !u.pods && !u.transport.IsValid():
			continue
		}
		if params.clusterSet, params.clusterPort = "", network.ClusterWireGuardPort; params.clusterPort != 0 {
			params.clusterSet = u.family.clusterIPSet
		}
		if params.nodePortSet, params.healthPortSet, params.serviceSet = "", "", ""; options.ProxyAll && u.pods {
			params.nodePortSet, params.healthPortSet, params.serviceSet = u.family.nodePortIPSet, u.family.healthPortIPSet, u.family.serviceIPSet
		}
		s, err := newStack(u.family, u.podCIDR, u.transport, node.Addresses, options.Sysctls, params, options.Needed)
		if err != nil {
			return nil, err
		}
		s.firewall.foreign, s.uplink = options.ForeignMarks, node.Uplink.Name
		c.stacks = append(c.stacks, s)
	}
	if !network.IPv4Enabled && !network.IPv6Enabled {
		return nil, fmt.Errorf("routes need a network with IPv4 or IPv6, Node %s has neither", node.Name)
	}
	return c, nil
}

// Initialize implements Interface. The gateway port must exist. Everything it sets up stays when the agent ends: Pods keep
// their connectivity. Calling it again changes nothing. The rules for other ports for rewritten packets that an earlier agent has
// made stay until ForgetFormerPorts.
func (c *Client) Initialize() error {
	return c.each((*stack).initialize)
}

// ForgetFormerPorts implements Interface.
func (c *Client) ForgetFormerPorts(ctx context.Context) error {
	return c.each(func(s *stack) error { return s.forgetFormerPorts(ctx) })
}

// Reconcile implements Interface. It also removes the set entries and neighbors of unknown CIDRs. Routes made by AddRoutes
// stay even if they are not in podCIDRs: the caller may have listed the Nodes just before.
func (c *Client) Reconcile(podCIDRs []netip.Prefix) error {
	return c.each(func(s *stack) error {
		err := s.reconcileNodes()
		if s.hasPods() {
			err = errors.Join(err, s.reconcile(podCIDRs))
		}
		return err
	})
}

// SetNodeAddresses implements Interface. Addresses of this Node are added to all that it has had since the start: other
// Nodes may continue to use a former one for a while.
func (c *Client) SetNodeAddresses(nodeName string, addresses []netip.Addr) error {
	return c.each(func(s *stack) error {
		var err error
		if nodeName == c.ownNode {
			err = s.addOwnAddresses(addresses)
		} else {
			err = s.setNodeAddresses(nodeName, addresses)
		}
		if err != nil {
			return fmt.Errorf("set the addresses of Node %s to %v: %w", nodeName, addresses, err)
		}
		return nil
	})
}

// RestoreEncrypted implements Interface.
func (c *Client) RestoreEncrypted() error { return c.each((*stack).restoreEncrypted) }

// Guard implements Interface. Networks of an IP version that this Node's Pods do not have are left out.
func (c *Client) Guard(nodeName string, podCIDRs []netip.Prefix) error {
	return c.each(func(s *stack) error {
		if !s.firewall.params.encrypts() {
			return nil
		}
		cidrs := slices.DeleteFunc(slices.Clone(podCIDRs), func(cidr netip.Prefix) bool { return !s.family.has(cidr.Addr()) || cidr.Overlaps(s.podCIDR) })
		if err := s.guard(nodeName, cidrs); err != nil {
			return fmt.Errorf("drop what is not encrypted to and from the Pod networks %v of Node %s: %w", cidrs, nodeName, err)
		}
		return nil
	})
}

// AddRoutes implements Interface. The CIDR must have no host bits, must differ from the local one, and must contain the
// gateway address. Routes that the CIDR has had by another Reach are replaced.
func (c *Client) AddRoutes(peerPodCIDR netip.Prefix, nodeName string, by reach.Reach, peerGatewayIP netip.Addr) error {
	s, err := c.stackFor(peerPodCIDR)
	if err == nil {
		switch by.Kind {
		case reach.Tunnel:
			err = s.addRoutes(podRoute{cidr: peerPodCIDR, gateway: peerGatewayIP})
		case reach.Direct:
			err = s.addRoutes(podRoute{cidr: peerPodCIDR, gateway: by.Address, plain: true})
		case reach.Routed:
			klog.InfoS("The Node is in another subnet: the network must route packets to its Pods", "node", nodeName, "address", by.Address, "podCIDR", peerPodCIDR)
			err = s.addRoutes(podRoute{cidr: peerPodCIDR, plain: true})
		case reach.WireGuard:
			err = s.addRoutes(podRoute{cidr: peerPodCIDR, plain: true, source: s.gatewayAddress()})
		default:
			err = by.NotBuilt("routes")
		}
	}
	if err != nil {
		return fmt.Errorf("add routes to Node %s: %w", nodeName, err)
	}
	klog.V(2).InfoS("Added route to peer", "node", nodeName, "reach", by, "podCIDR", peerPodCIDR, "gateway", peerGatewayIP)
	return nil
}

// DeleteRoutes implements Interface.
func (c *Client) DeleteRoutes(peerPodCIDR netip.Prefix) error {
	s, err := c.stackFor(peerPodCIDR)
	if err == nil {
		err = s.deleteRoutes(peerPodCIDR)
	}
	if err != nil {
		return fmt.Errorf("delete routes to %s: %w", peerPodCIDR, err)
	}
	return nil
}

// stackFor returns the stack for the family of a Pod CIDR.
func (c *Client) stackFor(podCIDR netip.Prefix) (*stack, error) {
	var have []string
	for _, s := range c.stacks {
		if !s.hasPods() {
			continue
		}
		if s.family.has(podCIDR.Addr()) {
			return s, nil
		}
		have = append(have, s.family.name)
	}
	return nil, fmt.Errorf("the Pod CIDR %s is of a family that this Node's Pods do not have, want %v", podCIDR, have)
}

// each calls fn for every stack, even if it has failed for another.
func (c *Client) each(fn func(*stack) error) error {
	var errs []error
	for _, s := range c.stacks {
		errs = append(errs, fn(s))
	}
	return errors.Join(errs...)
}
