// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/connectivity"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/mark"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/service"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/traceflow"
)

// The names of the features' packages that the rest of the agent needs. The features' parts of Client are among them.
type (
	NodeClient = connectivity.NodeClient
	Peer       = connectivity.Peer
	PodClient  = connectivity.PodClient

	MarkClient = mark.MarkClient

	CounterID       = networkpolicy.CounterID
	FlowDumper      = networkpolicy.FlowDumper
	LoggedPacket    = networkpolicy.LoggedPacket
	PolicyClient    = networkpolicy.PolicyClient
	PolicyRuleStats = networkpolicy.PolicyRuleStats

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
	PolicyLogController = networkpolicy.PolicyLogController

	ConntrackZoneIPv4 = pipeline.ConntrackZoneIPv4
	ConntrackZoneIPv6 = pipeline.ConntrackZoneIPv6
	CutMark           = pipeline.CutMark

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

var (
	AllConntrackZones = pipeline.AllConntrackZones
	ConntrackZones    = pipeline.ConntrackZones

	ParseLoggedPacket = networkpolicy.ParseLoggedPacket
	ReadPolicyStats   = networkpolicy.ReadPolicyStats
	RuleTable         = networkpolicy.RuleTable

	IsServiceConnection = pipeline.IsServiceConnection
	OpenedFromGateway   = pipeline.OpenedFromGateway
	PassedPolicies      = pipeline.PassedPolicies
	TranslatesSource    = pipeline.TranslatesSource

	HasLearnedFlows = service.HasLearnedFlows

	ParseTraceReport = traceflow.ParseTraceReport
)
