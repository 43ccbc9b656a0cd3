// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// Tables and chains. A custom chain is named after the built-in chain that jumps to it.
const (
	tableRaw    = "raw"
	tableMangle = "mangle"
	tableFilter = "filter"
	tableNAT    = "nat"

	chainPrerouting  = "PREROUTING"
	chainInput       = "INPUT"
	chainForward     = "FORWARD"
	chainOutput      = "OUTPUT"
	chainPostrouting = "POSTROUTING"

	chainPrefix = "ANTREA-"

	// protocolGRE is a number: iptables knows the name only through /etc/protocols, which small images lack.
	protocolGRE = "47"
)

// rule is one iptables rule: the arguments that follow "-A chain", not yet quoted.
type rule struct {
	chain string
	args  []string
}

// table is the desired content of the custom chains of one iptables table.
type table struct {
	name   string
	chains []string
	rules  []rule
}

// ruleParams has everything that the rules depend on.
type ruleParams struct {
	gateway string
	// podCIDR is invalid where Pods have no addresses of the family; in that case there are only the rules for tunnel
	// packets.
	podCIDR netip.Prefix
	// podSet and nodeSet are the names of ipsets.
	podSet, nodeSet string
	// transport is this Node's transport address; invalid where it has none of the family.
	transport netip.Addr
	// tunnelProtocol is the IP protocol of tunnel packets ("udp", "tcp", protocolGRE); tunnelPort is 0 for protocols
	// without ports.
	tunnelProtocol string
	tunnelPort     uint16
	// rewritePort is the port, of TCP and UDP, of packets that ONCache of this or another Node may rewrite instead of encapsulating them;
	// 0 without ONCache.
	rewritePort uint16
	// wireGuardPort is the UDP port of encrypted packets, clusterPort the one between gateway Nodes of clusters; 0 without WireGuard. clusterSet is the
	// name of the ipset with other clusters' addresses.
	wireGuardPort, clusterPort uint16
	clusterSet                 string
	// formerPorts were rewritePort of earlier agents. Other Nodes may remember keys for them.
	formerPorts []uint16
	ports       Ports
	randomFully bool
	// noSNAT leaves the sources of Pods' packets to outside the cluster alone.
	noSNAT bool
	// nodePortSet is the name of an ipset, virtualService and virtualNodePort are the addresses of the family. nodePortSet is empty without
	// proxyAll. serviceSet is the set of external addresses of Services, then.
	nodePortSet, serviceSet         string
	icmp                            string
	virtualService, virtualNodePort netip.Addr
	// healthPortSet is the name of an ipset; empty without proxyAll.
	healthPortSet string
	// nodePolicies reports whether policies apply to this Node; nodePolicy is their content, nil until it is known: the chains stay as a
	// former agent has left them.
	nodePolicies bool
	nodePolicy   *nodePolicy
	// egress reports whether Pods may have Egresses, egressMarks says which source packets with a mark get.
	egress, egressRandomFully bool
	egressMarks               map[uint8]config.EgressMark
	// podPortsOn reports whether ports of the Node may lead to Pods, podPorts lists these ports.
	podPortsOn bool
	podPorts   []PodPort
}

// proxyAll reports whether connections to Services that come from the Node or from outside lead to the bridge.
func (p ruleParams) proxyAll() bool { return p.nodePortSet != "" }

// healthChecks match packets to the health check ports of Services.
func (p ruleParams) healthChecks() [][]string {
	if p.healthPortSet == "" {
		return nil
	}
	return [][]string{{"-p", "tcp", "-m", "set", "--match-set", p.healthPortSet, "dst,dst"}}
}

// tunnelPackets match tunnel packets, and those that ONCache rewrites: what comes from Nodes, and must not come from Pods.
func (p ruleParams) tunnelPackets() [][]string {
	return append([][]string{p.tunnelPacket()}, p.rewrittenPackets()...)
}

func (p ruleParams) tunnelPacket() []string {
	return portMatch(p.tunnelProtocol, "--dport", p.tunnelPort)
}

