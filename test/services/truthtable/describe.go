// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/services"
	"github.com/antrea-oncache/antrea/test/tools/wire"
)

// mostTraces is the maximum number of wrong answers of one set that are printed with all flows.
const mostTraces = 3

// mostFindings is the maximum number of findings that are printed again at the end.
const mostFindings = 20

// explain prints the trials that went wrong, with the objects and flows that are concerned.
func (b *bench) explain(wrong []*trial) {
	fmt.Printf("set %d: %+v\n", b.result.sets, b.world.Settings)
	for _, n := range b.world.Nodes {
		fmt.Printf("# Node %s, zone %q, %v\n", n.Name, n.Zone, n.Addresses)
	}
	for _, n := range b.world.Nodes {
		fmt.Print(b.dropped(n.Name))
	}
	for i, t := range wrong {
		b.find("set %d: %s: %s; want %s, one of %v; it was %s", b.result.sets, t.Probe, t.wrong, t.verdict.Outcome, t.verdict.Addresses(), t.outcome())
		if i < mostTraces {
			b.describeServices(b.world, t.Probe)
			fmt.Println(b.trace(t))
		}
	}
}

// find prints a finding, which is printed again at the end: what explains it is long.
func (b *bench) find(format string, arguments ...any) {
	finding := fmt.Sprintf(format, arguments...)
	b.findings = append(b.findings, finding)
	fmt.Println(finding)
}

// dropped returns Open vSwitch's own counters of packets that it has dropped on a Node.
func (b *bench) dropped(node string) string {
	var out strings.Builder
	for line := range strings.Lines(b.pair.Nodes[node].OVS.Appctl("coverage/show")) {
		if strings.Contains(line, "drop") && !strings.Contains(line, "total: 0") {
			fmt.Fprintf(&out, "# %s: %s", node, line)
		}
	}
	return out.String()
}

// outcome describes the fate of the connection that is wrong, or the destinations of all connections.
func (t *trial) outcome() string {
	if t.culprit != nil {
		return fmt.Sprintf("%s (connection %d of %d)", t.culprit.outcome(), slices.Index(t.connections, t.culprit)+1, len(t.connections))
	}
	var reached []netip.AddrPort
	for endpoint := range t.reached {
		reached = append(reached, endpoint)
	}
	slices.SortFunc(reached, netip.AddrPort.Compare)
	return fmt.Sprintf("at %v", reached)
}

// describeServices prints the Services that have the address of a probe, or had it before the last change.
func (b *bench) describeServices(w *services.World, p *services.Probe) {
	for i, s := range slices.Concat(w.Services, b.former.Services) {
		if !hasAddress(s, p) {
			continue
		}
		if i >= len(w.Services) {
			fmt.Println("# before the last change:")
			if slices.Contains(w.Services, s) {
				continue
			}
		}
		printObject("v1", "Service", s)
		from := w.Slices
		if i >= len(w.Services) {
			from = b.former.Slices
		}
		for _, slice := range from {
			if slice.Namespace == s.Namespace && slice.Labels[discoveryv1.LabelServiceName] == s.Name {
				printObject("discovery.k8s.io/v1", "EndpointSlice", slice)
			}
		}
	}
}

func hasAddress(s *corev1.Service, p *services.Probe) bool {
	addresses := slices.Concat(s.Spec.ClusterIPs, s.Spec.ExternalIPs)
	for _, ingress := range s.Status.LoadBalancer.Ingress {
		addresses = append(addresses, ingress.IP)
	}
	return slices.Contains(addresses, p.To.Addr().String()) ||
		slices.ContainsFunc(s.Spec.Ports, func(port corev1.ServicePort) bool { return port.NodePort == int32(p.To.Port()) })
}

func printObject(version, kind string, o runtime.Object) {
	text, err := yaml.Marshal(o)
	if err != nil {
		text = []byte("# " + err.Error())
	}
	fmt.Printf("---\napiVersion: %s\nkind: %s\n%s", version, kind, text)
}

// trace returns, for the Node of a probe's client, what the agent has installed for the address, the flows that name it with their groups,
// and Open vSwitch's trace of the opening packet.
func (b *bench) trace(t *trial) string {
	var out strings.Builder
	n := b.pair.Nodes[t.Client.Node]
	a := b.agentOf(t.Client.Node)
	a.installed.mu.Lock()
	for name, p := range a.installed.ports {
		if strings.Contains(fmt.Sprintf("%v", p.Frontends), t.To.String()) || strings.Contains(fmt.Sprintf("%v", p.Frontends), fmt.Sprintf(":%d", t.To.Port())) {
			fmt.Fprintf(&out, "--- %s: the agent has installed %s: %+v\n", n.Name(), name, p)
		}
	}
	a.installed.mu.Unlock()
	c := b.newConnection(t.Probe)
	groups := map[string]bool{}
	fmt.Fprintf(&out, "--- %s: flows\n", n.Name())
	for _, flow := range n.OVS.DumpFlows(switchpair.BridgeName) {
		if !strings.Contains(flow, "_dst="+c.to.Addr().String()) {
			continue
		}
		fmt.Fprintln(&out, flow)
		for _, m := range regexp.MustCompile(`group:(\d+)`).FindAllStringSubmatch(flow, -1) {
			groups[m[1]] = true
		}
	}
	for line := range strings.Lines(n.OVS.Ofctl("-O", "OpenFlow15", "dump-groups", switchpair.BridgeName)) {
		if m := regexp.MustCompile(`group_id=(\d+),`).FindStringSubmatch(line); m != nil && groups[m[1]] {
			fmt.Fprint(&out, line)
		}
	}
	if c.led {
		fmt.Fprintf(&out, "--- %s: the packet\n%s\n", n.Name(), n.OVS.Appctl("ofproto/trace", switchpair.BridgeName,
			fmt.Sprint("in_port=", b.port(&t.Client).OFPort), fmt.Sprintf("%x", wire.Opening(b.leg(c), protocolNumbers[t.Protocol], c.id)),
			"--ct-next", "trk,new", "--ct-next", "trk,new"))
	}
	return out.String()
}
