// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"golang.org/x/sync/errgroup"
)

// fetch requests bodies of one size over connections that stay, on each one after the other.
type fetch struct {
	to          string
	size        int64
	connections int
	duration    time.Duration
	// order: watch the order of packets. That costs the client time.
	order bool
}

// fetched is the output of fetch.
type fetched struct {
	// Requests counts the requests whose body was complete within the time.
	Requests int `json:"requests"`
	// Bytes counts all bodies, also bodies that the end of the time has cut off.
	Bytes int64 `json:"bytes"`
	// Seconds do not include the handshakes.
	Seconds float64 `json:"seconds"`
	Times   times   `json:"microseconds"`
	// Arrivals is nil if the order was not asked for.
	Arrivals *arrivals `json:"arrivals,omitempty"`
}

// times are the times from a request to the end of its body, in microseconds.
type times struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
}

// connectTimeout limits the handshakes of all connections together.
const connectTimeout = 10 * time.Second

func (f *fetch) run(ctx context.Context) (result fetched, err error) {
	if f.size < 0 || f.connections < 1 || f.duration <= 0 {
		return result, fmt.Errorf("size %d must not be negative, connections %d and duration %v must be positive", f.size, f.connections, f.duration)
	}
	all := make([]*connection, f.connections)
	for i := range all {
		all[i] = newConnection(f.to, f.size)
		if f.order {
			all[i].order = &order{}
			all[i].transport.QUICConfig = &quic.Config{Tracer: all[i].order.trace}
		}
		defer all[i].transport.Close()
	}
	if err := each(ctx, connectTimeout, all, (*connection).open); err != nil {
		return result, err
	}
	begin := time.Now()
	if err := each(ctx, f.duration, all, (*connection).work); err != nil {
		return result, err
	}
	result.Seconds = time.Since(begin).Seconds()
	if f.order {
		result.Arrivals = &arrivals{}
	}
	var took []time.Duration
	for _, c := range all {
		result.Bytes += c.bytes
		took = append(took, c.took...)
		if f.order {
			c.order.addTo(result.Arrivals)
		}
	}
	result.Requests, result.Times = len(took), timesOf(took)
	return result, nil
}

// each calls do for all connections at the same time, with a context that ends after limit, and returns the first error.
func each(ctx context.Context, limit time.Duration, all []*connection, do func(*connection, context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range all {
		group.Go(func() error { return do(c, ctx) })
	}
	return group.Wait()
}

// connection is a QUIC connection with a socket of its own.
type connection struct {
	transport *http3.Transport
	url       string
	size      int64
	buffer    []byte
	// bytes and took are the results of fetched.
	bytes int64
	took  []time.Duration
	// order is nil if it is not asked for.
	order *order
}

func newConnection(to string, size int64) *connection {
	return &connection{
		// The server's certificate is made when it starts.
		transport: &http3.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableCompression: true},
		url:       "https://" + to, size: size, buffer: make([]byte, 64<<10),
	}
}

// open makes the handshake, with a request for nothing.
func (c *connection) open(ctx context.Context) error {
	if _, err := c.get(ctx, 0); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return nil
}

// work sends requests until ctx ends.
func (c *connection) work(ctx context.Context) error {
	for {
		begin := time.Now()
		read, err := c.get(ctx, c.size)
		c.bytes += read
		switch {
		case err == nil:
			c.took = append(c.took, time.Since(begin))
		case ctx.Err() != nil:
			return nil
		default:
			return fmt.Errorf("request %d: %w", len(c.took), err)
		}
	}
}

// get requests a body, and returns how many bytes of it came.
func (c *connection) get(ctx context.Context, size int64) (read int64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/%d", c.url, size), nil)
	if err != nil {
		return 0, err
	}
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s", request.URL, response.Status)
	}
	for {
		n, err := response.Body.Read(c.buffer)
		read += int64(n)
		switch {
		case err == io.EOF && read == size:
			return read, nil
		case err == io.EOF:
			return read, fmt.Errorf("%s: the body has %d bytes", request.URL, read)
		case err != nil:
			return read, err
		}
	}
}

// timesOf sorts samples.
func timesOf(samples []time.Duration) times {
	if len(samples) == 0 {
		return times{}
	}
	slices.Sort(samples)
	at := func(part float64) float64 {
		return float64(samples[int(part*float64(len(samples)-1))]) / float64(time.Microsecond)
	}
	return times{P50: at(0.50), P99: at(0.99), P999: at(0.999), Max: at(1)}
}
