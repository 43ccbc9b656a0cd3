// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package native

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/native/cilium"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/env/nodepair"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
)

// setup is one network in all states.
type setup struct {
	bed *Bed
	network
	states []result.State
	pairs  map[result.State]*nodepair.Pair
	links  map[result.State]bed.Link
	caches map[result.State]*caches
	// peer is nil without one. unseen says which measurements its programs cannot have seen.
	peer   *cilium.Pair
	unseen error
}

// open makes a network in these states, and in the peer's state if the bed has one.
func (b *Bed) open(ctx context.Context, n network, states []result.State) (_ *setup, err error) {
	s := &setup{
		bed: b, network: n, states: states,
		pairs: map[result.State]*nodepair.Pair{}, links: map[result.State]bed.Link{}, caches: map[result.State]*caches{},
	}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	for _, state := range states {
		if state == result.Cilium {
			if err := s.openPeer(ctx); err != nil {
				return nil, err
			}
			continue
		}
		o := n.options
		o.Bare = state == result.Bare
		pair, err := nodepair.New(o)
		if err != nil {
			return nil, fmt.Errorf("state %s: %w", state, err)
		}
		s.pairs[state] = pair
		if err := s.tune(pair); err != nil {
			return nil, fmt.Errorf("state %s: %w", state, err)
		}
		if err := s.link(state, pair); err != nil {
			return nil, err
		}
		if state != result.On && state != result.Rewrite {
			continue
		}
		started, err := b.startCaches(ctx, n, state, pair)
		if err != nil {
			return nil, fmt.Errorf("state %s: %w", state, err)
		}
		s.caches[state] = started
	}
	return s, nil
}

// tune pins a pair's Nodes to their CPUs and gives overlay Nodes the rules of a Kubernetes Node on which the agent runs.
func (s *setup) tune(pair *nodepair.Pair) error {
	for i, n := range pair.Nodes {
		var cpus unix.CPUSet
		var mask uint64
		for _, cpu := range s.bed.cpus[i] {
			cpus.Set(cpu)
			mask |= 1 << cpu
		}
		for _, thread := range []*proc.Thread{n.Host, n.Pod} {
			if thread == nil {
				continue
			}
			if err := thread.Do(func() error { return unix.SchedSetaffinity(0, &cpus) }); err != nil {
				return fmt.Errorf("pin to the CPUs %v: %w", s.bed.cpus[i], err)
			}
		}
		// A sysfs shows the network namespace that it was mounted in.
		steer := fmt.Sprintf("mount -t sysfs sysfs /sys; echo %x >/sys/class/net/%s/queues/rx-0/rps_cpus", mask, nodepair.Uplink)
		if err := nodepair.Run(n.Host, "unshare -m sh -euc '"+steer+"'"); err != nil {
			return err
		}
		if pair.Bare {
			continue
		}
		if err := nodepair.Run(n.Host, kubernetesRules(pair.Inner6)+untrackedTunnel(pair.Outer6)); err != nil {
			return err
		}
	}
	return nil
}

// kubernetesRules are the rules of kube-proxy and Flannel that a packet between Pods meets.
func kubernetesRules(ipv6 bool) string {
	pods, multicast := "10.10.0.0/16", "224.0.0.0/4"
	if ipv6 {
		pods, multicast = "fd00:10::/32", "ff00::/8"
	}
	return strings.NewReplacer("FIREWALL", nodepair.Firewall(ipv6), "PODS", pods, "MULTICAST", multicast).Replace(`
		FIREWALL -w -P FORWARD DROP
		FIREWALL -w -A FORWARD -m conntrack --ctstate INVALID -j DROP
		FIREWALL -w -A FORWARD -s PODS -j ACCEPT
		FIREWALL -w -A FORWARD -d PODS -j ACCEPT
		FIREWALL -w -t nat -A POSTROUTING -s PODS -d PODS -j RETURN
		FIREWALL -w -t nat -A POSTROUTING -s PODS ! -d MULTICAST -j MASQUERADE`)
}

// untrackedTunnel are the agent's rules that exempt tunnel packets from connection tracking.
func untrackedTunnel(ipv6 bool) string {
	return strings.NewReplacer("FIREWALL", nodepair.Firewall(ipv6), "PORT", strconv.Itoa(nodepair.TunnelPort)).Replace(`
		FIREWALL -w -t raw -A PREROUTING -p udp --dport PORT -m addrtype --dst-type LOCAL -j NOTRACK
		FIREWALL -w -t raw -A OUTPUT -p udp --dport PORT -m addrtype --src-type LOCAL -j NOTRACK`)
}

// serviceRule is the rule of kube-proxy that translates connections of Pods to a Service.
func serviceRule(service, endpoint netip.Addr) string {
	return fmt.Sprintf("%s -w -t nat -A PREROUTING -d %v -j DNAT --to-destination %v", nodepair.Firewall(service.Is6()), service, endpoint)
}

// fewHits is less than what the fast path carries of any workload.
const fewHits = 50

// noteSlowService adds a failure to results that were measured through a Service if the packets of the client's Pod, which go to nothing
// else, have not taken the fast path.
func (s *setup) noteSlowService(results []result.Result) error {
	if !s.service.IsValid() {
		return nil
	}
	for state, caches := range s.caches {
		status, err := caches.Status()
		if err != nil {
			return err
		}
		if status[0].Egress.Hits >= fewHits {
			continue
		}
		for i := range results {
			results[i].Failures = append(results[i].Failures, fmt.Sprintf("%s: only %d packets to the Service have taken the fast path", state, status[0].Egress.Hits))
		}
	}
	return nil
}