// rewrittenPackets match packets that ONCache of another Node rewrites.
func (p ruleParams) rewrittenPackets() (matches [][]string) {
	for _, port := range p.rewritePorts() {
		matches = append(matches, portMatch("udp", "--dport", port), portMatch("tcp", "--dport", port))
	}
	return matches
}

// rewritePorts are the present port for rewritten packets, if there is one, and the former ones.
func (p ruleParams) rewritePorts() []uint16 {
	if p.rewritePort == 0 {
		return p.formerPorts
	}
	return append([]uint16{p.rewritePort}, p.formerPorts...)
}

// keptPorts match packets of Pods that keep a port for rewritten packets as their source port when they are masqueraded, unless NAT
// chooses ports at random. Answers from another Node would be taken for rewritten packets. Answers of Pods that serve on this port are not
// masqueraded.
func (p ruleParams) keptPorts() (matches [][]string) {
	if p.randomFully || !p.podCIDR.IsValid() {
		return nil
	}
	for _, port := range p.rewritePorts() {
		matches = append(matches, portMatch("udp", "--sport", port), portMatch("tcp", "--sport", port))
	}
	return matches
}

// tunnelProtocol returns the IP protocol that carries the tunnel type.
func tunnelProtocol(tunnelType config.TunnelType) (string, error) {
	switch tunnelType {
	case config.TunnelTypeGeneve, config.TunnelTypeVXLAN:
		return "udp", nil
	case config.TunnelTypeSTT:
		return "tcp", nil
	case config.TunnelTypeGRE:
		return protocolGRE, nil
	}
	return "", fmt.Errorf("unknown tunnel type %q, want geneve, vxlan, gre or stt", tunnelType)
}

// desiredTables returns the rules of antrea-compat 4.7 for encap mode, and those that keep Pods out of the tunnel, in a
// fixed order.
func desiredTables(p ruleParams) []table {
	return []table{rawTable(p), mangleTable(p), filterTable(p), natTable(p)}
}

// rawTable keeps tunnel packets out of the host's connection tracking: they would cost a lookup each and fill the table
// with one entry per inner flow. Only UDP tunnels have the cheap exact match that this needs. Before that it drops packets
// that do not belong to another Node: see mangleTable.
func rawTable(p ruleParams) table {
	in, out := chainPrefix+chainPrerouting, chainPrefix+chainOutput
	t := table{name: tableRaw, chains: []string{in, out}}
	t.dropPlainPods(p)
	t.dropPlainClusters(p)
	if p.tunnelProtocol != "udp" {
		return t
	}
	tunnels := p.tunnelPackets()
	for i, tunnel := range tunnels {
		toNode := []string{"-m", "addrtype", "--dst-type", "LOCAL", "-j", "DROP"}
		notrack := []string{"-j", "NOTRACK"}
		if p.podCIDR.IsValid() {
			t.add(in, "drop tunnel packets that Pods have made", slices.Concat([]string{"-i", p.gateway}, tunnel, toNode)...)
		}
		// Nearly all tunnel packets have the transport address. To compare it separately costs a fraction of the lookup in the set,
		// and of the one in the routing tables by which addrtype finds out that an address is the Node's.
		var toOthers, fromOthers []string
		if p.transport.IsValid() {
			transport := p.transport.String()
			toOthers, fromOthers = []string{"!", "-d", transport}, []string{"!", "-s", transport}
			t.add(in, "do not track tunnel packets to the transport address", slices.Concat([]string{"-d", transport}, tunnel, notrack)...)
			t.add(out, "do not track tunnel packets from the transport address", slices.Concat([]string{"-s", transport}, tunnel, notrack)...)
			if i == 0 && len(tunnels) > 1 {
				// NOTRACK ends nothing. Without these, each packet of the slow path would be compared with all rules about rewritten packets.
				t.add(in, "no further rule concerns them", slices.Concat([]string{"-d", transport}, tunnel, []string{"-j", "RETURN"})...)
				t.add(out, "no further rule concerns them", slices.Concat([]string{"-s", transport}, tunnel, []string{"-j", "RETURN"})...)
			}
		}
		// Other Nodes know only these addresses, but not all addresses that a Pod could send to and that its Node masquerades. The
		// transport address is in the set.
		t.add(in, "drop tunnel packets to addresses that no Node sends them to",
			slices.Concat(p.notFromClusters(), toOthers, tunnel, []string{"-m", "set", "!", "--match-set", p.nodeSet, "dst"}, toNode)...)
		t.add(in, "do not track incoming tunnel packets", slices.Concat(toOthers, tunnel, []string{"-m", "addrtype", "--dst-type", "LOCAL"}, notrack)...)
		t.add(out, "do not track outgoing tunnel packets", slices.Concat(fromOthers, tunnel, []string{"-m", "addrtype", "--src-type", "LOCAL"}, notrack)...)
	}
	return t
}

