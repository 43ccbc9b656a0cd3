// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/prefixindex"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// switchTimeout bounds every request to the switch. It is far above what a healthy vswitchd needs for a replay of 100,000
// flows (about 2 s).
const switchTimeout = 30 * time.Second

// bundleTimeout also gives a slow machine with 100,000 policy rules time to get to the end. A healthy vswitchd needs 0.04 ms for a flow.
func bundleTimeout(flows int) time.Duration {
	return switchTimeout + time.Duration(flows)*time.Millisecond
}

var errNotInitialized = errors.New("the OpenFlow client is not initialized: call Initialize first")

// client implements Client.
//
// Locks, in the order in which they may be taken: changes, the Interceptor's (from Begin to end), sending, mu. Whoever holds
// the Interceptor's lock may therefore call InstallMarkFlows and UninstallMarkFlows, which take only the last two, but nothing
// else that changes flows. The switch is waited for with the first three: nobody waits for them without a bound, and what
// only reads takes mu alone.
type client struct {
	sw            of.Switch
	setTableNames func(map[uint8]string) error

	// changes serialises everything that calls the Interceptor; pods and nodes change only while it is held.
	changes     turn
	interceptor coherency.Interceptor

	// networks has the Pod networks that flows lead to other Nodes, and nodeNetworks the same by Node. Those of two Nodes never
	// overlap: their flows would match the same packets, or be the same. They change only while changes is held.
	networks     prefixindex.Index[string]
	nodeNetworks map[string][]netip.Prefix

	// sending is held while a bundle is sent and its outcome is entered into the caches.
	sending turn
	// mu protects what follows. What is written only with sending held, too, can be read with either.
	mu sync.Mutex
	// pipeline and features change in Initialize only.
	pipeline *pipeline
	features Features
	// generator is nil until Initialize.
	generator *generator
	// baseKeys are the keys of the base flows, which no Pod or Node may overwrite.
	baseKeys  map[string]bool
	prevRound *uint16
	// resync makes the next change carry everything: nothing is installed yet, flows are lost, or a change has an unknown
	// fate.
	resync bool
	pods   *flowCache
	nodes  *flowCache
	marks  *flowCache
	// policies has, for each rule and each flow that rules share, one object.
	policies *flowCache
	// policy says which rules use which of these flows; it changes only while changes and mu are held.
	policy *policyState
	// stalePoliciesDeleted says that no policy flow of a former round is left; it is protected by changes.
	stalePoliciesDeleted bool
}

// NewClient returns a client for the bridge behind sw. setTableNames publishes the names of the tables (see
// ovsconfig.BridgeClient.SetTableNames). Which tables exist, and hence their ids, depends on features.
func NewClient(sw of.Switch, setTableNames func(map[uint8]string) error, features Features) Client {
	return &client{
		sw:            sw,
		setTableNames: setTableNames,
		pipeline:      newPipeline(features),
		features:      features,
		changes:       newTurn(),
		sending:       newTurn(),
		interceptor:   noInterceptor{},
		pods:          newFlowCache(),
		nodes:         newFlowCache(),
		marks:         newFlowCache(),
		policies:      newFlowCache(),
		policy:        newPolicyState(),
		nodeNetworks:  map[string][]netip.Prefix{},
	}
}

func (c *client) Initialize(ctx context.Context, round RoundInfo, node *config.NodeConfig, network *config.NetworkConfig) (<-chan struct{}, error) {
	if err := c.changes.take(ctx); err != nil {
		return nil, err
	}
	defer c.changes.give()
	if c.generator != nil {
		return nil, errors.New("the OpenFlow client is already initialized")
	}
	if err := validateConfig(node, network); err != nil {
		return nil, err
	}
	if node.PodIPv6CIDR.IsValid() {
		c.setIPv6()
	}
	reconnected, err := c.sw.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the bridge's OpenFlow socket: %w", err)
	}
	if err := c.installBase(round, node); err != nil {
		if closeErr := c.sw.Close(); closeErr != nil {
			klog.ErrorS(closeErr, "Failed to close the OpenFlow connection after a failed initialization")
		}
		return nil, err
	}
	klog.InfoS("Initialized the OpenFlow pipeline", "tables", len(c.pipeline.tables), "round", round.RoundNum)
	return reconnected, nil
}

