// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// readPeers reads the peers of a rule, except relative ones, which it collects.
func (r *ruleReader) readPeers(field string, peers []v1beta1.NetworkPolicyPeer, source *v1beta1.Rule) controlplane.NetworkPolicyPeer {
	var out controlplane.NetworkPolicyPeer
	egress := r.rule.Direction == controlplane.DirectionOut
	if len(peers)+len(source.ToServices) == 0 {
		return r.out.everything(r.rule.Direction, r.rule.Services)
	}
	for i := range peers {
		if err := r.readPeer(&out, &peers[i], egress); err != nil {
			r.cannot(fmt.Sprintf("%s.%s[%d]", r.place, field, i), err)
			r.doubtfulPeers = true
		}
	}
	r.readToServices(&out, source, egress)
	named := egress && slices.ContainsFunc(r.rule.Services, isNamed)
	if named && len(out.IPBlocks)+len(out.FQDNs) > 0 {
		r.namesOfAddresses(&out)
	}
	if !r.doubtfulPeers || !r.denies {
		return out
	}
	if r.relative, r.addresses = nil, nil; named {
		r.rule.Services = nil // An unknown peer may be an address.
	}
	return r.out.everything(r.rule.Direction, r.rule.Services)
}

// everything is a peer for all addresses, with the Pods among them if their named ports are needed.
func (t *translation) everything(direction controlplane.Direction, services []controlplane.Service) controlplane.NetworkPolicyPeer {
	out := controlplane.NetworkPolicyPeer{IPBlocks: everywhere}
	if slices.ContainsFunc(services, isNamed) && direction == controlplane.DirectionOut {
		t.addGroup(&out, anonymous(allPods))
	}
	return out
}

func isNamed(s controlplane.Service) bool { return s.Port != nil && s.Port.Type == intstr.String }

// namesOfAddresses replaces names of ports for addresses and names among the peers, which have no names of ports: the rule would match nothing there. A
// rule that allows does without them, others mean all ports. If there are also Pods, these keep the rule, and the addresses get one of their own.
func (r *ruleReader) namesOfAddresses(peer *controlplane.NetworkPolicyPeer) {
	r.cannot(r.place+".ports", errors.New("names of ports have no meaning for ipBlock and fqdn: a rule that allows does without them, others mean all ports"))
	r.doubtfulPorts = true
	var services []controlplane.Service
	if !r.denies {
		services = slices.DeleteFunc(slices.Clone(r.rule.Services), isNamed)
	}
	if len(r.relative)+len(peer.AddressGroups) == 0 {
		r.rule.Services = services
		return
	}
	if r.denies || len(services) > 0 {
		addresses := r.rule
		addresses.Services, addresses.To = services, controlplane.NetworkPolicyPeer{IPBlocks: peer.IPBlocks, FQDNs: peer.FQDNs}
		r.addresses = &addresses
	}
	peer.IPBlocks, peer.FQDNs = nil, nil
}

func (r *ruleReader) readToServices(out *controlplane.NetworkPolicyPeer, source *v1beta1.Rule, egress bool) {
	if len(source.ToServices) == 0 {
		return
	}
	if !egress || len(source.To)+len(source.Ports)+len(source.Protocols) > 0 {
		r.cannot(r.place+".toServices", errors.New("cannot be used with to, ports or protocols, nor in ingress rules"))
		r.doubtfulPeers, r.doubtfulPorts = true, true
		r.rule.Services = nil
		return
	}
	for i, service := range source.ToServices {
		reference := controlplane.ServiceReference{Name: service.Name, Namespace: service.Namespace}
		if reference.Namespace == "" {
			reference.Namespace = r.source.namespace
		}
		var err error
		switch {
		case service.Scope != "" && service.Scope != v1beta1.ScopeCluster:
			err = fmt.Errorf("scope: %s is not supported", service.Scope)
		case reference.Name == "" || reference.Namespace == "":
			err = errors.New("must have name and namespace")
		}
		if err != nil {
			r.cannot(fmt.Sprintf("%s.toServices[%d]", r.place, i), err)
			r.doubtfulPeers = true
			continue
		}
		out.ToServices = append(out.ToServices, reference)
	}
}

