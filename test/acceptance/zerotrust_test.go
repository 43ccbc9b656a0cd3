// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/acceptance/policycases"
)

func TestZeroTrust(t *testing.T) {
	suite.test(t, policycases.ZeroTrust.Name, func(t *testing.T) { suite.policyBed(t, t, xyzPods(), nil).testZeroTrust(t) })
}

// testZeroTrust: a set of policies means the same before and after restarts of agents and Open vSwitch on both Nodes, and at no time between does a
// connection come about that it denies.
func (b *policyBed) testZeroTrust(t *testing.T) {
	c := b.c
	outside := c.namespace(t)
	servers := map[string]string{}
	for i, name := range []string{"www.shop.test", "www.other.test"} {
		server := c.pod(t, outside, fmt.Sprintf("server-%d", i), c.nodes[1], podOptions{image: agnhostImage, command: []string{"/bin/bash", "-c"}, args: []string{serve}})
		servers[name] = server.Status.PodIP
	}
	b.resolvers(t, c.zone(t, outside, 600, servers), "x/resolver")
	resolved := names("x/resolver", map[string]string{"www.shop.test": policycases.Connected, "www.other.test": policycases.Dropped})

	t.Cleanup(func() { b.withoutPolicies(t) })
	step := policycases.ZeroTrust.Steps[0]
	b.change(t, step.Do)
	step.Do = nil // from now on a connection that must be denied may not come about even once
	b.check(t, step, networkPolicyDelay)
	b.check(t, resolved, networkPolicyDelay)

	denied := map[string]string{ // by sender, which is on either Node
		"x/a": b.pods["y/b"].Status.PodIP, "x/c": b.pods["y/c"].Status.PodIP, "y/b": b.pods["x/c"].Status.PodIP, "y/c": b.pods["x/c"].Status.PodIP, "z/b": b.pods["z/a"].Status.PodIP,
		"x/resolver": servers["www.other.test"],
	}
	for _, restart := range c.nodeRestarts(t) {
		for _, node := range c.nodes {
			ends := map[string]func() result{}
			for from, to := range denied {
				attempts := fmt.Sprintf(`trap over=1 INT; while [ -z "$over" ]; do nc -z -w 1 %s 80; echo $?; sleep 0.2; done`, to)
				ends[from] = c.startUntil(t, b.pods[from], "/bin/bash", "-c", attempts)
			}
			restart.do(node)
			c.waitForAgents(t)
			c.waitForCondition(t, node, "OpenflowConnectionUp", "True")
			b.check(t, step, podTimeout)
			b.check(t, resolved, podTimeout)
			for from, end := range ends {
				r := end()
				require.NoError(t, r.err, r.stderr)
				codes := strings.Fields(r.stdout)
				require.NotEmpty(t, codes)
				require.NotContains(t, codes, "0", "%s on Node %s: %s has reached %s", restart.name, node, from, net.JoinHostPort(denied[from], "80"))
				t.Logf("%s on Node %s: %s was denied %d times", restart.name, node, from, len(codes))
			}
		}
	}
}

// nodeRestart restarts parts of the plugin on a Node.
type nodeRestart struct {
	name string
	do   func(node string)
}

// nodeRestarts are a replaced Pod, an agent that dies, and Open vSwitch below an agent that continues.
func (c *cluster) nodeRestarts(t *testing.T) []nodeRestart {
	return []nodeRestart{
		{"agent with Open vSwitch", func(node string) { c.deletePod(t, c.agentOn(t, node), 30) }},
		{"agent killed", func(node string) {
			before := c.restarts(t)
			_, _, _ = c.run(t.Context(), c.agentOn(t, node), agentContainer, "sh", "-c", "kill -QUIT 1") // which also ends this command
			eventually(t, podTimeout, func() error {
				if c.restarts(t) == before {
					return fmt.Errorf("no container of an agent on %s has been started again", node)
				}
				return nil
			})
		}},
		{"Open vSwitch", func(node string) {
			c.exec(t, c.agentOn(t, node), ovsContainer, "/usr/share/openvswitch/scripts/ovs-ctl", "--system-id=random", "restart", "--db-file=/var/run/openvswitch/conf.db")
		}},
	}
}
