// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Meters returns the meters of packets that are no local Pod's.
func (*Pods) Meters(g *pipeline.Generator) []of.MeterEntry {
	if !g.Features.AntreaProxy {
		return g.PodMeter(pipeline.MeterReports)
	}
	return slices.Concat(g.PodMeter(pipeline.MeterReports), g.PodMeter(pipeline.MeterServiceRejects))
}

// reportFlows limits what is reported to the agent about packets that are no local Pod's.
func reportFlows(g *pipeline.Generator) []of.Flow {
	if len(g.PodMeter(pipeline.MeterReports)) == 0 {
		return nil
	}
	return append(rejectLimit(g, pipeline.PriorityLow+1, nil, pipeline.MeterServiceRejects), limit(g, pipeline.PriorityLow, nil, pipeline.MeterReports))
}

func limit(g *pipeline.Generator, priority uint16, match []of.Match, meter uint32) of.Flow {
	return g.Flow(pipeline.CookiePodConnectivity, pipeline.TablePacketInMeter, priority, match, of.Meter{ID: meter})
}

// rejectLimit limits packets to Services without Endpoints, if there are Services.
func rejectLimit(g *pipeline.Generator, priority uint16, match []of.Match, meter uint32) []of.Flow {
	if !g.Features.AntreaProxy {
		return nil
	}
	return []of.Flow{limit(g, priority, append(pipeline.Matches(pipeline.SvcNoEndpoint.Match()), match...), meter)}
}

// meter makes the meters of a Pod, and returns their flows: one limits what policies report about packets that the Pod sends, one what they report
// about packets to it from other Nodes or the host, and one its packets to Services without Endpoints. numbers has all interfaces, for p.meters once
// the flows are installed. A switch that has no room for the meters costs the Pod no connection.
func (p *Pods) meter(t pipeline.Turn, interfaceName string, ofPort uint32) (flows []of.Flow, numbers map[string]uint32, err error) {
	numbers = pipeline.Numbers(p.meters, append(slices.Collect(maps.Keys(p.meters)), interfaceName))
	from := pipeline.MeterReports + 1 + 2*numbers[interfaceName]
	to := from + 1
	rejects := pipeline.MeterServiceRejects + 1 + numbers[interfaceName]
	meters := slices.Concat(t.G.PodMeter(from), t.G.PodMeter(to))
	if t.G.Features.AntreaProxy {
		meters = append(meters, t.G.PodMeter(rejects)...)
	}
	if len(meters) == 0 {
		return nil, p.meters, nil
	}
	var refused *of.MeterError
	if err := t.AddMeters(meters); errors.As(err, &refused) {
		klog.ErrorS(err, "Reports about packets of an interface have no limit of their own", "interface", interfaceName)
		return nil, p.meters, nil
	} else if err != nil {
		return nil, nil, fmt.Errorf("limit reports about packets of interface %s: %w", interfaceName, err)
	}
	sent := pipeline.Matches(of.InPort(ofPort))
	return append(rejectLimit(t.G, pipeline.PriorityHigh+1, sent, rejects),
		limit(t.G, pipeline.PriorityHigh, sent, from),
		limit(t.G, pipeline.PriorityNormal, pipeline.Matches(pipeline.TargetOFPortField.Is(ofPort).Match()), to),
	), numbers, nil
}
