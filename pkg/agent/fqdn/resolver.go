// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
)

// hostTTL is the TTL of addresses that come from the host's resolver, which does not tell it.
const hostTTL = 600 * time.Second

// Versions are the IP versions of the cluster, and the ones that a server has answered for.
type Versions struct{ IPv4, IPv6 bool }

// NewResolver returns the resolver for the agent's own queries about addresses of some versions: the server of override ("host" or "host:port", with
// brackets around an IPv6 address before a port), else the Service kube-dns as the environment of a Pod names it, else the resolver of the host.
func NewResolver(override string, of Versions, environment func(string) string) (Resolver, error) {
	if override != "" {
		server, err := agentconfig.ParseDNSServer(override)
		if err != nil {
			return nil, err
		}
		return dnsServer{address: server, of: of, attempt: attemptTime}, nil
	}
	if host := environment("KUBE_DNS_SERVICE_HOST"); host != "" {
		port := environment("KUBE_DNS_SERVICE_PORT")
		if port == "" {
			port = "53"
		}
		return dnsServer{address: net.JoinHostPort(host, port), of: of, attempt: attemptTime}, nil
	}
	return hostResolver{of}, nil
}

// hostResolver asks as the host does.
type hostResolver struct{ of Versions }

func (r hostResolver) Lookup(ctx context.Context, name string) (found Found, err error) {
	return r.of.ask(func(kind dnsmessage.Type) (map[netip.Addr]time.Duration, error) {
		network := "ip4"
		if kind == dnsmessage.TypeAAAA {
			network = "ip6"
		}
		addrs, err := net.DefaultResolver.LookupNetIP(ctx, network, name+".")
		var failure *net.DNSError
		if err != nil && (!errors.As(err, &failure) || !failure.IsNotFound) {
			return nil, err
		}
		addresses := map[netip.Addr]time.Duration{}
		for _, addr := range addrs {
			addresses[addr.Unmap()] = hostTTL
		}
		return addresses, nil
	})
}

// ask asks for the addresses of each version at once. One may fail without the other. No program of the cluster connects to addresses of another
// version: there are none.
func (v Versions) ask(question func(kind dnsmessage.Type) (map[netip.Addr]time.Duration, error)) (Found, error) {
	var v4, v6 map[netip.Addr]time.Duration
	var err4, err6 error
	var both sync.WaitGroup
	if v.IPv4 {
		both.Go(func() { v4, err4 = question(dnsmessage.TypeA) })
	}
	if v.IPv6 {
		both.Go(func() { v6, err6 = question(dnsmessage.TypeAAAA) })
	}
	both.Wait()
	found := Found{Addresses: map[netip.Addr]time.Duration{}, Of: Versions{err4 == nil, err6 == nil}}
	maps.Copy(found.Addresses, v4)
	maps.Copy(found.Addresses, v6)
	return found, errors.Join(err4, err6)
}

// attemptTime is the time after which a question over UDP is sent again.
const attemptTime = 3 * time.Second

// dnsServer asks one server.
type dnsServer struct {
	address string
	of      Versions
	attempt time.Duration
}

func (s dnsServer) Lookup(ctx context.Context, name string) (Found, error) {
	return s.of.ask(func(kind dnsmessage.Type) (map[netip.Addr]time.Duration, error) {
		a, err := s.ask(ctx, name, kind)
		if err != nil {
			return nil, fmt.Errorf("ask the DNS server %s for records of type %v: %w", s.address, kind, err)
		}
		return a.addresses, nil
	})
}

func (s dnsServer) ask(ctx context.Context, name string, kind dnsmessage.Type) (answer, error) {
	id := uint16(rand.Uint32())
	question, err := buildQuestion(id, name, kind)
	if err != nil {
		return answer{}, err
	}
	for {
		a, truncated, err := s.overUDP(ctx, id, name, question)
		switch {
		case err == nil && truncated:
			return s.overTCP(ctx, id, name, question)
		case err == nil || ctx.Err() != nil || !errors.Is(err, errNoAnswer):
			return a, err
		}
	}
}

func buildQuestion(id uint16, name string, kind dnsmessage.Type) ([]byte, error) {
	full, err := dnsmessage.NewName(name + ".")
	if err != nil {
		return nil, err
	}
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: full, Type: kind, Class: dnsmessage.ClassINET}}}
	return m.Pack()
}

var errNoAnswer = errors.New("no answer in time")

// overUDP sends the question once.
func (s dnsServer) overUDP(ctx context.Context, id uint16, name string, question []byte) (a answer, truncated bool, err error) {
	attempt, cancel := context.WithTimeout(ctx, s.attempt)
	defer cancel()
	defer func() {
		if isTimeout(err) {
			err = errors.Join(errNoAnswer, err)
		}
	}()
	conn, err := dial(attempt, "udp", s.address)
	if err != nil {
		return a, false, err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write(question); err != nil {
		return a, false, err
	}
	buffer := make([]byte, 65535)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return a, false, err
		}
		if a, truncated, err = readReply(buffer[:n], id, name); !errors.Is(err, errOther) {
			return a, truncated, err
		}
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func (s dnsServer) overTCP(ctx context.Context, id uint16, name string, question []byte) (answer, error) {
	conn, err := dial(ctx, "tcp", s.address)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(question))), question...)); err != nil {
		return answer{}, err
	}
	size := make([]byte, 2)
	if _, err := io.ReadFull(conn, size); err != nil {
		return answer{}, err
	}
	message := make([]byte, binary.BigEndian.Uint16(size))
	if _, err := io.ReadFull(conn, message); err != nil {
		return answer{}, err
	}
	a, _, err := readReply(message, id, name)
	return a, err
}

// dial connects until ctx ends, which also bounds what is done with the connection.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if deadline, has := ctx.Deadline(); has {
		err = conn.SetDeadline(deadline)
	}
	return conn, err
}

// errOther is the error of a message that is not the reply to the question.
var errOther = errors.New("the message answers another question")

func readReply(message []byte, id uint16, name string) (a answer, truncated bool, err error) {
	var p dnsmessage.Parser
	header, err := p.Start(message)
	if err != nil || !header.Response || header.ID != id {
		return a, false, errOther
	}
	if header.Truncated {
		return a, true, nil
	}
	if header.RCode != dnsmessage.RCodeSuccess && header.RCode != dnsmessage.RCodeNameError {
		return a, false, fmt.Errorf("the answer's code is %v", header.RCode)
	}
	if a, err = parseAnswer(message); err == nil && a.name != name {
		err = errOther
	}
	return a, false, err
}
