// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
)

// stack is the host network of one IP version.
type stack struct {
	family  family
	gateway string
	// podCIDR is invalid where Pods have no addresses of the family: only tunnel packets use it then.
	podCIDR netip.Prefix
	set     ipset
	nodeSet ipset
	sysctls *sysctl.Record

	firewallMutex sync.Mutex
	firewall      *firewall
	// formerPodPorts are the ports of the Node that led to Pods when the agent started.
	formerPodPorts []PodPort

	// uplink is the transport interface.
	uplink string

	// mutex guards peers, guarded, closed, nodes, clusters, services and egress, together with the routes, neighbors and set entries in the kernel that
	// correspond to them.
	mutex sync.Mutex
	peers map[netip.Prefix]podRoute
	// guarded are the networks of Guard, by Node.
	guarded map[string][]netip.Prefix
	// closed are networks of Nodes that are gone, of this agent's time and of former ones, while packets between Nodes are encrypted: connections of Pods
	// may outlive a Node's object, and would leave in clear by the default route.
	closed map[netip.Prefix]bool
	nodes  nodeAddresses
	// clusters are the addresses of GuardClusters.
	clusters map[netip.Prefix]bool
	// services is nil without proxyAll.
	services *hostServices
	egress   egressSubnets
}

func newStack(f family, podCIDR netip.Prefix, transport netip.Addr, own []netip.Addr, sysctls *sysctl.Record, params ruleParams,
	needed func(netip.Addr, uint16) bool) (*stack, error) {
	params.podCIDR, params.podSet, params.nodeSet, params.transport = podCIDR, f.podIPSet, f.nodeIPSet, transport
	params.virtualService, params.virtualNodePort, params.icmp = f.virtualService, f.virtualNodePort, f.icmpName
	w, err := newFirewall(f, params)
	if err != nil {
		return nil, err
	}
	s := &stack{
		family: f, gateway: params.gateway, podCIDR: podCIDR, set: f.podSet(), nodeSet: f.nodeSet(), sysctls: sysctls, firewall: w,
		peers: map[netip.Prefix]podRoute{}, guarded: map[string][]netip.Prefix{}, closed: map[netip.Prefix]bool{}, nodes: newNodeAddresses(f.hosts(own)),
		egress: egressSubnets{tables: map[config.EgressSubnet]int{}, addRule: netlink.RuleAdd},
	}
	if params.proxyAll() {
		s.services = newHostServices(f, needed)
	}
	return s, nil
}

// hasPods reports whether Pods have addresses of the family.
func (s *stack) hasPods() bool { return s.podCIDR.IsValid() }

// gatewayAddress is the address of the gateway port.
func (s *stack) gatewayAddress() netip.Addr { return s.podCIDR.Addr().Next() }

func (s *stack) initialize() error {
	if s.hasPods() {
		if err := s.syncSysctls(); err != nil {
			return err
		}
	}
	// The sets must exist before the rules that match them. The set of Pods must contain the local CIDR, or Pod-to-Pod
	// packets would be masqueraded. The set of Nodes must contain this Node's addresses, or tunnel packets would be
	// dropped.
	if err := s.syncSets(); err != nil {
		return err
	}
	if err := s.keepFormerPorts(context.Background()); err != nil {
		return err
	}
	if err := s.keepFormerEgresses(context.Background()); err != nil {
		return err
	}
	if err := s.keepFormerPodPorts(context.Background()); err != nil {
		return err
	}
	if err := s.initializeFirewall(context.Background()); err != nil {
		return err
	}
	if !s.encryptsClusters() {
		if err := destroySet(s.family.clusterIPSet); err != nil { // after its rules
			return err
		}
	}
	if s.services == nil {
		return s.removeServices()
	}
	return s.syncRoutes()
}

// sync repairs all but the firewall, every part even if another one fails.
func (s *stack) sync() error {
	if !s.hasPods() {
		return errors.Join(s.syncSets(), s.keepPolicySets())
	}
	return errors.Join(
		s.syncSysctls(),
		s.syncSets(),
		s.keepPolicySets(),
		s.syncRoutes(),
	)
}

// initializeFirewall applies the rules. Chains to which they lead must exist before, chains to which they no longer lead can go after.
func (s *stack) initializeFirewall(ctx context.Context) error {
	s.firewallMutex.Lock()
	defer s.firewallMutex.Unlock()
	if !s.firewall.params.nodePolicies {
		return errors.Join(s.firewall.apply(ctx), s.prepareNodePolicy(ctx))
	}
	if err := s.prepareNodePolicy(ctx); err != nil {
		return err
	}
	return s.firewall.apply(ctx)
}

func (s *stack) syncSets() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	err := s.nodeSet.sync(s.nodes.known())
	if s.hasPods() {
		err = errors.Join(err, s.set.sync(s.setCIDRs(nil)))
	}
	if s.encryptsClusters() {
		err = errors.Join(err, s.family.clusterSet().sync(s.clusters))
	}
	if s.services != nil {
		err = errors.Join(err, s.syncPortSets(), s.syncHealthPorts())
	}
	return err
}

func (s *stack) syncRoutes() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	link, have, err := s.gatewayRoutes()
	if err != nil {
		return err
	}
	var desired, plain []podRoute
	for _, r := range slices.SortedFunc(maps.Values(s.peers), func(a, b podRoute) int { return comparePrefixes(a.cidr, b.cidr) }) {
		if r.plain {
			plain = append(plain, r)
		} else {
			desired = append(desired, r)
		}
	}
	var errs []error
	if s.services != nil {
		errs = append(errs, s.syncServiceNeighbor(link), s.syncServiceRule(link), s.removeOtherServiceRoutes(have))
	}
	for _, r := range missingRoutes(slices.Concat(s.services.routes(), desired), have) {
		if err := setRoute(r, link); err != nil {
			errs = append(errs, err)
			continue
		}
		klog.InfoS("Added a route that was missing", "destination", r.cidr, "gateway", r.gateway)
	}
	return errors.Join(append(errs, s.syncNeighbors(desired, link), s.syncPlainRoutes(plain, link), s.repairEgressSubnets())...)
}
