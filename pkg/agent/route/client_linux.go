// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// DefaultSyncInterval is how often Run repairs the host network.
const DefaultSyncInterval = time.Minute

// Options are the settings of a Client that other Nodes need not share.
type Options struct {
	// Ports are opened in the Node's firewall.
	Ports Ports
	// SyncInterval is the period of Run; 0 means DefaultSyncInterval.
	SyncInterval time.Duration
}

// Client implements Interface on Linux for encap mode and IPv4. All its work is done on the calling goroutine, in the
// network namespace of that goroutine's thread. Its methods may be called concurrently.
type Client struct {
	family   family
	node     *config.NodeConfig
	podCIDR  netip.Prefix
	interval time.Duration
	set      podSet

	firewallMutex sync.Mutex
	firewall      *firewall

	// mutex guards peers together with the routes and set entries in the kernel that stand for them.
	mutex sync.Mutex
	peers map[netip.Prefix]podRoute
}

var _ Interface = (*Client)(nil)

// NewClient checks the configuration and finds the iptables programs; it changes nothing. It fails for traffic modes
// other than encap, for a network without IPv4 or with IPv6, and for a Node without an IPv4 Pod CIDR.
func NewClient(network *config.NetworkConfig, node *config.NodeConfig, options Options) (*Client, error) {
	if network.TrafficEncapMode != config.TrafficEncapModeEncap {
		return nil, fmt.Errorf("traffic mode %q is not supported, want %q", network.TrafficEncapMode, config.TrafficEncapModeEncap)
	}
	if !network.IPv4Enabled || network.IPv6Enabled {
		return nil, fmt.Errorf("routes need a network with IPv4 and without IPv6, have IPv4 %t and IPv6 %t", network.IPv4Enabled, network.IPv6Enabled)
	}
	f := familyIPv4
	podCIDR := node.PodIPv4CIDR
	if !f.has(podCIDR.Addr()) || podCIDR != podCIDR.Masked() {
		return nil, fmt.Errorf("the Pod CIDR %s of Node %s is not an %s network address with prefix length", podCIDR, node.Name, f.name)
	}
	if node.Gateway.Name == "" {
		return nil, fmt.Errorf("no gateway port name for Node %s", node.Name)
	}
	protocol, err := tunnelProtocol(network.TunnelType)
	if err != nil {
		return nil, err
	}
	params := ruleParams{
		gateway: node.Gateway.Name, podCIDR: podCIDR, podSet: f.podIPSet,
		tunnelProtocol: protocol, tunnelPort: network.TunnelPort,
		ports: options.Ports, randomFully: network.SNATFullyRandomPorts,
	}
	if protocol == protocolGRE {
		params.tunnelPort = 0
	} else if params.tunnelPort == 0 {
		return nil, fmt.Errorf("tunnel type %s has port 0, want the port in use", network.TunnelType)
	}
	w, err := newFirewall(f, params)
	if err != nil {
		return nil, err
	}
	interval := options.SyncInterval
	if interval == 0 {
		interval = DefaultSyncInterval
	}
	return &Client{family: f, node: node, podCIDR: podCIDR, interval: interval, set: podSet{f}, firewall: w,
		peers: map[netip.Prefix]podRoute{}}, nil
}

// Initialize implements Interface. The gateway port must exist. Everything it sets up stays when the agent ends: Pods keep
// their connectivity meanwhile. Calling it again changes nothing.
func (c *Client) Initialize() error {
	if err := applySysctls(desiredSysctls(c.family, c.node.Gateway.Name)); err != nil {
		return err
	}
	// The set must exist before the rule that matches it, and hold the local CIDR: else Pod to Pod would be masqueraded.
	if err := c.syncSet(); err != nil {
		return err
	}
	return c.syncFirewall(context.Background())
}

// Run implements Interface.
func (c *Client) Run(stopCh <-chan struct{}) {
	klog.InfoS("Starting host network sync", "interval", c.interval)
	defer klog.InfoS("Stopped host network sync")
	ctx := wait.ContextForChannel(stopCh)
	ticker := time.NewTicker(c.interval)
	defer ticker.Stop()
	for {
		select {
		case <-stopCh:
			return
		case <-ticker.C:
			if err := c.sync(ctx); err != nil && ctx.Err() == nil {
				klog.ErrorS(err, "Host network is not as it should be, will try again", "after", c.interval)
			}
		}
	}
}

// sync repairs every part even if another one fails.
func (c *Client) sync(ctx context.Context) error {
	return errors.Join(
		applySysctls(desiredSysctls(c.family, c.node.Gateway.Name)),
		c.syncSet(),
		c.syncFirewall(ctx),
		c.syncRoutes(),
	)
}

func (c *Client) syncFirewall(ctx context.Context) error {
	c.firewallMutex.Lock()
	defer c.firewallMutex.Unlock()
	return c.firewall.apply(ctx)
}

func (c *Client) syncSet() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := c.set.ensure(); err != nil {
		return err
	}
	have, err := c.set.entries()
	if err != nil {
		return err
	}
	for _, cidr := range slices.SortedFunc(maps.Keys(c.knownCIDRs(nil)), comparePrefixes) {
		if _, found := slices.BinarySearchFunc(have, cidr, comparePrefixes); !found {
			if err := c.set.add(cidr); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Client) syncRoutes() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	link, err := gatewayLink(c.node.Gateway.Name)
	if err != nil {
		return err
	}
	have, err := listGatewayRoutes(c.family, link)
	if err != nil {
		return err
	}
	desired := slices.SortedFunc(maps.Values(c.peers), func(a, b podRoute) int { return comparePrefixes(a.cidr, b.cidr) })
	var errs []error
	for _, r := range missingRoutes(desired, have) {
		if err := replaceRoute(r, link); err != nil {
			errs = append(errs, err)
			continue
		}
		klog.InfoS("Added a route that somebody removed", "destination", r.cidr, "gateway", r.gateway)
	}
	return errors.Join(errs...)
}
