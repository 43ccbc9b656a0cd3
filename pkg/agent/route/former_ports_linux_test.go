// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// TestFormerPortsStay: other Nodes remember keys for a while after an agent has started with another port for rewritten packets, or with none.
// Until they forget them, however many agents start, Pods are kept out of the former ports, by the rules that they had.
func TestFormerPortsStay(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		t.Run(backend, func(t *testing.T) {
			useBackend(t, backend)
			newNetNS(t)
			newGateway(t)
			starts := func(port uint16) *Client {
				t.Helper()
				network, node := testConfigs()
				network.RewritePort = port
				c, err := NewClient(network, node, Options{Sysctls: newRecord(t)})
				require.NoError(t, err)
				require.NoError(t, c.Initialize())
				return c
			}
			of := func(port string) (rules []string) {
				for _, line := range savedRules(t) {
					if strings.Contains(line, "port "+port) {
						rules = append(rules, line)
					}
				}
				return rules
			}
			starts(0)
			never := savedRules(t)
			starts(585)
			present := of("585")
			require.NotEmpty(t, present)

			starts(0)
			require.Empty(t, cmp.Diff(present, of("585")), "the gate is off")
			other := starts(586)
			require.Empty(t, cmp.Diff(present, of("585")), "two agents later")
			require.Len(t, of("586"), len(present))
			require.NoError(t, other.Initialize())
			require.Empty(t, cmp.Diff(present, of("585")))

			require.NoError(t, other.ForgetFormerPorts(t.Context()))
			require.Empty(t, of("585"))
			require.Len(t, of("586"), len(present), "the present port")
			require.NoError(t, other.Initialize())
			require.Empty(t, of("585"), "for good")

			off := starts(0)
			require.Len(t, of("586"), len(present))
			require.NoError(t, off.ForgetFormerPorts(t.Context()))
			require.Empty(t, cmp.Diff(never, savedRules(t)))
		})
	}
}

func TestFormerPorts(t *testing.T) {
	require.Equal(t, []uint16{585, 587}, formerPorts([]string{
		"-A FORWARD -p tcp -m tcp --dport 580 -j ANTREA-FORWARD",
		"-A ANTREA-FORWARD -i antrea-gw0 -p udp -m udp --dport 6081 -m set --match-set ANTREA-NODE-IP dst -j DROP",
		"-A ANTREA-FORWARD -i antrea-gw0 -p tcp -m comment --comment \"Antrea: drop\" -m tcp --dport 585 -m set --match-set ANTREA-NODE-IP dst -j DROP",
		"-A ANTREA-FORWARD -p tcp -m tcp --dport 585 -m conntrack --ctstate DNAT -j DROP",
		"-A ANTREA-FORWARD -p tcp -m tcp --dport 586 -j DROP",
		"-A ANTREA-FORWARD -p tcp -m tcp --dport 587 -j DROP",
		"-A ANTREA-FORWARD -p tcp -m tcp --sport 588 -j DROP",
		"-A ANTREA-FORWARD -p tcp -m tcp --dport",
		"-A ANTREA-FORWARD -p tcp -m tcp --dport 10000:70000 -j DROP",
	}, 586))
}
