// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

// server answers questions on one port, over UDP and TCP.
type server struct {
	address string
	// lost is the number of questions over UDP that are not answered.
	lost atomic.Int32
}

// reply answers a question about large.test over TCP only, and knows addresses of small.test.
func reply(t *testing.T, question []byte, tcp bool) []byte {
	var p dnsmessage.Parser
	header, err := p.Start(question)
	require.NoError(t, err)
	q, err := p.Question()
	require.NoError(t, err)
	var records []record
	addresses := map[dnsmessage.Type][]record{dnsmessage.TypeA: {{"10.0.0.1", 5}, {"10.0.0.2", 60}}, dnsmessage.TypeAAAA: {{"fd00::1", 7}}}
	name := q.Name.String()
	switch {
	case name == "small.test." || name == "half.test." && q.Type == dnsmessage.TypeA:
		records = addresses[q.Type]
	case name == "large.test." && tcp && q.Type == dnsmessage.TypeA:
		for i := range 200 {
			records = append(records, record{fmt.Sprintf("10.1.0.%d", i), 60})
		}
	}
	m := message(t, name, q.Type, records...)
	m[0], m[1] = byte(header.ID>>8), byte(header.ID)
	if name == "large.test." && !tcp {
		m[2] |= 2 // truncated
	}
	if name == "broken.test." || name == "half.test." && q.Type == dnsmessage.TypeAAAA {
		m[3] |= 2 // server failure
	}
	if name == "absent.test." {
		m[3] |= 3
	}
	return m
}

// listen returns listeners on one port for both protocols. Another program may have the port of one of them.
func listen(t *testing.T) (udp net.PacketConn, tcp net.Listener) {
	for range 100 {
		var err error
		udp, err = net.ListenPacket("udp", "127.0.0.1:0")
		require.NoError(t, err)
		if tcp, err = net.Listen("tcp", udp.LocalAddr().String()); err == nil {
			return udp, tcp
		}
		_ = udp.Close()
	}
	t.Fatal("no port is free for UDP and TCP")
	return nil, nil
}

func newServer(t *testing.T) *server {
	udp, tcp := listen(t)
	t.Cleanup(func() { _, _ = udp.Close(), tcp.Close() })
	s := &server{address: udp.LocalAddr().String()}
	go func() {
		b := make([]byte, 1000)
		for {
			n, from, err := udp.ReadFrom(b)
			if err != nil {
				return
			}
			if s.lost.Add(-1) >= 0 {
				continue
			}
			other := reply(t, b[:n], false)
			other[0]++ // the answer to another question comes first
			_, _ = udp.WriteTo(other, from)
			_, _ = udp.WriteTo(reply(t, b[:n], false), from)
		}
	}()
	go func() {
		for {
			c, err := tcp.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 1000)
			if n, err := io.ReadAtLeast(c, b, 14); err == nil {
				_, _ = c.Write(withLength(reply(t, b[2:n], true)))
			}
			_ = c.Close()
		}
	}()
	return s
}

func TestResolver(t *testing.T) {
	s := newServer(t)
	both := Versions{true, true}
	r := dnsServer{s.address, both, 20 * time.Millisecond}
	s.lost.Store(2)
	found, err := r.Lookup(t.Context(), "small.test")
	require.NoError(t, err)
	require.Equal(t, map[netip.Addr]time.Duration{netip.MustParseAddr("10.0.0.1"): 5 * time.Second, netip.MustParseAddr("10.0.0.2"): time.Minute,
		netip.MustParseAddr("fd00::1"): 7 * time.Second}, found.Addresses)
	require.Equal(t, both, found.Of)
	r.attempt = attemptTime
	found, err = r.Lookup(t.Context(), "large.test")
	require.NoError(t, err)
	require.Len(t, found.Addresses, 200)
	found, err = r.Lookup(t.Context(), "absent.test")
	require.NoError(t, err)
	require.Equal(t, Found{map[netip.Addr]time.Duration{}, both}, found)
	found, err = r.Lookup(t.Context(), "broken.test")
	require.ErrorContains(t, err, "the answer's code is")
	require.Zero(t, found.Of)

	v4 := map[netip.Addr]time.Duration{netip.MustParseAddr("10.0.0.1"): 5 * time.Second, netip.MustParseAddr("10.0.0.2"): time.Minute}
	found, err = r.Lookup(t.Context(), "half.test")
	require.ErrorContains(t, err, "for records of type TypeAAAA: the answer's code is")
	require.Equal(t, Found{v4, Versions{IPv4: true}}, found)
	r.of = Versions{IPv4: true}
	found, err = r.Lookup(t.Context(), "half.test")
	require.NoError(t, err, "no one asks for IPv6 addresses")
	require.Equal(t, Found{v4, both}, found)
	r.of = both

	s.lost.Store(1000)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	r.attempt = 20 * time.Millisecond
	_, err = r.Lookup(ctx, "small.test")
	require.ErrorIs(t, err, errNoAnswer)
}

func TestWhichServerIsAsked(t *testing.T) {
	environment, v4 := map[string]string{}, Versions{IPv4: true}
	of := func(override string) Resolver {
		r, err := NewResolver(override, v4, func(name string) string { return environment[name] })
		require.NoError(t, err)
		return r
	}
	require.Equal(t, hostResolver{v4}, of(""))
	environment["KUBE_DNS_SERVICE_HOST"] = "fd00::a"
	require.Equal(t, dnsServer{"[fd00::a]:53", v4, attemptTime}, of(""))
	environment["KUBE_DNS_SERVICE_PORT"] = "5353"
	require.Equal(t, dnsServer{"[fd00::a]:5353", v4, attemptTime}, of(""))
	require.Equal(t, dnsServer{"10.0.0.1:53", v4, attemptTime}, of("10.0.0.1"))
	_, err := NewResolver("a:b:c", v4, func(string) string { return "" })
	require.ErrorContains(t, err, "dnsServerOverride")
}
