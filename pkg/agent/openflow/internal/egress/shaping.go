// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"fmt"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// EgressBandwidth limits what leaves the cluster with an address. Rate is in kbit/s, at least 1. Burst, in kbit, may pass in addition at once; 0 is as
// much as Rate.
type EgressBandwidth struct{ Rate, Burst uint32 }

// ErrNoBandwidth refuses a limit for good: Open vSwitch cannot keep it.
var ErrNoBandwidth = errors.New("meters of Open vSwitch cannot keep it")

func (e *Egresses) InstallEgressQoS(mark uint8, limit EgressBandwidth) error {
	if err := checkMark(mark); err != nil {
		return err
	}
	return e.changeLimit(func(t pipeline.Turn) error {
		if !t.G.LimitsBandwidth {
			return fmt.Errorf("%w: its datapath has none for kbit/s with a burst", ErrNoBandwidth)
		}
		if t.NeedsResync() {
			// With the meter, the switch would refuse everything else too.
			if err := t.Commit(coherency.Change{}, nil); err != nil {
				return fmt.Errorf("send all flows before the limit of packets with mark %d: %w", mark, err)
			}
		}
		id := uint32(mark)
		var refused *of.MeterError
		if err := t.AddMeters([]of.MeterEntry{{ID: id, KBPS: true, Rate: limit.Rate, Burst: limit.Burst}}); errors.As(err, &refused) {
			return fmt.Errorf("%w: %w", ErrNoBandwidth, err)
		} else if err != nil {
			return fmt.Errorf("limit packets with mark %d to %d kbit/s: %w", mark, limit.Rate, err)
		}
		flow := t.G.Flow(pipeline.CookieEgress, pipeline.TableEgressQoS, pipeline.PriorityNormal, pipeline.Matches(pipeline.EgressSNATIDField.Is(id).Match()),
			of.Meter{ID: id}, t.G.ToTable(pipeline.TableL2ForwardingCalc))
		return e.commitLimit(t, mark, []of.Flow{flow})
	})
}

func (e *Egresses) UninstallEgressQoS(mark uint8) error {
	return e.changeLimit(func(t pipeline.Turn) error { return e.commitLimit(t, mark, nil) })
}

// commitLimit evicts nothing: the cache has no packets for the host.
func (e *Egresses) commitLimit(t pipeline.Turn, mark uint8, flows []of.Flow) error {
	if err := t.Commit(coherency.Change{}, nil, e.limits.Plan(fmt.Sprint(mark), flows)); err != nil {
		return fmt.Errorf("change the flow that limits packets with mark %d: %w", mark, err)
	}
	return nil
}

func (e *Egresses) changeLimit(change func(pipeline.Turn) error) error {
	return e.change(func(t pipeline.Turn) error {
		if !t.G.Features.EgressShaping {
			return errors.New("bandwidths of Egresses need the feature gate EgressTrafficShaping, which is off")
		}
		return change(t)
	})
}
