// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oftest

import (
	"context"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// NewTestClient returns an initialized client on a switch in memory.
func NewTestClient(t *testing.T, features openflow.Features) (openflow.Client, *of.Fake) {
	t.Helper()
	return NewTestClientOf(t, features, TestNode)
}

func NewTestClientOf(t *testing.T, features openflow.Features, node *config.NodeConfig) (openflow.Client, *of.Fake) {
	t.Helper()
	fake := of.NewFake()
	c := openflow.NewClient(fake, NoTableNames, features)
	_, err := c.Initialize(context.Background(), openflow.RoundInfo{RoundNum: TestRound}, node, TestNetwork)
	require.NoError(t, err)
	fake.ClearHistory()
	return c, fake
}

func Replay(c openflow.Client) error { return c.ReplayFlows(func() {}) }

func InstallPodA(c openflow.Client) error {
	return c.InstallPodFlows(context.Background(), "pod-a", []netip.Addr{PodAIP}, PodAMAC, PodAPort)
}

func InstallPodB(c openflow.Client) error {
	return c.InstallPodFlows(context.Background(), "pod-b", []netip.Addr{PodBIP}, PodBMAC, PodBPort)
}

func ClosePodA(c openflow.Client) error {
	return c.ClosePodFlows(context.Background(), "pod-a", []netip.Addr{PodAIP}, PodAMAC, PodAPort)
}

func InstallRemoteNode(c openflow.Client) error {
	return c.InstallNodeFlows("node-b", RemotePeers)
}

func InstallClusterPort(c openflow.Client) error {
	return c.InstallService(ClusterPort(LocalEndpoint))
}

func Install(rules ...*policy.Rule) func(openflow.Client) error {
	return func(c openflow.Client) error { return c.UpdatePolicyRules(rules, nil) }
}

// generating is a client whose features make flows.
type generating interface{ Current() *pipeline.Generator }

// GeneratorOf returns the generator of an initialized client.
func GeneratorOf(c openflow.Client) *pipeline.Generator { return c.(generating).Current() }

// TableNames returns the names of the tables by id.
func TableNames(c openflow.Client) map[uint8]string { return GeneratorOf(c).Names() }
