// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

const (
	http3Port = 7700
	// http3Large is the size of the bodies of a download. The next one begins when one is complete.
	http3Large = 16 << 20
)

// http3Bulk downloads large bodies over one connection; http3Requests small ones over connections that stay.
func http3Bulk(m Machine) Workload {
	return http3(m, "http3", 1, http3Large, parseHTTP3Bulk)
}

// http3Requests is described with http3Bulk.
func http3Requests(m Machine) Workload {
	return http3(m, "http3_rr", clients, webBytes, parseHTTP3Requests)
}

// http3Order downloads like http3Bulk, and watches in which order the packets come. That costs the client time, so nothing else is measured.
func http3Order(m Machine) Workload {
	return http3(m, "http3_order", 1, http3Large, parseHTTP3Order, "--order")
}

func http3(m Machine, name string, connections, bytes int, parse func(string) (Outcome, error), flags ...string) Workload {
	return Workload{
		Name: name, Tool: "http3", Flows: connections, Bytes: bytes,
		Servers: func(link bed.Link, _ result.State) ([]Server, error) {
			return []Server{{Args: []string{m.HTTP3, "serve", "--listen=" + endpoint(link.Address, http3Port)}, Protocol: "udp", Port: http3Port}}, nil
		},
		Measure: func(ctx context.Context, on Target, length time.Duration) (Outcome, error) {
			args := append([]string{m.HTTP3, "fetch", "--to=" + endpoint(on.Address, http3Port), "--size=" + strconv.Itoa(bytes),
				"--connections=" + strconv.Itoa(connections), "--duration=" + length.String()}, flags...)
			out, err := on.Client.Exec(ctx, args...)
			if err != nil {
				return Outcome{}, err
			}
			return parse(out)
		},
	}
}

// http3Output is the used part of the output of http3 fetch.
type http3Output struct {
	Requests float64 `json:"requests"`
	Bytes    float64 `json:"bytes"`
	Seconds  float64 `json:"seconds"`
	Times    struct {
		P50 float64 `json:"p50"`
		P99 float64 `json:"p99"`
	} `json:"microseconds"`
	Arrivals struct {
		Packets float64 `json:"packets"`
		Late    float64 `json:"late"`
	} `json:"arrivals"`
}

func readHTTP3(out string) (r http3Output, err error) {
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		return r, fmt.Errorf("output of http3 fetch: %w", err)
	}
	if r.Seconds <= 0 {
		return r, fmt.Errorf("http3 fetch has measured nothing: %s", excerpt(out))
	}
	return r, nil
}

func parseHTTP3Bulk(out string) (o Outcome, err error) {
	r, err := readHTTP3(out)
	if err == nil && r.Bytes == 0 {
		err = fmt.Errorf("http3 fetch has received nothing: %s", excerpt(out))
	}
	if err != nil {
		return o, err
	}
	o.Bytes = r.Bytes
	o.add(Goodput, "Gbit/s", false, 8*r.Bytes/r.Seconds/1e9)
	return o, nil
}

func parseHTTP3Requests(out string) (o Outcome, err error) {
	r, err := readHTTP3(out)
	if err == nil && r.Requests == 0 {
		err = fmt.Errorf("http3 fetch has received no response: %s", excerpt(out))
	}
	if err != nil {
		return o, err
	}
	o.Transactions = r.Requests
	o.add(Rate, "1/s", false, r.Requests/r.Seconds)
	o.add("p50", "us", true, r.Times.P50)
	o.add("p99", "us", true, r.Times.P99)
	return o, nil
}

func parseHTTP3Order(out string) (o Outcome, err error) {
	r, err := readHTTP3(out)
	if err == nil && r.Arrivals.Packets == 0 {
		err = fmt.Errorf("http3 fetch has watched no packets: %s", excerpt(out))
	}
	if err != nil {
		return o, err
	}
	o.add(InOrder, "%", false, 100*(1-r.Arrivals.Late/r.Arrivals.Packets))
	return o, nil
}

// quicModule is the library of which test/tools/http3 is made.
const quicModule = "github.com/quic-go/quic-go"

// HTTP3Version says of which version of its library the program http3 was built.
func HTTP3Version(program string) (string, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", fmt.Errorf("read the versions of which %s is built: %w", program, err)
	}
	for _, d := range info.Deps {
		if d.Path == quicModule {
			return "of this repository, with quic-go " + d.Version, nil
		}
	}
	return "", fmt.Errorf("%s is built without %s", program, quicModule)
}
