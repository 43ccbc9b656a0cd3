// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// LoadRates are the rates of the workloads with a fixed rate, per second.
var LoadRates = []int{5000, 10000, 20000}

// LoadRate returns the rate of a result, if its workload has a fixed one.
func LoadRate(r *result.Result) (perSecond int, fixed bool) {
	for _, rate := range LoadRates {
		if r.Condition == loadCondition(rate) {
			return rate, true
		}
	}
	return 0, false
}

func loadCondition(rate int) string { return fmt.Sprintf("%d/s", rate) }

// loadBytes is the size of their requests and responses.
const loadBytes = 64

// atRate sends requests at a fixed rate, and measures response times from when each was due.
func atRate(m Machine, protocol string, rate int) Workload {
	const port = 7400
	return Workload{
		Name: protocol + "_load", Tool: "traffic", Flows: 1, Bytes: loadBytes, Condition: loadCondition(rate),
		Servers: func(link bed.Link, _ result.State) ([]Server, error) {
			return []Server{{Args: []string{m.Traffic, protocol + "-echo", "--listen=" + endpoint(link.Address, port)}, Protocol: protocol, Port: port}}, nil
		},
		Measure: func(ctx context.Context, on Target, length time.Duration) (o Outcome, err error) {
			out, err := on.Client.Exec(ctx, m.Traffic, "load", "--proto="+protocol, "--to="+endpoint(on.Address, port), "--rate="+strconv.Itoa(rate),
				"--size="+strconv.Itoa(loadBytes), "--duration="+length.String())
			if err != nil {
				return o, err
			}
			var l report.Load
			if err := json.Unmarshal([]byte(out), &l); err != nil {
				return o, fmt.Errorf("output of traffic load: %w", err)
			}
			if l.Lost == l.Sent {
				return o, fmt.Errorf("none of %d requests was answered", l.Sent)
			}
			o.Transactions = float64(l.Sent - l.Lost)
			o.add("p50", "us", true, l.RTT.P50)
			o.add("p99", "us", true, l.RTT.P99)
			o.add("p99.9", "us", true, l.RTT.P999)
			o.add(Rate, "1/s", false, l.PerSecond)
			return o, nil
		},
	}
}
