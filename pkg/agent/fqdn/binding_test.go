// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

// bindings builds an answer with an alias and a service binding of this type, which has an IPv4 hint with this value and an IPv6 hint, and with
// an address and an OPT record in the additional section.
func bindings(t testing.TB, name string, kind dnsmessage.Type, hint []byte) []byte {
	t.Helper()
	full, target := dnsmessage.MustNewName(name), dnsmessage.MustNewName("target.org.")
	binding := dnsmessage.SVCBResource{Priority: 1, Target: target}
	binding.SetParam(dnsmessage.SVCParamALPN, []byte("\x02h2"))
	binding.SetParam(dnsmessage.SVCParamIPv4Hint, hint)
	binding.SetParam(dnsmessage.SVCParamIPv6Hint, netip.MustParseAddr("fd00::1").AsSlice())
	alias := dnsmessage.SVCBResource{Target: target}
	var first, second dnsmessage.ResourceBody = &alias, &binding
	if kind == dnsmessage.TypeHTTPS {
		first, second = &dnsmessage.HTTPSResource{SVCBResource: alias}, &dnsmessage.HTTPSResource{SVCBResource: binding}
	}
	header := func(ttl uint32) dnsmessage.ResourceHeader {
		return dnsmessage.ResourceHeader{Name: target, Class: dnsmessage.ClassINET, TTL: ttl}
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{Response: true},
		Questions: []dnsmessage.Question{{Name: full, Type: kind, Class: dnsmessage.ClassINET}},
		Answers:   []dnsmessage.Resource{{Header: header(5), Body: first}, {Header: header(30), Body: second}},
		Authorities: []dnsmessage.Resource{
			{Header: header(5), Body: &dnsmessage.AResource{A: [4]byte{10, 0, 0, 9}}},
		},
		Additionals: []dnsmessage.Resource{
			{Header: header(60), Body: &dnsmessage.AResource{A: [4]byte{10, 0, 0, 3}}},
			{Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName("."), Class: 1232}, Body: &dnsmessage.OPTResource{}},
		},
	}
	packed, err := m.Pack()
	require.NoError(t, err)
	return packed
}

// TestHintsAreAddresses: what a service binding tells is the name's, with the TTL of its record.
func TestHintsAreAddresses(t *testing.T) {
	addr := netip.MustParseAddr
	for _, kind := range []dnsmessage.Type{dnsmessage.TypeSVCB, dnsmessage.TypeHTTPS} {
		for _, asked := range []string{"A.example.com.", "_8443._https.a.example.com."} {
			a, err := parseAnswer(bindings(t, asked, kind, []byte{10, 0, 0, 1, 10, 0, 0, 2}))
			require.NoError(t, err)
			require.Equal(t, answer{name: "a.example.com", addresses: map[netip.Addr]time.Duration{
				addr("10.0.0.1"): 30 * time.Second, addr("10.0.0.2"): 30 * time.Second, addr("fd00::1"): 30 * time.Second, addr("10.0.0.3"): 60 * time.Second,
			}}, a)
		}
		for _, hint := range [][]byte{{}, {10, 0, 0}, {10, 0, 0, 1, 10}, make([]byte, 30001)} {
			_, err := parseAnswer(bindings(t, "a.b.", kind, hint))
			require.ErrorContains(t, err, "must be one or more addresses of 4 bytes")
		}
		var many []byte
		for i := range maxAddresses + 1 {
			many = append(many, 10, 1, byte(i>>8), byte(i))
		}
		_, err := parseAnswer(bindings(t, "a.b.", kind, many))
		require.ErrorIs(t, err, errTooMany)
		good := bindings(t, "a.b.", kind, []byte{10, 0, 0, 1})
		for length := range good {
			_, err := parseAnswer(good[:length])
			require.Error(t, err, length)
		}
	}
	require.Equal(t, "_tcp", ofService("_tcp"))
	require.Equal(t, "", ofService(""))
}

// TestHintsWait: an answer with hints passes when the rules have its addresses, and not earlier.
func TestHintsWait(t *testing.T) {
	w := newWorld(t, "")
	w.automatic = false
	w.declare("*.example.com")
	defer w.run()()
	w.packet(datagram(t, bindings(t, "a.example.com.", dnsmessage.TypeHTTPS, []byte{10, 0, 0, 1})))
	r := w.next()
	require.Equal(t, "[10.0.0.1 10.0.0.3 fd00::1]", w.addresses("*.example.com"))
	w.packet(datagram(t, message(t, "unknown.org.", dnsmessage.TypeA, record{"10.0.0.9", 5})))
	w.requireResumed(1)
	r.done(nil)
	w.requireResumed(2)
}
