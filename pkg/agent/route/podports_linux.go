// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"k8s.io/klog/v2"
)

// chainPodPorts, its rules and the jumps to it are Antrea's.
const chainPodPorts = chainPrefix + "NODE-PORT-LOCAL"

// podPortJumps come after the jumps for Services.
var podPortJumps = []jump{
	{table: tableNAT, chain: chainPrerouting, to: chainPodPorts, matches: [][]string{{"-m", "addrtype", "--dst-type", "LOCAL"}}},
	{table: tableNAT, chain: chainOutput, to: chainPodPorts, matches: [][]string{{"-m", "addrtype", "--dst-type", "LOCAL"}}},
}

// PodPort is a port of all addresses of the Node, of one IP version, that leads to a Pod.
type PodPort struct {
	// Protocol is tcp or udp.
	Protocol string
	NodePort uint16
	// Pod is the address of the Pod and its port.
	Pod netip.AddrPort
}

func (p PodPort) compare(o PodPort) int {
	return cmp.Or(cmp.Compare(p.NodePort, o.NodePort), cmp.Compare(p.Protocol, o.Protocol), p.Pod.Compare(o.Pod))
}

func (p PodPort) String() string {
	return fmt.Sprintf("%s port %d to %s", p.Protocol, p.NodePort, p.Pod)
}

func (p PodPort) rule() rule {
	return rule{chain: chainPodPorts, args: append(portMatch(p.Protocol, "--dport", p.NodePort), "-j", "DNAT", "--to-destination", p.Pod.String())}
}

// SetPodPorts replaces the ports of the Node that lead to Pods, in one transaction for each IP version. It needs Options.PodPorts. After an error
// either the former ports or the new ones are in force; it can be repeated.
func (c *Client) SetPodPorts(ctx context.Context, ports []PodPort) error {
	for _, p := range ports {
		if p.Protocol != "tcp" && p.Protocol != "udp" || p.NodePort == 0 || !p.Pod.IsValid() || p.Pod.Port() == 0 {
			return fmt.Errorf("%s: want tcp or udp, a port of the Node, and the address and port of a Pod", p)
		}
	}
	return c.each(func(s *stack) error {
		if err := s.setPodPorts(ctx, ports); err != nil {
			return fmt.Errorf("lead %s ports of the Node to Pods: %w", s.family.name, err)
		}
		return nil
	})
}

// FormerPodPorts returns the ports that Initialize has found. With Options.PodPorts it keeps them until SetPodPorts, otherwise it has removed them.
func (c *Client) FormerPodPorts() (ports []PodPort) {
	for _, s := range c.stacks {
		s.firewallMutex.Lock()
		ports = append(ports, s.formerPodPorts...)
		s.firewallMutex.Unlock()
	}
	return ports
}

func (s *stack) setPodPorts(ctx context.Context, all []PodPort) error {
	ports := slices.DeleteFunc(slices.Clone(all), func(p PodPort) bool { return !s.hasPods() || !s.family.has(p.Pod.Addr()) })
	slices.SortFunc(ports, PodPort.compare)
	s.firewallMutex.Lock()
	defer s.firewallMutex.Unlock()
	w := s.firewall
	if !w.params.podPortsOn {
		return fmt.Errorf("needs nodePortLocal.enable, which is false")
	}
	if slices.Equal(w.params.podPorts, ports) && w.kept.own != nil {
		return nil // and the kernel has them
	}
	former, p := w.params, w.params
	p.podPorts = ports
	w.want(p)
	if err := w.apply(ctx); err != nil {
		w.want(former)
		return err
	}
	return nil
}

// keepFormerPodPorts finds the ports that a former agent has led to Pods, and keeps them with PodPorts: connections would fail until Pods are known.
func (s *stack) keepFormerPodPorts(ctx context.Context) error {
	s.firewallMutex.Lock()
	defer s.firewallMutex.Unlock()
	w := s.firewall
	if !s.hasPods() {
		return nil
	}
	rules, err := w.rules(ctx)
	if err != nil {
		return err
	}
	if s.formerPodPorts = formerPodPorts(s.family, rules[tableNAT]); len(s.formerPodPorts) == 0 {
		return nil
	}
	klog.InfoS("Found ports of the Node that lead to Pods", "family", w.family.name, "count", len(s.formerPodPorts), "kept", w.params.podPortsOn)
	if w.params.podPortsOn {
		p := w.params
		p.podPorts = s.formerPodPorts
		w.want(p)
	}
	return nil
}

// formerPodPorts reads rules of the table nat, as iptables-save(8) prints them. It ignores rules that SetPodPorts does not make.
func formerPodPorts(f family, nat []string) (ports []PodPort) {
	for _, line := range nat {
		args := splitArgs(line)
		if argument(args, "-A") != chainPodPorts {
			continue
		}
		nodePort, err := strconv.ParseUint(argument(args, "--dport"), 10, 16)
		if err != nil {
			continue
		}
		pod, err := netip.ParseAddrPort(argument(args, "--to-destination"))
		p := PodPort{argument(args, "-p"), uint16(nodePort), pod}
		if err == nil && f.has(pod.Addr()) && p.rule().String() == line && !slices.Contains(ports, p) {
			ports = append(ports, p)
		}
	}
	slices.SortFunc(ports, PodPort.compare)
	return ports
}

// addPodPorts makes the rules without comment, as Antrea does: its tests and tools compare them.
func (t *table) addPodPorts(p ruleParams) {
	if !p.podPortsOn {
		return
	}
	t.chains = append(t.chains, chainPodPorts)
	for _, port := range p.podPorts {
		t.rules = append(t.rules, port.rule())
	}
}
