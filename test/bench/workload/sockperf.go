// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

// sockperfBytes is the size of the smallest message that sockperf can send.
const sockperfBytes = 14

// sockperfWarmUp is part of each run and not of its statistics.
const sockperfWarmUp = 400 * time.Millisecond

// requestResponse is sockperf's ping-pong, with this number of concurrent clients, each with its own server.
func requestResponse(protocol string, flows int) Workload {
	const port = 7000
	flag := map[string][]string{"tcp": {"--tcp"}, "udp": nil}[protocol]
	return Workload{
		Name: protocol + "_rr", Tool: "sockperf", Flows: flows, Bytes: sockperfBytes,
		Servers: func(link bed.Link, _ result.State) (all []Server, err error) {
			for i := range flows {
				args := append([]string{"sockperf", "server", "-i", link.Address.String(), "-p", strconv.Itoa(port + i)}, flag...)
				all = append(all, Server{Args: args, Protocol: protocol, Port: port + i})
			}
			return all, nil
		},
		Measure: func(ctx context.Context, on Target, length time.Duration) (Outcome, error) {
			runs := make([]*pingPong, flows)
			err := parallel(flows, func(i int) error {
				args := append([]string{"sockperf", "ping-pong", "--full-rtt", "-i", on.Address.String(), "-p", strconv.Itoa(port + i),
					"-m", strconv.Itoa(sockperfBytes), "-t", strconv.Itoa(wholeSeconds(length + sockperfWarmUp + time.Second/2))}, flag...)
				out, err := on.Client.Exec(ctx, args...)
				if err == nil {
					runs[i], err = parsePingPong(out)
				}
				return err
			})
			if err != nil {
				return Outcome{}, err
			}
			return pingPongs(runs), nil
		},
	}
}

// parallel runs do(0) to do(n-1) concurrently and returns the first error.
func parallel(n int, do func(int) error) error {
	var wait sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wait.Go(func() { errs[i] = do(i) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// pingPong is the output of one sockperf client.
type pingPong struct {
	// all has the transactions including warm-up; measured and seconds exclude it.
	all, measured, seconds float64
	// latency is by the name of the percentile, in microseconds.
	latency map[string]float64
}

var (
	pingPongTotal   = regexp.MustCompile(`\[Total Run\].*ReceivedMessages=(\d+)`)
	pingPongValid   = regexp.MustCompile(`\[Valid Duration\] RunTime=([0-9.]+) sec;.*ReceivedMessages=(\d+)`)
	pingPongLatency = regexp.MustCompile(`percentile ([0-9.]+) = *([0-9.]+)`)
)

func parsePingPong(out string) (*pingPong, error) {
	total, valid := pingPongTotal.FindStringSubmatch(out), pingPongValid.FindStringSubmatch(out)
	if total == nil || valid == nil {
		return nil, fmt.Errorf("sockperf has printed no run times: %s", excerpt(out))
	}
	p := &pingPong{all: number(total[1]), seconds: number(valid[1]), measured: number(valid[2]), latency: map[string]float64{}}
	for _, m := range pingPongLatency.FindAllStringSubmatch(out, -1) {
		for name, percent := range Percentiles {
			if number(m[1]) == percent {
				p.latency[name] = number(m[2])
			}
		}
	}
	if p.measured == 0 || len(p.latency) != len(Percentiles) {
		return nil, fmt.Errorf("sockperf has received %v messages and printed %d of %d percentiles: %s", p.measured, len(p.latency), len(Percentiles), excerpt(out))
	}
	return p, nil
}

// pingPongs adds up rates, and averages percentiles.
func pingPongs(runs []*pingPong) (o Outcome) {
	rate, mean := 0.0, map[string]float64{}
	for _, r := range runs {
		rate += r.measured / r.seconds
		o.Transactions += r.all
		for name, v := range r.latency {
			mean[name] += v / float64(len(runs))
		}
	}
	o.add(Rate, "1/s", false, rate)
	for _, name := range []string{"p25", "p50", "p75", "p90", "p99", "p99.9"} {
		o.add(name, "us", true, mean[name])
	}
	return o
}

// number parses a number that a regular expression has matched.
func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(fmt.Sprintf("%q is not a number: %v", s, err))
	}
	return v
}
