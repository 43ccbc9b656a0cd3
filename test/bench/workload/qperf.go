// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

// messageSize is qperf's latency test: unlike sockperf it can send single bytes.
func messageSize(protocol string, bytes int) Workload {
	const port = 7100
	return Workload{
		Name: protocol + "_rr_size", Tool: "qperf", Flows: 1, Bytes: bytes,
		Servers: func(bed.Link, result.State) ([]Server, error) {
			return []Server{{Args: []string{"qperf", "-lp", strconv.Itoa(port)}, Protocol: "tcp", Port: port}}, nil
		},
		Measure: func(ctx context.Context, on Target, length time.Duration) (o Outcome, err error) {
			out, err := on.Client.Exec(ctx, "qperf", "-lp", strconv.Itoa(port), on.Address.String(), "-t", strconv.Itoa(wholeSeconds(length)),
				"-m", strconv.Itoa(bytes), "-uu", "-e", "6", protocol+"_lat")
			if err != nil {
				return o, err
			}
			roundTrip, err := parseQperf(out)
			if err != nil {
				return o, err
			}
			o.add(Rate, "1/s", false, 1e6/roundTrip)
			o.add("mean", "us", true, roundTrip)
			return o, nil
		},
	}
}

var qperfLatency = regexp.MustCompile(`latency +=+ +([0-9.]+) (ns|us|ms|sec)`)

// parseQperf returns the round trip in microseconds; qperf prints half of it.
func parseQperf(out string) (float64, error) {
	m := qperfLatency.FindStringSubmatch(out)
	if m == nil || number(m[1]) == 0 {
		return 0, fmt.Errorf("qperf has measured no latency: %s", excerpt(out))
	}
	unit := map[string]float64{"ns": 1e-3, "us": 1, "ms": 1e3, "sec": 1e6}[m[2]]
	return 2 * unit * number(m[1]), nil
}
