// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

// defaultWrite is the size of iperf3's writes to a TCP connection.
const defaultWrite = 128 << 10

// datagram fits the MTU of a Pod behind every tunnel.
const datagram = 1300

// bulk is iperf3 at full speed; bytes is the length of a write.
func bulk(protocol string, flows, bytes int) Workload {
	const port = 7200
	var flags []string
	if protocol == "udp" {
		flags = []string{"--udp", "--bandwidth", "0"}
	}
	return Workload{
		Name: protocol + "_stream", Tool: "iperf3", Flows: flows, Bytes: bytes,
		Servers: func(link bed.Link, _ result.State) ([]Server, error) {
			return []Server{{Args: []string{"iperf3", "--server", "-B", link.Address.String(), "-p", strconv.Itoa(port)}, Protocol: "tcp", Port: port}}, nil
		},
		Measure: func(ctx context.Context, on Target, length time.Duration) (Outcome, error) {
			args := append([]string{"iperf3", "--json", "-c", on.Address.String(), "-p", strconv.Itoa(port), "-t", strconv.Itoa(wholeSeconds(length)),
				"-P", strconv.Itoa(flows), "-l", strconv.Itoa(bytes)}, flags...)
			out, err := on.Client.Exec(ctx, args...)
			if err != nil {
				return Outcome{}, err
			}
			return parseBulk([]byte(out))
		},
	}
}

// parseBulk reads the amount that the receiver got. For UDP iperf3 reports it only as a share of the amount sent.
func parseBulk(out []byte) (o Outcome, err error) {
	type sum struct {
		Bytes       float64 `json:"bytes"`
		Bits        float64 `json:"bits_per_second"`
		LostPercent float64 `json:"lost_percent"`
	}
	var report struct {
		Error string `json:"error"`
		End   struct {
			Received *sum `json:"sum_received"`
			Sum      *sum `json:"sum"`
		} `json:"end"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return o, fmt.Errorf("output of iperf3: %w", err)
	}
	if report.Error != "" {
		return o, errors.New("iperf3: " + report.Error)
	}
	switch end := report.End; {
	case end.Sum != nil: // UDP
		arrived := 1 - end.Sum.LostPercent/100
		o.Bytes = end.Sum.Bytes * arrived
		o.add(Goodput, "Gbit/s", false, end.Sum.Bits*arrived/1e9)
		o.add("lost", "%", true, end.Sum.LostPercent)
	case end.Received != nil && end.Received.Bytes > 0:
		o.Bytes = end.Received.Bytes
		o.add(Goodput, "Gbit/s", false, end.Received.Bits/1e9)
	default:
		return o, errors.New("iperf3 reports that nothing was received")
	}
	return o, nil
}