// mangleTable marks packets from the Node itself to local Pods: by this mark the pipeline lets kubelet probes through. filterTable marks packets
// whose destination is translated between the two. It also drops packets that would become tunnel packets of this Node without Open vSwitch having made them: a packet of a Pod
// that is masqueraded on its way out, or one whose destination was translated. FORWARD comes after that translation, and
// its mangle table before kube-proxy's rules, which accept in the filter table.
func mangleTable(p ruleParams) table {
	forward, out := chainPrefix+chainForward, chainPrefix+chainOutput
	t := table{name: tableMangle, chains: []string{forward, out}}
	if p.proxyAll() {
		t.addServiceMarks(p)
	}
	t.keepPodsEncrypted(p)
	t.keepClustersEncrypted(p)
	if p.tunnelProtocol == "udp" {
		toNode := []string{"-m", "set", "--match-set", p.nodeSet, "dst", "-j", "DROP"}
		for _, tunnel := range p.tunnelPackets() {
			if p.podCIDR.IsValid() {
				t.add(forward, "drop tunnel packets that Pods have made", slices.Concat([]string{"-i", p.gateway}, tunnel, toNode)...)
			}
			t.add(forward, "drop translated packets to the tunnel of a Node",
				slices.Concat(tunnel, []string{"-m", "conntrack", "--ctstate", "DNAT"}, toNode)...)
		}
	}
	if !p.podCIDR.IsValid() {
		return t
	}
	for _, kept := range p.keptPorts() {
		t.add(forward, "drop packets whose answers would go to the port of the tunnel", slices.Concat([]string{"-i", p.gateway},
			kept, []string{"-m", "conntrack", "--ctdir", "ORIGINAL", "-m", "set", "!", "--match-set", p.podSet, "dst", "-j", "DROP"})...)
	}
	t.addEgressGuard(p)
	t.dropUntranslated(p)
	t.dropForgedPods(p)
	t.add(out, "mark packets of the Node to local Pods", append([]string{"-o", p.gateway}, markOfNode...)...)
	return t
}

// markOfNode marks packets from an address of the Node. In OUTPUT only the Node can have sent them.
var markOfNode = []string{"-m", "addrtype", "--src-type", "LOCAL", "-j", "MARK", "--or-mark", fmt.Sprintf("%#x", config.HostLocalSourceMark)}

// translatedToPods are the destinations, after the translation for Services and host ports, that lead the Node's packets to its Pods.
func (p ruleParams) translatedToPods() (destinations []string) {
	if p.podCIDR.IsValid() {
		destinations = append(destinations, p.podCIDR.String())
	}
	if p.podCIDR.IsValid() && p.proxyAll() {
		destinations = append(destinations, netip.PrefixFrom(p.virtualNodePort, p.virtualNodePort.BitLen()).String())
	}
	return destinations
}