// link makes the spaces of a state, with a control group each.
func (s *setup) link(state result.State, pair *nodepair.Pair) error {
	var spaces [2]*space
	for i, n := range pair.Nodes {
		thread := n.Pod
		if thread == nil {
			thread = n.Host
		}
		var err error
		if spaces[i], err = s.space(state, i, thread); err != nil {
			return err
		}
	}
	link := bed.Link{Client: spaces[0], Server: spaces[1], Address: pair.Nodes[1].PodIP}
	if pair.Bare {
		link.Address = pair.Nodes[1].Transport
	}
	if s.service.IsValid() && !pair.Bare {
		link.Address, link.Own = s.service, link.Address
		if err := nodepair.Run(pair.Nodes[0].Host, serviceRule(s.service, link.Own)); err != nil {
			return err
		}
	}
	s.links[state] = link
	return nil
}

// space is a cluster.Space whose programs are accounted in a control group.
type space struct {
	*cluster.Space
	group string
}

func (s *setup) space(state result.State, node int, thread *proc.Thread) (*space, error) {
	name := fmt.Sprintf("%s%s-%s-%d", groupPrefix(), s.name, state, node+1)
	sp := &space{Space: cluster.NewSpace(fmt.Sprintf("%s %s node-%d", s.name, state, node+1), thread), group: filepath.Join(s.bed.cgroups(), name)}
	if err := os.Mkdir(sp.group, 0o700); err != nil {
		return nil, fmt.Errorf("make a control group: %w", err)
	}
	return sp, nil
}

// groupPrefix is the prefix of the names of this process's control groups.
func groupPrefix() string { return fmt.Sprintf("antrea-bench-%d-", os.Getpid()) }

// grouped makes a program enter the control group before it starts.
func (s *space) grouped(args []string) []string {
	return append([]string{"sh", "-c", `echo 0 >"$0" && exec "$@"`, filepath.Join(s.group, "cgroup.procs")}, args...)
}

// Start implements cluster.Space.
func (s *space) Start(args ...string) (*cluster.Process, error) {
	return s.Space.Start(s.grouped(args)...)
}

// Exec implements cluster.Space.
func (s *space) Exec(ctx context.Context, args ...string) (string, error) {
	return s.Space.Exec(ctx, s.grouped(args)...)
}

// Name implements bed.Setup.
func (s *setup) Name() string { return s.name }

// Link implements bed.Setup.
func (s *setup) Link(state result.State) bed.Link { return s.links[state] }

// States implements bed.Setup.
func (s *setup) States() []result.State { return s.states }

// Cache implements bed.Setup.
func (s *setup) Cache(state result.State) bed.Cache {
	if c := s.caches[state]; c != nil {
		return c
	}
	return nil
}

// CPUs implements bed.Setup.
func (s *setup) CPUs() int { return len(s.bed.cpus[0]) }

// Describe implements bed.Setup.
func (s *setup) Describe() (result.Network, error) {
	version := map[bool]string{false: "IPv4", true: "IPv6"}
	tunnel, slow := "vxlan/"+strconv.Itoa(nodepair.TunnelPort), "router and VXLAN device of the kernel, netfilter rules of kube-proxy and Flannel, tunnel packets not tracked"
	if s.options.Direct {
		tunnel, slow = "none", "two routers of the kernel, the first in the place of Open vSwitch, netfilter rules of kube-proxy and Flannel"
	}
	n := result.Network{
		Families: version[s.options.Inner6] + " in " + version[s.options.Outer6],
		Tunnel:   tunnel, PodDevice: "veth", WireDevice: "veth",
		PodMTU: s.options.PodMTU(), WireMTU: nodepair.WireMTU,
		SlowPath: slow,
		CPUs:     fmt.Sprintf("client's Node: %v, server's Node: %v; receive packet steering on the wire; no idling (soakers)", s.bed.cpus[0], s.bed.cpus[1]),
	}
	err := s.pairs[result.On].Nodes[0].Host.Do(func() (err error) {
		n.Offloads, err = offloads(nodepair.Uplink)
		return err
	})
	if err != nil {
		return n, err
	}
	status, err := s.caches[result.On].Status()
	if err != nil {
		return n, err
	}
	n.MapBytes, n.MaxFlows = status[0].MemoryBytes, status[0].MaxFlows
	return n, nil
}

// Close implements bed.Setup.
func (s *setup) Close() error {
	var err error
	for _, c := range s.caches {
		err = errors.Join(err, c.close())
	}
	if s.peer != nil {
		err = errors.Join(err, s.peer.Close())
	}
	for _, pair := range s.pairs {
		pair.Close()
	}
	for _, l := range s.links {
		for _, side := range []bed.Space{l.Client, l.Server} {
			used, usageErr := usage(side.(*space).group)
			s.bed.own += used
			err = errors.Join(err, usageErr, removeGroup(side))
		}
	}
	return err
}

// removeGroup removes a control group once the processes in it, which have been killed, have ended.
func removeGroup(s bed.Space) error {
	var err error
	for end := time.Now().Add(stopGrace); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = os.Remove(s.(*space).group); !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return fmt.Errorf("processes of the bed do not end: %w", err)
}
