// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// testCleanup uninstalls the agents and cleans the Nodes up. A Node of the testbed starts as empty namespaces with one device, so all that it
// may still have is known.
func testCleanup(t *testing.T, s *suite) {
	r := s.startStream(t) // so that there are connections, and programs that forward them
	r.waitFastIfGate(t)
	r.end(t, 0)
	code, out := runCleanup(t, s.node1)
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "another antrea-agent runs on this Node")
	s.requireConnectivity(t, s.client.Space, s.server.Space, s.server.IP)

	owner := s.egressInForce(t)
	for _, n := range []*cluster.Node{s.node1, s.node2} {
		if n == owner {
			require.NoError(t, n.KillAgent()) // in order, it would give the address up
		} else {
			require.NoError(t, n.StopAgent())
		}
		require.NoError(t, n.StopOVS())
		code, said := runCleanup(t, n, "--dry-run")
		require.Equal(t, 0, code, said)
		require.Contains(t, said, "would remove datapath ovs-system of Open vSwitch, with the bridge br-int")
		require.NotEmpty(t, succeeds(t, n.Space, "ip", "link", "show", "antrea-gw0"), "a dry run has removed it")

		code, out := runCleanup(t, n)
		require.Equal(t, 0, code, out)
		t.Logf("%s:\n%s", n.Name, out)
		wanted := []string{"CNI configuration /etc/cni/net.d/10-antrea.conflist", "ipset ANTREA-POD-IP", "entries of connection tracking in the zones", "datapath ovs-system",
			"geneve device genev_sys_6081", "Pod interface ", "directory /var/run/antrea", "removed all of Antrea from this Node"}
		if s.oncache {
			wanted = append(wanted, "eBPF programs of ONCache on eth0", "sysctl net/netfilter/nf_conntrack_tcp_be_liberal: 1, was 0 before Antrea")
		}
		if n == owner {
			wanted = append(wanted, "device "+config.EgressDevice+", with addresses of Egresses")
		}
		for _, want := range wanted {
			require.Contains(t, out, want)
		}
		requireClean(t, n)
		code, out = runCleanup(t, n)
		require.Equal(t, 0, code, out)
		require.Contains(t, out, "nothing of Antrea is on this Node")
	}
	eventually(t, "programs to be gone", func() error {
		if names := loadedPrograms(t); len(names) > 0 {
			return notYet("loaded: " + strings.Join(names, ", "))
		}
		return nil
	})
	require.Empty(t, attachedLinks(t))
}

// egressInForce makes an Egress for Pods of both Nodes, and returns the Node with its address; nil if the traffic mode has no Egress.
func (s *suite) egressInForce(t *testing.T) (owner *cluster.Node) {
	t.Helper()
	if s.mode != "" {
		return nil
	}
	s.label(t, s.client, map[string]string{"egress": "cleanup"})
	s.label(t, s.far, map[string]string{"egress": "cleanup"})
	e := s.newEgressPool(t, "cleanup", s.egressAddress(205))
	e.create(t)
	owner, _, _ = e.settled(t)
	require.Contains(t, succeeds(t, owner.Space, "iptables-save", "-t", "nat"), "--to-source "+e.addr.String())
	return owner
}

// runCleanup returns the exit code and all output.
func runCleanup(t *testing.T, n *cluster.Node, args ...string) (int, string) {
	t.Helper()
	p, err := n.Start(append([]string{"antrea-agent", "cleanup", "--keep-logs"}, args...)...)
	require.NoError(t, err)
	<-p.Done()
	return p.ExitCode(), p.Stdout() + p.Stderr()
}

// requireClean checks that a Node has what it began with: the loopback device and eth0, with their addresses and routes.
func requireClean(t *testing.T, n *cluster.Node) {
	t.Helper()
	shell := func(script string) []string {
		return strings.Fields(succeeds(t, n.Space, "sh", "-c", script))
	}
	// The kernel makes sit0 in every network namespace, if it has IPv6 over IPv4.
	require.Equal(t, []string{"eth0", "lo"}, shell("ls /sys/class/net | grep -v ^sit0$"))
	require.Empty(t, shell("ip -o address | grep -v -e ' lo ' -e ' eth0 ' || :"))
	require.Empty(t, shell("ip route | grep -v ' eth0' || :"))
	require.Empty(t, shell("ip route show proto 170; ip -6 route show proto 170"), "routes to peers")
	require.Empty(t, shell("ip -6 route | grep -v -e ' eth0' -e ' lo ' || :"))
	require.Empty(t, shell("ip rule | grep -v -e 'lookup local' -e 'lookup main' -e 'lookup default' || :"))
	require.Empty(t, shell("iptables-save | grep -e ^-A -e ' - ' || :"))
	require.Empty(t, shell("ip6tables-save | grep -e ^-A -e ' - ' || :"))
	require.Empty(t, shell("ipset list -n"))
	require.Empty(t, shell("tc qdisc show dev eth0 | grep -e clsact -e ingress || :"))
	require.Empty(t, shell("ls /sys/fs/bpf | grep -v debug || :"))
	require.Empty(t, shell("ls -d /var/run/antrea /etc/cni/net.d/* /opt/cni/bin/antrea 2>/dev/null || :"))
	require.Equal(t, []string{"0"}, shell("cat "+liberalSysctl))
	require.Equal(t, []string{"1"}, shell("cat /proc/sys/net/ipv4/ip_forward"), "the testbed has set it")
	require.Empty(t, shell("grep -e zone=655 -e 169.254.0.25 /proc/net/nf_conntrack || :"))
}
