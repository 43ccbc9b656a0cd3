// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"time"
)

// Workloads.
const (
	// TCPRoundTrips are requests and answers on one connection.
	TCPRoundTrips = "tcp_rr"
	// UDPRoundTrips are datagrams and their answers.
	UDPRoundTrips = "udp_rr"
	// TCPStream sends as fast as possible on one connection.
	TCPStream = "tcp_stream"
	// TCPConnections opens a connection for each request, one after the other.
	TCPConnections = "tcp_crr"
)

// Workloads are all of them, in the order in which they are measured.
var Workloads = []string{TCPRoundTrips, UDPRoundTrips, TCPStream, TCPConnections}

// Metrics are the results of a workload. A metric that does not apply is 0.
type Metrics struct {
	// Median and P99 are times of a transaction in microseconds; of TCPConnections, from connecting to the server's FIN.
	Median float64 `json:"medianMicroseconds,omitempty"`
	P99    float64 `json:"p99Microseconds,omitempty"`
	// Rate is the number of transactions in a second, Lost the number of datagrams without an answer.
	Rate float64 `json:"rate,omitempty"`
	Lost int     `json:"lost,omitempty"`
	// Throughput counts the bytes that the server has received, in Gbit/s.
	Throughput float64 `json:"gbitPerSecond,omitempty"`
	// CPU is the busy time of both Nodes: microseconds for a transaction, seconds for 1 GB of TCPStream. It contains all other programs.
	CPU float64 `json:"cpu,omitempty"`
}

// meter measures a workload for some time.
type meter struct {
	to       string
	duration time.Duration
	samples  []time.Duration
	lost     int
	bytes    uint64
}

// Measure measures a workload with the server at to (host:port).
func Measure(ctx context.Context, workload, to string, duration time.Duration) (Metrics, error) {
	work := map[string]func(*meter, context.Context) error{
		TCPRoundTrips: (*meter).tcpRoundTrips, UDPRoundTrips: (*meter).udpRoundTrips, TCPStream: (*meter).tcpStream, TCPConnections: (*meter).tcpConnections,
	}[workload]
	if work == nil {
		return Metrics{}, fmt.Errorf("%q is not a workload; there are %v", workload, Workloads)
	}
	m := &meter{to: to, duration: duration}
	before, err := busyOfBoth(ctx, to)
	if err != nil {
		return Metrics{}, err
	}
	begin := time.Now()
	if err := work(m, ctx); err != nil {
		return Metrics{}, fmt.Errorf("%s with %s: %w", workload, to, err)
	}
	elapsed := time.Since(begin)
	after, err := busyOfBoth(ctx, to)
	if err != nil {
		return Metrics{}, err
	}
	return m.metrics(elapsed, after-before), nil
}

func (m *meter) metrics(elapsed, busy time.Duration) Metrics {
	if m.bytes > 0 {
		return Metrics{Throughput: float64(m.bytes) * 8 / elapsed.Seconds() / 1e9, CPU: busy.Seconds() / (float64(m.bytes) / 1e9)}
	}
	result := Metrics{Lost: m.lost}
	if n := len(m.samples); n > 0 {
		slices.Sort(m.samples)
		result.Median, result.P99 = microseconds(m.samples[n/2]), microseconds(m.samples[n*99/100])
		result.Rate, result.CPU = float64(n)/elapsed.Seconds(), microseconds(busy)/float64(n)
	}
	return result
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// busyOfBoth is the CPU time of this Node and the server's.
func busyOfBoth(ctx context.Context, to string) (time.Duration, error) {
	here, err := ReadCPUTime()
	if err != nil {
		return 0, err
	}
	conn, err := dial(ctx, "tcp", to)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if err := write(conn, []byte{kindCPU}); err != nil {
		return 0, err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, 1024))
	var there CPUTime
	if err == nil {
		err = json.Unmarshal(answer, &there)
	}
	if err != nil {
		return 0, fmt.Errorf("asking %s for its CPU time: %w", to, err)
	}
	if there.Kernel == here.Kernel {
		return here.Busy, nil
	}
	return here.Busy + there.Busy, nil
}

// dial connects; reads and writes of the connection end with ctx, at the latest after patience.
func dial(ctx context.Context, network, to string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: patience}
	conn, err := dialer.DialContext(ctx, network, to)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	return conn, nil
}

// request returns a message of a kind.
func request(kind byte) []byte {
	return append([]byte{kind}, bytes.Repeat([]byte{'.'}, MessageBytes-1)...)
}
