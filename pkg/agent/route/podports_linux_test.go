// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func toPod(protocol string, nodePort uint16, pod string) PodPort {
	return PodPort{protocol, nodePort, netip.MustParseAddrPort(pod)}
}

// TestPodPorts: the rules are Antrea's, a new agent keeps what it finds until it knows better, upkeep restores them, and without the feature all is
// gone.
func TestPodPorts(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		t.Run(backend, func(t *testing.T) {
			useBackend(t, backend)
			newNetNS(t)
			newGateway(t)
			require.NoError(t, newTestClient(t, Options{}).Initialize())
			without := savedRules(t)

			c := newTestClient(t, Options{PodPorts: true})
			require.NoError(t, c.Initialize())
			require.Empty(t, c.FormerPodPorts())
			ports := []PodPort{toPod("tcp", 61002, "10.10.0.5:8080"), toPod("udp", 61002, "10.10.0.5:8080")}
			require.NoError(t, c.SetPodPorts(t.Context(), ports))
			once := savedRules(t)
			text := strings.Join(once, "\n") + "\n"
			for _, want := range []string{
				"-A ANTREA-NODE-PORT-LOCAL -p tcp -m tcp --dport 61002 -j DNAT --to-destination 10.10.0.5:8080\n",
				"-A ANTREA-NODE-PORT-LOCAL -p udp -m udp --dport 61002 -j DNAT --to-destination 10.10.0.5:8080\n",
				"-A PREROUTING -m addrtype --dst-type LOCAL -j ANTREA-NODE-PORT-LOCAL\n", "-A OUTPUT -m addrtype --dst-type LOCAL -j ANTREA-NODE-PORT-LOCAL\n",
			} {
				require.Equal(t, 1, strings.Count(text, want), "%s in:\n%s", want, text)
			}
			require.NoError(t, c.SetPodPorts(t.Context(), ports))
			require.NoError(t, c.sync(t.Context()))
			require.Equal(t, once, savedRules(t), "setting and syncing again change nothing")

			edit, err := exec.LookPath("iptables")
			require.NoError(t, err)
			require.NoError(t, exec.Command(edit, "-t", "nat", "-F", "ANTREA-NODE-PORT-LOCAL").Run())
			require.NoError(t, c.sync(t.Context()))
			require.Equal(t, once, savedRules(t), "upkeep restores rules")

			require.NoError(t, exec.Command(edit, "-t", "nat", "-A", "ANTREA-NODE-PORT-LOCAL", "-p", "tcp", "-j", "ACCEPT").Run())
			next := newTestClient(t, Options{PodPorts: true})
			require.NoError(t, next.Initialize())
			require.Equal(t, once, savedRules(t), "a new agent keeps its rules, and no others")
			require.Equal(t, ports, next.FormerPodPorts())
			require.NoError(t, next.SetPodPorts(t.Context(), ports[1:]))
			require.NotContains(t, strings.Join(savedRules(t), "\n"), "-p tcp -m tcp --dport 61002")
			require.NoError(t, next.SetPodPorts(t.Context(), nil))
			require.NotContains(t, strings.Join(savedRules(t), "\n"), "-j DNAT")
			require.NoError(t, next.SetPodPorts(t.Context(), ports))
			off := newTestClient(t, Options{})
			require.NoError(t, off.Initialize())
			require.Equal(t, without, savedRules(t))
			require.Equal(t, ports, off.FormerPodPorts(), "their connections have to end")

			off = newTestClient(t, Options{})
			require.NoError(t, off.Initialize())
			require.Equal(t, without, savedRules(t))
			require.Empty(t, off.FormerPodPorts())
			require.ErrorContains(t, off.SetPodPorts(t.Context(), ports), "nodePortLocal.enable")
		})
	}
}

func TestPodPortsAreRefused(t *testing.T) {
	for _, bad := range []PodPort{toPod("sctp", 61002, "10.10.0.5:8080"), toPod("tcp", 0, "10.10.0.5:8080"), toPod("tcp", 1, "10.10.0.5:0"), {Protocol: "tcp", NodePort: 1}} {
		require.ErrorContains(t, (&Client{}).SetPodPorts(t.Context(), []PodPort{bad}), "want tcp or udp")
	}
}

// TestFormerPodPorts: only rules that an agent makes are taken over, whatever else is in the chain.
func TestFormerPodPorts(t *testing.T) {
	nat := []string{
		"-A ANTREA-NODE-PORT-LOCAL -p tcp -m tcp --dport 61002 -j DNAT --to-destination 10.10.0.5:8080",
		"-A ANTREA-NODE-PORT-LOCAL -p tcp -m tcp --dport 61002 -j DNAT --to-destination 10.10.0.5:8080",
		"-A ANTREA-NODE-PORT-LOCAL -p udp -m udp --dport 61000 -j DNAT --to-destination [fd00::5]:53",
		"-A ANTREA-NODE-PORT-LOCAL -s 10.0.0.0/8 -p tcp -m tcp --dport 61003 -j DNAT --to-destination 10.10.0.5:8080",
		"-A ANTREA-NODE-PORT-LOCAL -p tcp -m tcp --dport 61000:61003 -j DNAT --to-destination 10.10.0.5:8080",
		"-A ANTREA-NODE-PORT-LOCAL -p tcp -m tcp --dport 61004 -j DNAT --to-destination 10.10.0.5-10.10.0.9:8080",
		"-A PREROUTING -p tcp -m tcp --dport 61005 -j DNAT --to-destination 10.10.0.5:8080", "-A ANTREA-NODE-PORT-LOCAL", "",
	}
	require.Equal(t, []PodPort{toPod("tcp", 61002, "10.10.0.5:8080")}, formerPodPorts(familyIPv4, nat))
	require.Equal(t, []PodPort{toPod("udp", 61000, "[fd00::5]:53")}, formerPodPorts(familyIPv6, nat))
}