func filterTable(p ruleParams) table {
	in, forward, out := chainPrefix+chainInput, chainPrefix+chainForward, chainPrefix+chainOutput
	t := table{name: tableFilter, chains: []string{in, forward, out}}
	if p.podCIDR.IsValid() {
		t.add(forward, "accept packets from local Pods", "-i", p.gateway, "-j", "ACCEPT")
		t.add(forward, "accept packets to local Pods", "-o", p.gateway, "-j", "ACCEPT")
	}
	t.acceptEncrypted(p)

	for _, destination := range p.translatedToPods() {
		// The output device is still the device of the untranslated destination.
		t.add(out, "mark packets of the Node to local Pods through Services",
			slices.Concat([]string{"-d", destination, "-m", "conntrack", "--ctstate", "DNAT"}, markOfNode)...)
	}
	tunnel := p.tunnelPacket()
	if p.tunnelProtocol == "udp" {
		// DNAT is the kernel's translation of destinations, as for Services. Tunnel packets of Nodes are not tracked.
		t.add(in, "accept tunnel packets", slices.Concat(tunnel, []string{"-m", "conntrack", "!", "--ctstate", "DNAT", "-j", "ACCEPT"})...)
		t.add(in, "drop translated packets to the tunnel", slices.Concat(tunnel, []string{"-j", "DROP"})...)
	} else {
		t.add(in, "accept tunnel packets", slices.Concat(tunnel, []string{"-j", "ACCEPT"})...)
	}
	t.add(out, "accept tunnel packets", slices.Concat(tunnel, []string{"-j", "ACCEPT"})...)
	for _, encrypted := range p.encryptedPackets() {
		t.add(in, "accept packets of WireGuard", slices.Concat(encrypted, []string{"-j", "ACCEPT"})...)
		t.add(out, "accept packets of WireGuard", slices.Concat(encrypted, []string{"-j", "ACCEPT"})...)
	}
	// Rewritten packets are not accepted: programs on the device take them before they come here. Packets that come here are for a process of the host,
	// for which the host's firewall is responsible.
	for _, rewritten := range p.rewrittenPackets() {
		t.add(in, "drop translated packets to the tunnel", slices.Concat(rewritten, []string{"-m", "conntrack", "--ctstate", "DNAT", "-j", "DROP"})...)
	}
	for _, s := range p.ports.services() {
		t.add(in, "accept "+s.name, append(portMatch(s.protocol, "--dport", s.port), "-j", "ACCEPT")...)
		// Never accept by source port in INPUT: any remote host could choose it and reach every port of the Node.
		t.add(out, "accept replies of "+s.name, append(portMatch(s.protocol, "--sport", s.port), "-j", "ACCEPT")...)
		if s.dialled {
			t.add(out, "accept "+s.name, append(portMatch(s.protocol, "--dport", s.port), "-j", "ACCEPT")...)
		}
	}
	for _, match := range p.healthChecks() {
		t.add(in, "accept health checks of Services", append(match, "-j", "ACCEPT")...)
	}
	if p.nodePolicies {
		t.addNodePolicies(p)
	}
	return t
}

func natTable(p ruleParams) table {
	post := chainPrefix + chainPostrouting
	masquerade := []string{"-j", "MASQUERADE"}
	if p.randomFully {
		masquerade = append(masquerade, "--random-fully")
	}
	t := table{name: tableNAT, chains: []string{post}}
	if !p.podCIDR.IsValid() {
		return t
	}
	t.addEgressSources(p)
	if !p.noSNAT {
		t.add(post, "masquerade Pod to external packets", append([]string{
			"-s", p.podCIDR.String(), "!", "-o", p.gateway, "-m", "set", "!", "--match-set", p.podSet, "dst"}, masquerade...)...)
	}
	if p.proxyAll() {
		// To an address of the Node itself, MASQUERADE would take that for the source in IPv6.
		t.add(post, "give connections of the Node to Services the gateway's address", slices.Concat([]string{"-o", p.gateway, "-m", "set",
			"--match-set", p.serviceSet, "dst,dst", "-m", "addrtype", "--src-type", "LOCAL", "-j", "SNAT", "--to-source", p.podCIDR.Addr().Next().String()}, masquerade[2:])...)
	}
	// kube-proxy may translate the destination of a local process's packet after its source address has been chosen. The
	// packet then leaves with the address of another interface, and the Pod's reply would not return through the tunnel.
	t.add(post, "masquerade packets of the Node with another interface's address", append([]string{
		"-o", p.gateway, "-m", "addrtype", "!", "--src-type", "LOCAL", "--limit-iface-out", "-m", "addrtype", "--src-type", "LOCAL"}, masquerade...)...)
	t.masqueradeEncrypted(p, masquerade)
	if p.proxyAll() {
		t.addNodePorts(p, masquerade)
	}
	t.addPodPorts(p)
	return t
}

