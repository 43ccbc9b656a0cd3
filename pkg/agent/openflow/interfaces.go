// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"net"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
)

// RoundInfo carries the rounds of flow cookies: current flows have RoundNum in the cookie's top 16 bits; flows of all rounds
// from PrevRoundNum (nil on first start) up to the one before RoundNum are stale once the agent has re-installed everything.
// Rounds are counted modulo 65536.
type RoundInfo struct {
	RoundNum     uint16
	PrevRoundNum *uint16
}

// Client is the only way to change the OpenFlow pipeline. Every method sends one atomic bundle, waits for the barrier
// and updates its flow cache only on success; calling it again with the same arguments changes nothing on the switch. What
// takes no context waits 30 s for its turn at most; what only reads what is known never waits for the switch.
type Client interface {
	// Initialize connects (retrying until ctx ends), removes flows that already carry the new round, and installs the
	// base flows of all features. The returned channel receives a value after each later reconnection of the switch;
	// the agent then calls ReplayFlows.
	Initialize(ctx context.Context, round RoundInfo, node *config.NodeConfig, network *config.NetworkConfig) (<-chan struct{}, error)
	// ReplayFlows sends everything again after the switch lost it. No other change is sent meanwhile.
	ReplayFlows() error
	// DeleteStaleFlows removes flows of the previous round.
	DeleteStaleFlows() error

	// InstallPodFlows makes the local Pod behind ofPort reachable and lets it send from ips and mac only.
	// The caller waits no longer than ctx lasts, be it for its turn or for the switch. A change that has begun goes on without
	// the caller: after an error of ctx the flows may come to be installed or removed yet.
	InstallPodFlows(ctx context.Context, interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error
	UninstallPodFlows(ctx context.Context, interfaceName string) error
	// InstallNodeFlows sends traffic for the Pod CIDRs of a remote Node (the keys of peers) to that Node. It refuses CIDRs that
	// overlap the local ones, or those of a Node whose flows are installed.
	InstallNodeFlows(nodeName string, peers map[netip.Prefix]Peer) error
	UninstallNodeFlows(nodeName string) error

	// UpdatePolicyRules removes rules by flow id and installs others, which replace installed ones with the same id. Pods
	// that a changed rule is or was applied to are named to the Interceptor. The first call of a process, which may be without
	// rules, also removes all policy rules of former rounds, in the same bundle.
	UpdatePolicyRules(install []*PolicyRule, remove []uint32) error
	// UpdatePolicyRulesOnTop does the same but leaves rules of former rounds in force beside the present ones, as far as these
	// do not have the same flows. UpdatePolicyRules is to be called when all present ones are installed.
	UpdatePolicyRulesOnTop(install []*PolicyRule, remove []uint32) error
	// GetPolicyFlowKeys returns the match strings of the cached flows of policy rules, sorted.
	GetPolicyFlowKeys(flowIDs []uint32) []string

	// InstallMarkFlows writes the ONCache mark flows of local Pod interfaces outside of any other change (a new
	// endpoint). It does not call the Interceptor. It fails when the feature gate ONCache is off.
	InstallMarkFlows(marks []coherency.Mark) error
	// UninstallMarkFlows removes the mark flows of the interfaces. It does not call the Interceptor.
	UninstallMarkFlows(interfaceNames []string) error
	// SetInterceptor makes every later bundle go through the Interceptor. Call it once, before controllers run.
	SetInterceptor(coherency.Interceptor)

	// IsConnected is false when there is no connection to the switch, and when the switch has not answered for 12 s.
	IsConnected() bool
	// ConnectionError is why IsConnected is false, nil when it is true.
	ConnectionError() error
	// GetPodFlowKeys, GetNodeFlowKeys return the match strings of cached flows, for antctl get ovsflows.
	GetPodFlowKeys(interfaceName string) []string
	GetNodeFlowKeys(nodeName string) []string
	// GetFlowTableStatus returns the tables in pipeline order with the number of flows on the switch.
	GetFlowTableStatus(ctx context.Context) ([]TableStatus, error)
	Disconnect() error
}

// Peer is how one Pod CIDR of a remote Node is reached.
type Peer struct {
	// Gateway is the remote gateway's address in the Pod CIDR.
	Gateway netip.Addr
	// TunnelIP is the transport address that tunnel packets are sent to, of either family.
	TunnelIP netip.Addr
}

// TableStatus is one row of the pipeline.
type TableStatus struct {
	ID        uint8
	Name      string
	FlowCount int
}