// readPeer adds a peer. After an error, what it may mean is not known.
func (r *ruleReader) readPeer(out *controlplane.NetworkPolicyPeer, peer *v1beta1.NetworkPolicyPeer, egress bool) error {
	selectors := peer.PodSelector != nil || peer.NamespaceSelector != nil || peer.Namespaces != nil
	if count(selectors, peer.IPBlock != nil, peer.ExternalEntitySelector != nil, peer.Group != "", peer.FQDN != "", peer.ServiceAccount != nil, peer.NodeSelector != nil) > 1 {
		return errOneField
	}
	cluster := r.source.namespace == ""
	switch {
	case peer.Scope != "" && peer.Scope != v1beta1.ScopeCluster:
		return fmt.Errorf("scope: %s is not supported", peer.Scope)
	case peer.ExternalEntitySelector != nil:
		return errors.New("externalEntitySelector: is not supported")
	case !cluster && (peer.Namespaces != nil || peer.ServiceAccount != nil):
		return errors.New("namespaces and serviceAccount: a NetworkPolicy cannot have them")
	case peer.FQDN != "" && !egress:
		return errors.New("fqdn: an ingress rule cannot have it")
	case peer.FQDN != "":
		if !slices.Contains(out.FQDNs, peer.FQDN) {
			out.FQDNs = append(out.FQDNs, peer.FQDN)
		}
		return nil
	case peer.IPBlock != nil:
		block, err := antreaIPBlock(peer.IPBlock)
		if err != nil {
			return fmt.Errorf("ipBlock.%w", err)
		}
		out.IPBlocks = append(out.IPBlocks, block)
		return nil
	case peer.Group != "":
		return r.groupPeer(out, peer.Group)
	case peer.Namespaces != nil:
		return r.readRelative(peer)
	}
	return r.selectedPeer(out, peer)
}

// selectedPeer adds a peer that selects Pods or Nodes.
func (r *ruleReader) selectedPeer(out *controlplane.NetworkPolicyPeer, peer *v1beta1.NetworkPolicyPeer) error {
	var selector groupSelector
	var err error
	switch {
	case peer.ServiceAccount != nil:
		selector, err = serviceAccount(peer.ServiceAccount)
	case peer.NodeSelector != nil:
		selector.pods, err = labelSelector("nodeSelector", peer.NodeSelector)
	default:
		selector, err = selectorOf(r.source.namespace, peer.NamespaceSelector, peer.PodSelector)
	}
	if err != nil {
		return err
	}
	r.out.addGroup(out, anonymous(selector))
	return nil
}

// groupPeer adds the members of a group; a group that does not exist has none.
func (r *ruleReader) groupPeer(out *controlplane.NetworkPolicyPeer, name string) error {
	key := groupKey(r.source.namespace, name)
	r.out.uses.groups[key] = struct{}{}
	source := r.core.antrea.sources[key]
	if source == nil {
		return nil
	}
	out.IPBlocks = append(out.IPBlocks, source.blocks...)
	if len(source.selectors) > 0 {
		r.out.addGroup(out, source.reference())
	}
	if source.unknown != nil {
		return fmt.Errorf("group %s: %w", name, source.unknown)
	}
	r.formerGroup(r.place, name, source)
	return nil
}

// formerGroup notes that a group, or one of its children, has a later version that is not in force.
func (t *translator) formerGroup(place, name string, source *groupSource) {
	if source.former != nil {
		t.cannot(place, fmt.Errorf("group %s: the former version stays in force: %w", name, source.former))
	}
}

// antreaIPBlock reads a block. One of which nothing is left is not meant: a rule that denies would deny nothing.
func antreaIPBlock(source *v1beta1.IPBlock) (controlplane.IPBlock, error) {
	block, err := parseIPBlock(source.CIDR, source.Except)
	if err != nil {
		return block, err
	}
	for i, except := range block.Except {
		if except.PrefixLength <= block.CIDR.PrefixLength && cidrPrefix(except).Contains(cidrPrefix(block.CIDR).Addr()) {
			return block, fmt.Errorf("except[%d]: %s contains cidr %s: must be a part of it", i, source.Except[i], source.CIDR)
		}
	}
	return block, nil
}

func cidrPrefix(block controlplane.IPNet) netip.Prefix {
	address, _ := netip.AddrFromSlice(block.IP)
	return netip.PrefixFrom(address, int(block.PrefixLength))
}
