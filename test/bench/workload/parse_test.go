// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/bench/result"
)

const sockperfOutput = `
sockperf: [Total Run] RunTime=1.001 sec; Warm up time=400 msec; SentMessages=4383; ReceivedMessages=4382
sockperf: ========= Printing statistics for Server No: 0
sockperf: [Valid Duration] RunTime=0.500 sec; SentMessages=2558; ReceivedMessages=2500
sockperf: ====> avg-rtt=213.432 (std-dev=911.200)
sockperf: ---> <MAX> observation = 13430.168
sockperf: ---> percentile 99.999 = 13430.168
sockperf: ---> percentile 99.900 = 12119.469
sockperf: ---> percentile 99.000 = 3890.461
sockperf: ---> percentile 90.000 =   47.782
sockperf: ---> percentile 75.000 =   14.152
sockperf: ---> percentile 50.000 =   13.541
sockperf: ---> percentile 25.000 =   12.644
sockperf: ---> <MIN> observation =    8.440
`

const http3Fetched = `{"requests":30,"bytes":500000000,"seconds":2,"microseconds":{"p50":100.5,"p99":900,"p99.9":950,"max":1000}}`

// parseCase is an output of a measuring program and the outcome that its parser must return.
type parseCase struct {
	name         string
	parse        func(string) (Outcome, error)
	out          string
	want         map[string]float64
	transactions float64
	bytes        float64
	err          string
}

func parseSockperf(out string) (Outcome, error) {
	p, err := parsePingPong(out)
	if err != nil {
		return Outcome{}, err
	}
	return pingPongs([]*pingPong{p, p}), nil
}

func parseQperfLatency(out string) (o Outcome, err error) {
	us, err := parseQperf(out)
	o.add("mean", "us", true, us)
	return o, err
}

func parseIperf3(out string) (Outcome, error) { return parseBulk([]byte(out)) }

