// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/connectivity"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/dns"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/egress"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/mark"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/multicluster"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/service"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/traceflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// The names of the features' packages that the rest of the agent needs. The features' parts of Client are among them.
type (
	NodeClient = connectivity.NodeClient
	Peer       = connectivity.Peer
	PodClient  = connectivity.PodClient

	DNSClient = dns.DNSClient

	EgressBandwidth = egress.EgressBandwidth
	EgressClient    = egress.EgressClient
	EgressSource    = egress.EgressSource

	MarkClient = mark.MarkClient

	Cluster            = multicluster.Cluster
	MulticlusterClient = multicluster.MulticlusterClient

	CounterID        = networkpolicy.CounterID
	FlowDumper       = networkpolicy.FlowDumper
	PolicyClient     = networkpolicy.PolicyClient
	PolicyOperations = networkpolicy.PolicyOperations
	PolicyPacket     = networkpolicy.PolicyPacket
	RejectPath       = networkpolicy.RejectPath
	PolicyRuleStats  = networkpolicy.PolicyRuleStats

	Features    = pipeline.Features
	FormerHits  = pipeline.FormerHits
	Purpose     = pipeline.Purpose
	RoundInfo   = pipeline.RoundInfo
	TableStatus = pipeline.TableStatus

	Affinity        = service.Affinity
	AffinityReading = service.AffinityReading
	Endpoint        = service.Endpoint
	Frontend        = service.Frontend
	ServiceClient   = service.ServiceClient
	ServicePort     = service.ServicePort

	TraceOutcome    = traceflow.TraceOutcome
	TraceReport     = traceflow.TraceReport
	TraceflowClient = traceflow.TraceflowClient
	TraceflowFilter = traceflow.TraceflowFilter
	TraceflowFlows  = traceflow.TraceflowFlows
)

const (
	DNSCategory   = dns.DNSCategory
	DNSController = dns.DNSController

	OperationLog        = networkpolicy.OperationLog
	OperationReject     = networkpolicy.OperationReject
	OperationStore      = networkpolicy.OperationStore
	RejectDirectly      = networkpolicy.RejectDirectly
	RejectFromConntrack = networkpolicy.RejectFromConntrack
	RejectFromRouting   = networkpolicy.RejectFromRouting
	RejectFromStart     = networkpolicy.RejectFromStart
	PolicyLogController = networkpolicy.PolicyLogController

	ConntrackZoneIPv4 = pipeline.ConntrackZoneIPv4
	ConntrackZoneIPv6 = pipeline.ConntrackZoneIPv6
	// ConntrackZoneSNAT has the IPv4 connections of which the pipeline translates the source.
	ConntrackZoneSNAT uint16 = pipeline.CTZoneSNAT
	CutMark                  = pipeline.CutMark

	MaxEndpoints            = service.MaxEndpoints
	ServiceRejectCategory   = service.ServiceRejectCategory
	ServiceRejectController = service.ServiceRejectController

	MaxTraceflowTag     = traceflow.MaxTraceflowTag
	TableConntrackState = traceflow.TableConntrackState
	TableL3DecTTL       = traceflow.TableL3DecTTL
	TraceDropped        = traceflow.TraceDropped
	TraceGoesOn         = traceflow.TraceGoesOn
	TraceLeft           = traceflow.TraceLeft
	TraceRejected       = traceflow.TraceRejected
	TraceUnserved       = traceflow.TraceUnserved
	TraceflowController = traceflow.TraceflowController
)

// ErrNoBandwidth refuses the bandwidth of an Egress for good: Open vSwitch cannot keep it.
var ErrNoBandwidth = egress.ErrNoBandwidth

var (
	AllConntrackZones = pipeline.AllConntrackZones
	ConntrackZones    = pipeline.ConntrackZones
)

// Senders of the packets that come to the agent, by their purpose: answers of DNS, decisions of policies, Services without Endpoints, traces.
var (
	AnsweredPod of.Sender = pipeline.AnsweredPod
	ReportedPod of.Sender = pipeline.ReportedPod
	SendingPort of.Sender = pipeline.SendingPort
	TraceOf     of.Sender = traceflow.TraceOf
)

// ReadPolicyStats reads by flow id what each rule has admitted through Open vSwitch. It returns all of that or an error.
func ReadPolicyStats(ctx context.Context, tables []TableStatus, dumper FlowDumper) (map[uint32]PolicyRuleStats, error) {
	return networkpolicy.ReadPolicyStats(ctx, tables, dumper)
}

// RuleTable returns the name of the table in which rules of a stage and direction decide.
func RuleTable(stage policy.Stage, d policy.Direction) string {
	return networkpolicy.RuleTable(stage, d)
}

// MetricTable returns the name of the table in which packets are counted and dropped that rules of the direction deny.
func MetricTable(d policy.Direction) string { return networkpolicy.MetricTable(d) }

// ParseTraceReport reads a packet-in for TraceflowController. It returns an error if no flow of this agent has sent it.
func ParseTraceReport(p *of.PacketIn) (TraceReport, error) { return traceflow.ParseTraceReport(p) }

// HasLearnedFlows reports whether the switch itself adds flows to the table, and removes them.
// ErrPoliciesBehind refuses a port of a Service; the caller must try again soon: the policies that name the Service do not match it yet.
var ErrPoliciesBehind = service.ErrPoliciesBehind

func HasLearnedFlows(table string) bool { return service.HasLearnedFlows(table) }

// OpenedFromGateway reports whether the packet that opened the connection with this mark came through the gateway.
func OpenedFromGateway(mark uint32) bool { return pipeline.OpenedFromGateway(mark) }

// PassedPolicies reports whether policies have let a packet of the connection with this mark pass. A connection to a Service is in
// conntrack before that, and stays there for a while if policies refuse it.
func PassedPolicies(mark uint32) bool { return pipeline.PassedPolicies(mark) }

// IsServiceConnection reports whether the pipeline has translated the destination of the connection with this mark.
func IsServiceConnection(mark uint32) bool { return pipeline.IsServiceConnection(mark) }

// TranslatesSource reports whether the pipeline has translated the source of the connection with this mark.
func TranslatesSource(mark uint32) bool { return pipeline.TranslatesSource(mark) }
