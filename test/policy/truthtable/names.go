// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/policy"
	"github.com/antrea-oncache/antrea/test/tools/wire"
)

// The source ports of queries: the first one, and their number.
const firstQueryPort, queryPorts = 20000, 20000

// query is a query of a Pod about a name, with its answer.
type query struct {
	asker, server  *policy.Pod
	name           string
	places         []int
	six            bool
	id, sourcePort uint16
}

// ask makes one Pod of each Node that is under a rule with names ask for all names, and plays the DNS server, which is in the network of the other
// Node, or a Pod there. An answer arrives once the rules of all Pods of the Node have its addresses.
func (f *fabric) ask(world *policy.World) error {
	var queries []query
	askers := map[string]*policy.Pod{}
	for _, pod := range world.Askers() {
		askers[pod.Node] = pod // the last one
	}
	for _, asker := range askers {
		others := slices.DeleteFunc(slices.Concat(world.Hosts, world.Pods), func(p *policy.Pod) bool { return p.Node == asker.Node })
		server := others[0]
		for _, name := range slices.Sorted(maps.Keys(world.Names)) {
			for _, six := range []bool{false, true} {
				n := uint16(len(queries))
				queries = append(queries, query{asker, server, name, world.Names[name], six, n + 1, firstQueryPort + f.queries%queryPorts})
				f.queries++
			}
		}
	}
	if len(queries) == 0 {
		return nil
	}
	for _, n := range f.Nodes {
		n.ForgetMegaflows()
	}
	var asked, answers []switchpair.Outgoing
	var late []switchpair.Fence
	for _, q := range queries {
		question, answer := q.message(world, false), q.message(world, true)
		client, gateway := f.port(q.asker, q.server), f.port(q.server, q.asker)
		asked = append(asked, switchpair.Outgoing{At: client, Frame: wire.Datagram(f.queryLeg(q), question)})
		answers = append(answers, switchpair.Outgoing{At: gateway, Frame: wire.Datagram(f.answerLeg(q), answer)})
		late = append(late, switchpair.Fence{ID: binary.BigEndian.Uint32(answer), At: client})
	}
	if _, err := f.Exchange(asked); err != nil {
		return err
	}
	arrived, err := f.Exchange(answers, late...)
	if err != nil {
		return err
	}
	for i, fence := range late {
		if len(arrived[fence.ID]) != 1 {
			return fmt.Errorf("the answer of DNS about %s to %s has arrived %d times", queries[i].name, podKey(queries[i].asker), len(arrived[fence.ID]))
		}
	}
	return nil
}

func (q query) ends() (client, server netip.AddrPort) {
	return netip.AddrPortFrom(q.asker.IPv4, q.sourcePort), netip.AddrPortFrom(q.server.IPv4, policy.DNSPort)
}

func (f *fabric) queryLeg(q query) wire.Leg {
	client, server := q.ends()
	return wire.Leg{SourceMAC: f.port(q.asker, q.server).MAC, DestinationMAC: f.nextHop(q.asker, q.server), Source: client, Destination: server}
}

func (f *fabric) answerLeg(q query) wire.Leg {
	client, server := q.ends()
	return wire.Leg{SourceMAC: f.port(q.server, q.asker).MAC, DestinationMAC: f.nextHop(q.server, q.asker), Source: server, Destination: client}
}

// message returns the question or the answer. Its first four bytes are a number that no other frame has: the flag AD is set.
func (q query) message(world *policy.World, answer bool) []byte {
	kind := dnsmessage.TypeA
	if q.six {
		kind = dnsmessage.TypeAAAA
	}
	name := dnsmessage.MustNewName(q.name + ".")
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: q.id, Response: answer, RecursionDesired: true, RecursionAvailable: answer, AuthenticData: true})
	err := errors.Join(b.StartQuestions(), b.Question(dnsmessage.Question{Name: name, Type: kind, Class: dnsmessage.ClassINET}), b.StartAnswers())
	header := dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: policy.TTL(q.name)}
	for _, place := range q.places {
		switch pod := world.Pods[place]; {
		case !answer:
		case q.six:
			err = errors.Join(err, b.AAAAResource(header, dnsmessage.AAAAResource{AAAA: pod.IPv6.As16()}))
		default:
			err = errors.Join(err, b.AResource(header, dnsmessage.AResource{A: pod.IPv4.As4()}))
		}
	}
	text, fault := b.Finish()
	if err = errors.Join(err, fault); err != nil {
		panic(err)
	}
	return text
}