var parseCases = []parseCase{
	{name: "sockperf, two clients", parse: parseSockperf, out: sockperfOutput, transactions: 8764, want: map[string]float64{
		Rate: 10000, "p25": 12.644, "p50": 13.541, "p75": 14.152, "p90": 47.782, "p99": 3890.461, "p99.9": 12119.469}},
	{name: "sockperf without replies", parse: parseSockperf, out: "sockperf: No messages were received from the server", err: "no run times"},
	{name: "qperf in nanoseconds", parse: parseQperfLatency, out: "tcp_lat:\n    latency  =  96024.6 ns\n", want: map[string]float64{"mean": 192.0492}},
	{name: "qperf in microseconds", parse: parseQperfLatency, out: "tcp_lat:\n    latency  =  12.5 us\n", want: map[string]float64{"mean": 25}},
	{name: "qperf without replies", parse: parseQperfLatency, out: "udp_lat:\n    latency  =  0 ns\n", err: "no latency"},
	{name: "iperf3, TCP", parse: parseIperf3, out: `{"end": {"sum_sent": {"bytes": 999, "bits_per_second": 9e9}, "sum_received": {"bytes": 1000, "bits_per_second": 8e9}}}`,
		bytes: 1000, want: map[string]float64{Goodput: 8}},
	{name: "iperf3, UDP", parse: parseIperf3, out: `{"end": {"sum": {"bytes": 1000, "bits_per_second": 8e9, "lost_percent": 25}}}`,
		bytes: 750, want: map[string]float64{Goodput: 6, "lost": 25}},
	{name: "iperf3 without server", parse: parseIperf3, out: `{"end": {}, "error": "unable to connect to server: Connection refused"}`, err: "Connection refused"},
	{name: "iperf3, nothing received", parse: parseIperf3, out: `{"end": {}}`, err: "nothing was received"},
	{name: "memcaslap", parse: parseMemcaslap, out: "get_misses: 0\n\nRun time: 1.0s Ops: 59038 TPS: 59034 Net_rate: 66.0M/s\n", transactions: 59038, want: map[string]float64{Rate: 59034}},
	{name: "memcaslap without server", parse: parseMemcaslap, out: "Run time: 1.0s Ops: 0 TPS: 0 Net_rate: 0.0M/s\n", err: "measured nothing"},
	{name: "pgbench", parse: parsePgbench,
		out:          "number of transactions actually processed: 1234\nlatency average = 0.250 ms\ninitial connection time = 9.1 ms\ntps = 15999.5 (without initial connection time)\n",
		transactions: 1234, want: map[string]float64{Rate: 15999.5, "mean": 250}},
	{name: "pgbench, nothing done", parse: parsePgbench, out: "pgbench: error", err: "measured nothing"},
	{name: "wrk", parse: parseWrk,
		out:          "  Latency Distribution\n     50%  105.00us\n     75%    1.20ms\n     90%    1.50ms\n     99%    2.50ms\n  13000 requests in 1.00s, 15.80MB read\nRequests/sec:  12999.10\nTransfer/sec:     15.7MB\n",
		transactions: 13000, want: map[string]float64{Rate: 12999.1, "p50": 105, "p99": 2500}},
	{name: "wrk with errors", parse: parseWrk, out: "  13000 requests in 1.00s, 15.80MB read\n  Socket errors: connect 0, read 3, write 0, timeout 0\nRequests/sec:  12999.10\n", err: "errors"},
	{name: "wrk, wrong page", parse: parseWrk, out: "  10 requests in 1.00s, 15.80MB read\n  Non-2xx or 3xx responses: 10\nRequests/sec:  12999.10\n", err: "errors"},
	{name: "ab", parse: parseAb, out: "Complete requests:      4000\nFailed requests:        0\nRequests per second:    3999.10 [#/sec] (mean)\n", transactions: 4000, want: map[string]float64{Rate: 3999.1}},
	{name: "http3, large bodies", parse: parseHTTP3Bulk, out: http3Fetched, bytes: 5e8, want: map[string]float64{Goodput: 2}},
	{name: "http3, small bodies", parse: parseHTTP3Requests, out: http3Fetched, transactions: 30, want: map[string]float64{Rate: 15, "p50": 100.5, "p99": 900}},
	{name: "http3, order", parse: parseHTTP3Order, out: `{"requests":1,"bytes":9,"seconds":2,"arrivals":{"packets":200,"late":3}}`, want: map[string]float64{InOrder: 98.5}},
	{name: "http3, order not watched", parse: parseHTTP3Order, out: http3Fetched, err: "watched no packets"},
	{name: "http3, nothing received", parse: parseHTTP3Bulk, out: `{"requests":0,"bytes":0,"seconds":2}`, err: "received nothing"},
	{name: "http3, no response", parse: parseHTTP3Requests, out: `{"requests":0,"bytes":7,"seconds":2}`, err: "no response"},
	{name: "http3, nothing measured", parse: parseHTTP3Requests, out: `{}`, err: "measured nothing"},
	{name: "ab with errors", parse: parseAb, out: "Complete requests:      4000\nFailed requests:        7\nRequests per second:    3999.10 [#/sec] (mean)\n", err: "errors"},
}

// TestParse gives each parser an output of its program.
func TestParse(t *testing.T) {
	for _, c := range parseCases {
		t.Run(c.name, func(t *testing.T) {
			o, err := c.parse(c.out)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			got := map[string]float64{}
			for _, v := range o.Values {
				got[v.Name] = v.Value
			}
			require.Len(t, got, len(c.want))
			for name, want := range c.want {
				require.InDelta(t, want, got[name], 1e-9*want, name)
			}
			require.Equal(t, c.transactions, o.Transactions)
			require.Equal(t, c.bytes, o.Bytes)
		})
	}
}

func TestOrderIsFair(t *testing.T) {
	first, before := map[result.State]int{}, map[[2]result.State]int{}
	for round := range 2 * len(result.States) {
		o := order(result.States, round)
		require.ElementsMatch(t, result.States, o)
		first[o[0]]++
		for i := range o {
			for j := range i {
				before[[2]result.State{o[j], o[i]}]++
			}
		}
	}
	for _, s := range result.States {
		require.Equal(t, 2, first[s], s)
	}
	for pair, n := range before {
		require.Equal(t, len(result.States), n, "%v", pair)
	}
}

func TestHasPort(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue
   0: 0100007F:1B58 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0100007F:1B59 0100007F:0050 01 00000000:00000000 00:00000000 00000000     0        0 1 1
`
	require.True(t, hasPort(table, 7000))
	require.False(t, hasPort(table, 7001), "it is connected")
	require.False(t, hasPort(table, 7002))
}