// addNodePorts gives connections to NodePorts the destination that leads to the bridge. Those that the bridge sends back to the host have a
// source that only this Node knows.
func (t *table) addNodePorts(p ruleParams, masquerade []string) {
	for _, chain := range []string{chainPrefix + chainPrerouting, chainPrefix + chainOutput} {
		t.chains = append(t.chains, chain)
		t.add(chain, "lead connections to NodePorts to the bridge",
			"-m", "set", "--match-set", p.nodePortSet, "dst,dst", "-j", "DNAT", "--to-destination", p.virtualNodePort.String())
	}
	t.add(chainPrefix+chainPostrouting, "masquerade connections to Services that leave the Node",
		append([]string{"-s", p.virtualService.String()}, masquerade...)...)
}

// addServiceMarks marks packets to external addresses of Services, so that a routing rule leads them to the bridge. Packets from the bridge have
// been treated there. ICMP errors about such connections follow them, except to an address that this Node has itself: they could be
// about another connection to it. On the way to the bridge the mark ends, or the route of the outer packet of the tunnel would also follow it.
func (t *table) addServiceMarks(p ruleParams) {
	in, out, post := chainPrefix+chainPrerouting, chainPrefix+chainOutput, chainPrefix+chainPostrouting
	t.chains = append(t.chains, in, post)
	mark := func(bits uint32) []string { return []string{"-j", "MARK", "--or-mark", fmt.Sprintf("%#x", bits)} }
	inSet, outside := []string{"-m", "set", "--match-set", p.serviceSet, "dst,dst"}, []string{"!", "-i", p.gateway}
	t.add(in, "mark packets to Services", slices.Concat(outside, []string{"!", "-p", p.icmp}, inSet, mark(config.ServiceMark))...)
	t.add(in, "mark errors about connections to Services", slices.Concat(outside, []string{"-p", p.icmp}, inSet, []string{
		"-m", "conntrack", "--ctstate", "RELATED", "--ctdir", "ORIGINAL", "-m", "addrtype", "!", "--dst-type", "LOCAL"}, mark(config.ServiceMark))...)
	t.add(out, "mark packets of the Node to Services", slices.Concat([]string{"!", "-p", p.icmp}, inSet, mark(config.ServiceMark|config.HostLocalSourceMark))...)
	bit := fmt.Sprintf("%#x", config.ServiceMark)
	t.add(post, "unmark packets to Services", "-o", p.gateway, "-m", "mark", "--mark", bit+"/"+bit, "-j", "MARK", "--set-xmark", "0x0/"+bit)
}

func (t *table) add(chain, comment string, args ...string) {
	t.rules = append(t.rules, rule{chain: chain, args: append([]string{"-m", "comment", "--comment", "Antrea: " + comment}, args...)})
}

// portMatch returns a new slice without spare capacity, so that appending to it twice never shares memory.
func portMatch(protocol, direction string, port uint16) []string {
	args := []string{"-p", protocol}
	if port != 0 {
		args = append(args, "-m", protocol, direction, strconv.Itoa(int(port)))
	}
	return args[:len(args):len(args)]
}

// restoreText returns the input of "iptables-restore --noflush" that replaces the content of the custom chains and nothing
// else. The same tables always give the same bytes.
func restoreText(tables []table) string {
	var b strings.Builder
	for _, t := range tables {
		fmt.Fprintf(&b, "*%s\n", t.name)
		for _, chain := range t.chains {
			fmt.Fprintf(&b, ":%s - [0:0]\n", chain)
		}
		for _, r := range t.rules {
			fmt.Fprintln(&b, r.String())
		}
		b.WriteString("COMMIT\n")
	}
	return b.String()
}

// String formats the rule for iptables-restore.
func (r rule) String() string {
	var b strings.Builder
	b.WriteString("-A " + r.chain)
	for _, arg := range r.args {
		b.WriteByte(' ')
		if strings.ContainsAny(arg, " \"'\\") {
			arg = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(arg) + `"`
		}
		b.WriteString(arg)
	}
	return b.String()
}
