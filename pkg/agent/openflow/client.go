// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// switchTimeout bounds every request to the switch. It is far above what a healthy vswitchd needs for a replay of 100,000
// flows (about 2 s).
const switchTimeout = 30 * time.Second

var errNotInitialized = errors.New("the OpenFlow client is not initialized: call Initialize first")

// client implements Client.
//
// Locks, in the order in which they may be taken: changeMu, the Interceptor's (from Begin to end), mu. Whoever holds the
// Interceptor's lock may therefore call InstallMarkFlows and UninstallMarkFlows, which take only mu, but nothing else that
// changes flows.
type client struct {
	sw            of.Switch
	setTableNames func(map[uint8]string) error

	// changeMu serialises everything that calls the Interceptor; pods and nodes change only while it is held.
	changeMu    sync.Mutex
	interceptor coherency.Interceptor

	// mu is held while a bundle is sent and its outcome is entered into the caches.
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
	// policy says which rules use which of these flows; it changes only while changeMu is held.
	policy *policyState
	// stalePoliciesDeleted says that no policy flow of a former round is left; it is protected by changeMu.
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
		interceptor:   noInterceptor{},
		pods:          newFlowCache(),
		nodes:         newFlowCache(),
		marks:         newFlowCache(),
		policies:      newFlowCache(),
		policy:        newPolicyState(),
	}
}

func (c *client) Initialize(ctx context.Context, round RoundInfo, node *config.NodeConfig, network *config.NetworkConfig) (<-chan struct{}, error) {
	c.changeMu.Lock()
	defer c.changeMu.Unlock()
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
	c.changeMu.Lock()
	defer c.changeMu.Unlock()
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
	c.changeMu.Lock()
	defer c.changeMu.Unlock()
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
	c.changeMu.Lock()
	defer c.changeMu.Unlock()
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

func (c *client) GetFlowTableStatus() ([]TableStatus, error) {
	ctx, cancel := context.WithTimeout(context.Background(), switchTimeout)
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
