// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// connectRequestResponse opens a connection for every byte that it sends and receives.
func connectRequestResponse(m Machine) Workload { return connections(m, "tcp_crr") }

// fewLong is the same, except that one of a hundred connections is long: it has a thousand requests.
func fewLong(m Machine) Workload {
	return connections(m, "tcp_crr_long", "--long-every=100", "--long-requests=1000")
}

func connections(m Machine, name string, flags ...string) Workload {
	const port = 7300
	return Workload{
		Name: name, Tool: "traffic", Flows: 1, Bytes: 1,
		Servers: func(link bed.Link, _ result.State) ([]Server, error) {
			return []Server{{Args: []string{m.Traffic, "crr-server", "--listen=" + endpoint(link.Address, port)}, Protocol: "tcp", Port: port}}, nil
		},
		Measure: func(ctx context.Context, on Target, length time.Duration) (o Outcome, err error) {
			args := append([]string{m.Traffic, "crr", "--to=" + endpoint(on.Address, port), "--duration=" + length.String()}, flags...)
			out, err := on.Client.Exec(ctx, args...)
			if err != nil {
				return o, err
			}
			var rr report.RR
			if err := json.Unmarshal([]byte(out), &rr); err != nil {
				return o, fmt.Errorf("output of traffic crr: %w", err)
			}
			o.Transactions = float64(rr.Transactions)
			o.add(Rate, "1/s", false, rr.PerSecond)
			o.add("p50", "us", true, rr.RTT.P50)
			o.add("p99", "us", true, rr.RTT.P99)
			return o, nil
		},
	}
}