// setIPv6 adds what IPv6 needs to the pipeline: which families Pods have is not known before the Node is.
func (c *client) setIPv6() {
	c.sending <- struct{}{}
	defer c.sending.give()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.features.IPv6 = true
	c.pipeline = newPipeline(c.features)
}

func (c *client) installBase(round RoundInfo, node *config.NodeConfig) error {
	c.setGenerator(&generator{pipeline: c.pipeline, features: c.features, round: round.RoundNum, node: node}, round.PrevRoundNum)
	if err := c.commitEverything(); err != nil {
		c.setGenerator(nil, nil)
		return fmt.Errorf("install the base flows of round %d: %w", round.RoundNum, err)
	}
	if err := c.setTableNames(c.pipeline.names()); err != nil {
		c.setGenerator(nil, nil)
		return fmt.Errorf("name the OpenFlow tables: %w", err)
	}
	return nil
}

func (c *client) setGenerator(g *generator, prevRound *uint16) {
	c.sending <- struct{}{}
	defer c.sending.give()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generator, c.prevRound, c.baseKeys = g, prevRound, map[string]bool{}
	if g != nil {
		for _, flow := range g.base() {
			c.baseKeys[flow.Key()] = true
		}
	}
}

func deleteRound(round uint16) of.FlowMod {
	return of.FlowMod{Command: of.DeleteByCookie, Flow: of.Flow{Cookie: roundCookie(round)}, CookieMask: cookieRoundMask}
}

func (c *client) ReplayFlows() error {
	if err := c.changes.takeSoon(); err != nil {
		return err
	}
	defer c.changes.give()
	if c.generator == nil {
		return errNotInitialized
	}
	if err := c.commitEverything(); err != nil {
		return fmt.Errorf("replay all flows: %w", err)
	}
	klog.InfoS("Replayed all flows", "interfaces", len(c.pods.objects), "nodes", len(c.nodes.objects), "policyRules", len(c.policy.rules))
	return nil
}

func (c *client) DeleteStaleFlows() error {
	if err := c.changes.takeSoon(); err != nil {
		return err
	}
	defer c.changes.give()
	if c.generator == nil {
		return errNotInitialized
	}
	if c.prevRound == nil || *c.prevRound == c.generator.round {
		return nil
	}
	var mods []of.FlowMod
	for round := *c.prevRound; round != c.generator.round; round++ {
		mods = append(mods, deleteRound(round))
	}
	// Nobody knows any more whose flows these are.
	if err := c.commit(coherency.Change{All: true}, mods); err != nil {
		return fmt.Errorf("delete the flows of the rounds from %d to before %d: %w", *c.prevRound, c.generator.round, err)
	}
	return nil
}

func (c *client) SetInterceptor(interceptor coherency.Interceptor) {
	// Without a bound: the turn comes, at the latest when the switch turns out to be hung.
	c.changes <- struct{}{}
	defer c.changes.give()
	c.interceptor = interceptor
}

func (c *client) IsConnected() bool { return c.sw.IsConnected() }

func (c *client) GetPodFlowKeys(interfaceName string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pods.matchStrings(interfaceName)
}

func (c *client) GetNodeFlowKeys(nodeName string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes.matchStrings(nodeName)
}

func (c *client) ConnectionError() error { return c.sw.ConnectionError() }

func (c *client) GetFlowTableStatus(ctx context.Context) ([]TableStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, switchTimeout)
	defer cancel()
	counts, err := c.sw.TableFlowCounts(ctx)
	if err != nil {
		return nil, fmt.Errorf("count the flows of each table: %w", err)
	}
	c.mu.Lock()
	tables := c.pipeline.tables
	c.mu.Unlock()
	status := make([]TableStatus, len(tables))
	for i, spec := range tables {
		status[i] = TableStatus{ID: uint8(i), Name: spec.name, FlowCount: counts[uint8(i)]}
	}
	return status, nil
}

func (c *client) Disconnect() error { return c.sw.Close() }
