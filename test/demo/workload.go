// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/antrea-oncache/antrea/test/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/testbed/progress"
)

const (
	gate      = "ONCache"
	namespace = "default"

	tcpPort  = "7001" // sockperf
	udpPort  = "7002"
	bulkPort = "7003" // iperf3
)

// demo is one run. Pods: a client and a server on each Node.
type demo struct {
	cluster  *cluster.Cluster
	progress *progress.Printer
	rounds   int
	length   time.Duration
	clients  []*cluster.Pod
	servers  []*cluster.Pod
	results  map[string]*series
}

// series are the values of one row and column of the table.
type series struct{ values []float64 }

func (s *series) median() float64 {
	v := slices.Sorted(slices.Values(s.values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// spread is half the distance of the extremes, relative to the median.
func (s *series) spread() float64 {
	return (slices.Max(s.values) - slices.Min(s.values)) / 2 / s.median()
}

// Columns of the table.
const (
	hostOff = "host-off"
	hostOn  = "host-on"
	podOff  = "pod-off"
	podOn   = "pod-on"
)

// workload is one row of the table.
type workload struct {
	name, unit string
	better     int // 1: more is better, -1: less is better
	measure    func(ctx context.Context, from *cluster.Space, to string, length time.Duration) (float64, error)
}

var workloads = []workload{
	{"TCP request/response", "us", -1, requestResponse("--tcp", tcpPort)},
	{"UDP request/response", "us", -1, requestResponse("", udpPort)},
	{"TCP bulk", "Mbit/s", 1, bulk()},
	{"UDP bulk, 1400 bytes", "Mbit/s", 1, bulk("-u", "-b", "0", "-l", "1400")},
}

var latency = regexp.MustCompile(`percentile 50\.000 = *([0-9.]+)`)

// requestResponse is the median of half the round trip of a 14-byte message, in microseconds (sockperf ping-pong).
func requestResponse(flag, port string) func(context.Context, *cluster.Space, string, time.Duration) (float64, error) {
	return func(ctx context.Context, from *cluster.Space, to string, length time.Duration) (float64, error) {
		args := []string{"sockperf", "ping-pong", "-i", to, "-p", port, "-t", strconv.Itoa(int(length.Seconds())), "-m", "14"}
		if flag != "" {
			args = append(args, flag)
		}
		out, err := from.Exec(ctx, args...)
		if err != nil {
			return 0, err
		}
		m := latency.FindStringSubmatch(out)
		if m == nil {
			return 0, fmt.Errorf("%s: no median in the output of sockperf: %s", from.Name, out)
		}
		return strconv.ParseFloat(m[1], 64)
	}
}

// bulk is what the receiver got, in Mbit/s (iperf3).
func bulk(flags ...string) func(context.Context, *cluster.Space, string, time.Duration) (float64, error) {
	return func(ctx context.Context, from *cluster.Space, to string, length time.Duration) (float64, error) {
		args := append([]string{"iperf3", "--json", "-c", to, "-p", bulkPort, "-t", strconv.Itoa(int(length.Seconds()))}, flags...)
		out, err := from.Exec(ctx, args...)
		if err != nil {
			return 0, err
		}
		var report struct {
			End struct {
				SumReceived struct {
					BitsPerSecond float64 `json:"bits_per_second"`
				} `json:"sum_received"`
				Sum struct {
					BitsPerSecond float64 `json:"bits_per_second"`
					LostPercent   float64 `json:"lost_percent"`
				} `json:"sum"`
			} `json:"end"`
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			return 0, fmt.Errorf("%s: output of iperf3: %w", from.Name, err)
		}
		if report.End.SumReceived.BitsPerSecond > 0 {
			return report.End.SumReceived.BitsPerSecond / 1e6, nil
		}
		return report.End.Sum.BitsPerSecond * (1 - report.End.Sum.LostPercent/100) / 1e6, nil
	}
}

func (d *demo) makePods(ctx context.Context) error {
	for _, n := range d.cluster.Nodes {
		for _, role := range []string{"client", "server"} {
			pod, err := d.cluster.CreatePod(ctx, n, namespace, fmt.Sprintf("%s-%d", role, n.Index))
			if err != nil {
				return err
			}
			d.progress.Printf("demo: Pod %s/%s on %s has %s", namespace, pod.PodName, n.Name, pod.IP)
			if role == "client" {
				d.clients = append(d.clients, pod)
				continue
			}
			d.servers = append(d.servers, pod)
			if err := startServers(pod.Space, pod.IP.String()); err != nil {
				return err
			}
		}
	}
	second := d.cluster.Nodes[1]
	return startServers(second.Space, second.IP.String())
}

// startServers starts the peers of all workloads; they end with the space.
func startServers(s *cluster.Space, ip string) error {
	for _, args := range [][]string{
		{"sockperf", "server", "--tcp", "-i", ip, "-p", tcpPort},
		{"sockperf", "server", "-i", ip, "-p", udpPort},
		{"iperf3", "--server", "-B", ip, "-p", bulkPort},
	} {
		if _, err := s.Start(args...); err != nil {
			return err
		}
	}
	return nil
}

// switchGate changes the feature gate and restarts the agents, with the Pods and their servers running.
func (d *demo) switchGate(ctx context.Context, on bool) error {
	d.progress.Printf("demo: feature gate %s=%v", gate, on)
	return d.cluster.EachNode(func(n *cluster.Node) error {
		if err := n.SetFeatureGates(map[string]bool{gate: on}); err != nil {
			return err
		}
		return n.RestartAgent(ctx)
	})
}

// measureAll measures each workload between Pods and between Nodes in turn, so that whatever disturbs the machine
// disturbs both.
func (d *demo) measureAll(ctx context.Context, on bool) error {
	pod, host := podOff, hostOff
	if on {
		pod, host = podOn, hostOn
	}
	targets := []struct {
		column string
		from   *cluster.Space
		to     string
	}{
		{pod, d.clients[0].Space, d.servers[1].IP.String()},
		{host, d.cluster.Nodes[0].Space, d.cluster.Nodes[1].IP.String()},
	}
	for _, w := range workloads {
		for _, t := range targets {
			// Servers may still be starting; this also opens the way through Open vSwitch.
			if err := warmUp(ctx, w, t.from, t.to); err != nil {
				return err
			}
		}
		for range d.rounds {
			for _, t := range targets {
				v, err := w.measure(ctx, t.from, t.to, d.length)
				if err != nil {
					return fmt.Errorf("%s: %w", w.name, err)
				}
				key := w.name + t.column
				if d.results[key] == nil {
					d.results[key] = &series{}
				}
				d.results[key].values = append(d.results[key].values, v)
			}
		}
		d.progress.Printf("demo: measured %s, %s=%v", w.name, gate, on)
	}
	return nil
}

func warmUp(ctx context.Context, w workload, from *cluster.Space, to string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		_, err := w.measure(ctx, from, to, time.Second)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s, first attempt: %w", w.name, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
