// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// newTestClient returns an initialized client on a switch in memory.
func newTestClient(t *testing.T, features Features) (Client, *of.Fake) {
	t.Helper()
	return newTestClientOf(t, features, testNode)
}

func newTestClientOf(t *testing.T, features Features, node *config.NodeConfig) (Client, *of.Fake) {
	t.Helper()
	fake := of.NewFake()
	c := NewClient(fake, noTableNames, features)
	_, err := c.Initialize(context.Background(), RoundInfo{RoundNum: testRound}, node, testNetwork)
	require.NoError(t, err)
	fake.ClearHistory()
	return c, fake
}

func replay(c Client) error { return c.ReplayFlows(func() {}) }

func installPodA(c Client) error {
	return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{podAIP}, podAMAC, podAPort)
}

func installPodB(c Client) error {
	return c.InstallPodFlows(context.Background(), "pod-b", []netip.Addr{podBIP}, podBMAC, podBPort)
}

func closePodA(c Client) error {
	return c.ClosePodFlows(context.Background(), "pod-a", []netip.Addr{podAIP}, podAMAC, podAPort)
}

func installRemoteNode(c Client) error {
	return c.InstallNodeFlows("node-b", remotePeers)
}

func installClusterPort(c Client) error {
	return c.InstallService(clusterPort(localEndpoint))
}

func install(rules ...*policy.Rule) func(Client) error {
	return func(c Client) error { return c.UpdatePolicyRules(rules, nil) }
}

// generating is a client whose features make flows.
type generating interface{ current() *generator }

// generatorOf returns the generator of an initialized client.
func generatorOf(c Client) *generator { return c.(generating).current() }

// tableNames returns the names of the tables by id.
func tableNames(c Client) map[uint8]string { return generatorOf(c).names() }
