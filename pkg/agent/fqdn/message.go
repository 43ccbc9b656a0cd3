// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// maxAddresses is the number of addresses that an answer may have, and a name. A message of 65,535 bytes has room for 4,000.
const maxAddresses = 1024

// answer contains what a DNS message says about a name.
type answer struct {
	name string
	// v4 and v6 are set if the message says which addresses of that version the name has.
	v4, v6    bool
	addresses map[netip.Addr]time.Duration
}

var errTooMany = fmt.Errorf("more than %d addresses in one answer", maxAddresses)

// parseAnswer reads a DNS message (RFC 1035, section 4), without a length before it. The name is the name of the question; its addresses
// are all A and AAAA records and hints of the answer section, whatever names these have, because they may be behind CNAME records.
//
// An error says that the message may tell its receiver an address that is not known here. The content behind the answer section matters
// only beside service bindings.
func parseAnswer(message []byte) (answer, error) {
	a := answer{addresses: map[netip.Addr]time.Duration{}}
	var p dnsmessage.Parser
	header, err := p.Start(message)
	if err != nil {
		return a, err
	}
	if !header.Response {
		return a, errors.New("the message is not a response")
	}
	question, err := p.Question()
	if err != nil && !errors.Is(err, dnsmessage.ErrSectionDone) {
		return a, fmt.Errorf("question: %w", err)
	}
	asked := err == nil
	a.name = Normalize(question.Name.String())
	if isBinding(question.Type) {
		a.name = ofService(a.name)
	}
	a.v4 = question.Type == dnsmessage.TypeA
	a.v6 = question.Type == dnsmessage.TypeAAAA
	if more, err := p.AllQuestions(); err != nil || len(more) > 0 {
		return a, fmt.Errorf("%d further questions: want one (%w)", len(more), errors.Join(err, errNoName))
	}
	if err := a.readAnswers(&p); err != nil {
		return a, err
	}
	if len(a.addresses) > 0 && !asked {
		return a, errNoName
	}
	return a, nil
}

var errNoName = errors.New("it is not clear to which name the addresses belong")

// readAnswers adds the addresses of the answer section and, if a service binding is there, of the additional section, which its receiver may use
// in place of the hints.
func (a *answer) readAnswers(p *dnsmessage.Parser) error {
	binds, err := a.readSection(p, p.AnswerHeader, p.SkipAnswer)
	if err != nil || !binds {
		return err
	}
	if err := p.SkipAllAuthorities(); err != nil {
		return fmt.Errorf("authorities: %w", err)
	}
	_, err = a.readSection(p, p.AdditionalHeader, p.SkipAdditional)
	return err
}

// readSection adds the addresses of a section, and reports whether a record of it is a service binding. next and skip are the parser's methods
// for the section.
func (a *answer) readSection(p *dnsmessage.Parser, next func() (dnsmessage.ResourceHeader, error), skip func() error) (binds bool, err error) {
	for {
		record, err := next()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			return binds, nil
		}
		if err != nil {
			return binds, fmt.Errorf("record after %d addresses: %w", len(a.addresses), err)
		}
		var addrs []netip.Addr
		switch {
		case record.Class != dnsmessage.ClassINET:
			err = skip()
		case record.Type == dnsmessage.TypeA:
			var r dnsmessage.AResource
			r, err = p.AResource()
			addrs = []netip.Addr{netip.AddrFrom4(r.A)}
		case record.Type == dnsmessage.TypeAAAA:
			var r dnsmessage.AAAAResource
			r, err = p.AAAAResource()
			addrs = []netip.Addr{netip.AddrFrom16(r.AAAA)}
		case isBinding(record.Type):
			binds = true
			addrs, err = readHints(p, record.Type)
		default:
			err = skip()
		}
		if err == nil {
			err = a.add(addrs, time.Duration(record.TTL)*time.Second)
		}
		if err != nil {
			return binds, fmt.Errorf("record of type %v: %w", record.Type, err)
		}
	}
}

// add adds the addresses of a record. If an address comes twice, the longer TTL counts.
func (a *answer) add(addrs []netip.Addr, ttl time.Duration) error {
	for _, addr := range addrs {
		addr = addr.Unmap()
		if addr.IsUnspecified() || addr.IsMulticast() || addr.IsLoopback() {
			continue // No packet to it leaves the Pod as a connection to another address.
		}
		a.addresses[addr] = max(a.addresses[addr], ttl)
		if len(a.addresses) > maxAddresses {
			return errTooMany
		}
	}
	return nil
}
