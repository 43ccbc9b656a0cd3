// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
)

// SetNodePolicyRules replaces the rules of policies that apply to this Node. rules are in the order of evaluation. If it fails, the
// former rules stay as they are, or return, in both IP versions; rules of a former agent that are replaced in IPv4 before IPv6 fails do not return. It needs
// Options.NodePolicies.
func (c *Client) SetNodePolicyRules(ctx context.Context, rules []NodePolicyRule) error {
	policies, err := c.nodePolicies(rules)
	if err != nil {
		return err
	}
	var formers []*nodePolicy
	for i, s := range c.stacks {
		former, err := s.setNodePolicy(ctx, policies[i])
		// The rules may have been replaced before it failed.
		formers = append(formers, former)
		if err != nil {
			return errors.Join(err, c.returnNodePolicies(ctx, formers))
		}
	}
	return nil
}

// TryNodePolicyRules returns why the kernel refuses the rules, nil if it does not. It puts them into chains to which nothing leads, and removes
// these: no packet meets them.
func (c *Client) TryNodePolicyRules(ctx context.Context, rules []NodePolicyRule) error {
	policies, err := c.nodePolicies(rules)
	if err != nil {
		return err
	}
	for i, s := range c.stacks {
		if err := s.tryNodePolicy(ctx, policies[i]); err != nil {
			return err
		}
	}
	return nil
}

// nodePolicies renders rules for each stack.
func (c *Client) nodePolicies(rules []NodePolicyRule) (policies []*nodePolicy, err error) {
	policies = make([]*nodePolicy, len(c.stacks))
	for i, s := range c.stacks {
		if policies[i], err = newNodePolicy(s.family, rules); err != nil {
			return nil, err
		}
	}
	return policies, nil
}

// returnNodePolicies sets former rules of the first stacks, where they are known.
func (c *Client) returnNodePolicies(ctx context.Context, formers []*nodePolicy) error {
	var errs []error
	for i, former := range formers {
		if former != nil {
			_, err := c.stacks[i].setNodePolicy(ctx, former)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// setNodePolicy makes the sets, then replaces all chains in one transaction, and then removes what is not used any more. It returns the former rules,
// nil if they are not known.
func (s *stack) setNodePolicy(ctx context.Context, p *nodePolicy) (former *nodePolicy, err error) {
	s.firewallMutex.Lock()
	defer s.firewallMutex.Unlock()
	params := s.firewall.params
	former = params.nodePolicy
	if err := s.syncPolicySets(p); err != nil {
		return former, err
	}
	wanted := params
	wanted.nodePolicy = p
	s.firewall.want(wanted)
	if err := s.firewall.apply(ctx); err != nil {
		s.firewall.want(params)
		return former, err
	}
	return former, errors.Join(s.removeOtherPolicyChains(ctx, p.chains), s.shrinkPolicySets(p))
}

func (s *stack) tryNodePolicy(ctx context.Context, p *nodePolicy) error {
	s.firewallMutex.Lock()
	defer s.firewallMutex.Unlock()
	if err := s.syncPolicySets(p); err != nil {
		return err
	}
	trial := *s.firewall
	trial.tables = []table{p.trial()}
	if err := trial.restoreChains(ctx); err != nil {
		return err
	}
	return s.family.remove(ctx, s.firewall.variant, removalOf(tableFilter, trial.tables[0].chains, nil))
}

// syncPolicySets makes missing sets, and adds missing entries. Entries that are superfluous stay until the rules match the sets.
func (s *stack) syncPolicySets(p *nodePolicy) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(p.sets)) {
		errs = append(errs, ipset{s.family, name, typeNetworks}.sync(p.sets[name]))
	}
	return errors.Join(errs...)
}

// keepPolicySets restores what other programs have removed from the sets.
func (s *stack) keepPolicySets() error {
	s.firewallMutex.Lock()
	defer s.firewallMutex.Unlock()
	if s.firewall.params.nodePolicy == nil {
		return nil
	}
	return s.syncPolicySets(s.firewall.params.nodePolicy)
}

// shrinkPolicySets removes superfluous entries and sets.
func (s *stack) shrinkPolicySets(p *nodePolicy) error {
	have, err := s.family.policySets()
	errs := []error{err}
	for _, name := range have {
		if entries, wanted := p.sets[name]; wanted {
			errs = append(errs, ipset{s.family, name, typeNetworks}.removeOthers(entries))
		} else {
			errs = append(errs, destroySet(name))
		}
	}
	return errors.Join(errs...)
}

// policySets returns the names of the sets of Node policies in the kernel.
func (f family) policySets() (names []string, err error) {
	var all []netlink.IPSetResult
	if err := ipsetCall(func() (err error) { all, err = netlink.IpsetListAll(); return err }); err != nil {
		return nil, fmt.Errorf("list ipsets: %w", explainIPSet(err))
	}
	for _, set := range all {
		if strings.HasPrefix(set.SetName, chainPolicyPrefix) && strings.HasSuffix(set.SetName, f.policySetSuffix) {
			names = append(names, set.SetName)
		}
	}
	slices.Sort(names)
	return names, nil
}

// prepareNodePolicy makes the chains of policies if they are absent, so that rules can lead to them, and keeps their content. Without policies
// for Nodes it removes what a former agent has made; the rules that lead there must be gone.
func (s *stack) prepareNodePolicy(ctx context.Context) error {
	if !s.firewall.params.nodePolicies {
		return errors.Join(s.removeOtherPolicyChains(ctx, nil), s.shrinkPolicySets(&nodePolicy{}))
	}
	for _, chain := range []string{chainIngress, chainIngressBaseline, chainEgress, chainEgressBaseline} {
		exists, err := s.firewall.ipt.ChainExists(tableFilter, chain)
		if err == nil && !exists {
			err = retryBusy(func() error { return s.firewall.ipt.NewChain(tableFilter, chain) })
		}
		if err != nil {
			return fmt.Errorf("%s: make chain %s: %w", s.family.name, chain, err)
		}
	}
	return nil
}

// removeOtherPolicyChains removes the chains of policies to which no wanted rule leads. It must be called with firewallMutex.
func (s *stack) removeOtherPolicyChains(ctx context.Context, wanted []string) error {
	saved, err := s.family.saved(ctx, s.firewall.variant)
	if err != nil {
		return err
	}
	var superfluous []string
	for _, t := range leftoverTables(saved) {
		for _, chain := range t.chains {
			keep := slices.Contains(wanted, chain) || wanted != nil && (chain == chainPreIngress || chain == chainPreEgress)
			if t.name == tableFilter && strings.HasPrefix(chain, chainPolicyPrefix) && !keep {
				superfluous = append(superfluous, chain)
			}
		}
	}
	if len(superfluous) == 0 {
		return nil
	}
	return s.family.remove(ctx, s.firewall.variant, removalOf(tableFilter, superfluous, rulesByTable(saved)[tableFilter]))
}
