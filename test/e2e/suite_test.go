// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

const (
	gate      = "ONCache"
	namespace = "e2e"

	// setupTimeout is for making a cluster, or one part of it, on an emulated machine.
	setupTimeout = 3 * time.Minute
)

// suite is a cluster with one configuration: client and neighbor are Pods on the first Node, and server is one on the second, or on the
// first if the path says so.
type suite struct {
	*cluster.Cluster
	tunnel  string
	oncache bool
	// mode is the traffic mode, empty for encap.
	mode string
	// directHits is set if the cache also has flows to Nodes that are reached without the tunnel.
	directHits bool
	// rewrites is set if hits are rewritten instead of encapsulated.
	rewrites bool
	// ipv6 is set when tests use IPv6 addresses: the fields IP of Pods and Nodes. See useIPv6.
	ipv6 bool
	// underlay6 is set when tunnel packets of this family are IPv6.
	underlay6 bool

	node1, node2             *cluster.Node
	client, neighbor, server *cluster.Pod

	// path is the way from the client to the server, direct if an area does not say otherwise. See over.
	path *path
	// far and near are the servers on the second Node and on the client's, clusterIPs the addresses of paths through a
	// Service.
	far, near  *cluster.Pod
	clusterIPs map[*path][]netip.Addr
}

// area tests one thing on a cluster.
type area struct {
	name string
	test func(*testing.T, *suite)
}

// smallCache makes the cache small: with the default size each start of an agent takes longer on an emulated machine.
func smallCache(_ int, conf map[string]any) { conf["oncache"] = map[string]any{"maxFlows": 65536} }

// rewriteTunnel has hits rewritten instead of encapsulated.
func rewriteTunnel(o *cluster.Options) {
	o.AgentConfig = func(node int, conf map[string]any) {
		smallCache(node, conf)
		setTunnel(conf, "rewrite")
	}
}

// configureONCache changes the section oncache of all agents, and restarts them.
func (s *suite) configureONCache(t *testing.T, change func(oncache map[string]any)) {
	t.Helper()
	for _, n := range s.Nodes {
		require.NoError(t, n.WriteAgentConfig(func(conf map[string]any) { change(conf["oncache"].(map[string]any)) }))
	}
	s.restartAgents(t)
	s.waitRoundsComplete(t)
}

// startRewriting restarts all agents. From then on hits are rewritten.
func (s *suite) startRewriting(t *testing.T) {
	t.Helper()
	s.configureONCache(t, func(oncache map[string]any) { oncache["tunnel"] = "rewrite" })
	s.rewrites = true
}

// rewritePort is the port of rewritten packets.
const rewritePort = 585

// setTunnel says in a configuration of smallCache how hits travel: rewrite or encap.
func setTunnel(conf map[string]any, tunnel string) {
	conf["oncache"].(map[string]any)["tunnel"] = tunnel
}

// defaultCache leaves the cache at its default size.
func defaultCache(o *cluster.Options) { o.AgentConfig = nil }

// newSuite makes a cluster with running agents, whose caches are small, and the three Pods. Its options can be changed.
func newSuite(t *testing.T, tunnel string, oncache bool, change ...func(*cluster.Options)) *suite {
	t.Helper()
	if os.Getenv("TESTBED_KUBECONFIG") == "" {
		t.Skip("needs the testbed's machine and Kubernetes API: run it with `make test-e2e`")
	}
	ctx, cancel := context.WithTimeout(t.Context(), setupTimeout)
	defer cancel()
	artifacts := filepath.Join(os.Getenv("TESTBED_ARTIFACTS"), t.Name())
	options := cluster.Options{LogDir: artifacts, TunnelType: tunnel, FeatureGates: map[string]bool{gate: oncache}, Progress: printer,
		AgentConfig: smallCache, AgentArgs: []string{"-v=2"}} // they log when they have realized a policy, see realizations
	for _, f := range change {
		f(&options)
	}
	c, err := cluster.New(ctx, options)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("ending the cluster: %v", err)
		}
	})
	s := &suite{Cluster: c, tunnel: tunnel, oncache: oncache, node1: c.Nodes[0], node2: c.Nodes[1]}
	defer s.dumpIfFailed(t)
	require.NoError(t, c.StartAgents(ctx))
	s.client = s.createPod(t, s.node1, "client")
	s.neighbor = s.createPod(t, s.node1, "neighbor")
	s.far = s.createPod(t, s.node2, "server")
	s.makePaths(t)
	return s
}

// run tests areas one after the other.
func (s *suite) run(t *testing.T, areas ...area) {
	for _, a := range areas {
		begin := time.Now()
		ok := t.Run(a.name, func(t *testing.T) {
			printer.Printf("%s ...", t.Name())
			areasRun++
			defer s.dumpIfFailed(t)
			a.test(t, s)
			if s.rewrites {
				s.requireNoUnknownKeys(t)
			}
		})
		verdict := "passed"
		if !ok {
			verdict = "FAILED"
		}
		printer.Printf("%s/%s %s after %s", t.Name(), a.name, verdict, time.Since(begin).Round(100*time.Millisecond))
	}
}

// dumpIfFailed must be deferred, so that it runs before the processes that the test has started are ended.
func (s *suite) dumpIfFailed(t *testing.T) {
	if !t.Failed() {
		return
	}
	dir := filepath.Join(os.Getenv("TESTBED_ARTIFACTS"), "dump", strings.ReplaceAll(t.Name(), "/", "_"))
	if err := s.Dump(dir); err != nil {
		printer.Printf("dumping the cluster's state: %v", err)
	}
	printer.Printf("%s failed; the cluster's state is in %s", t.Name(), dir)
}

// createPod makes a Pod that lives as long as the cluster, or until its Delete.
func (s *suite) createPod(t *testing.T, node *cluster.Node, name string) *cluster.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), setupTimeout)
	defer cancel()
	p, err := s.CreatePod(ctx, node, namespace, name)
	require.NoError(t, err)
	if s.ipv6 {
		p.IP = p.IPs[len(p.IPs)-1]
	}
	return p
}

// deletePod is CNI DEL and the end of the Pod.
func deletePod(t *testing.T, p *cluster.Pod) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), setupTimeout)
	defer cancel()
	require.NoError(t, p.Delete(ctx))
}
