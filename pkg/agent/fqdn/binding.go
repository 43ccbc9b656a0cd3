// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// Service bindings are the records SVCB and HTTPS (RFC 9460). Their hints are addresses to which a client may connect before it asks for A and
// AAAA records, or if there are none, so they count as addresses of the name that was asked for.

func isBinding(kind dnsmessage.Type) bool {
	return kind == dnsmessage.TypeSVCB || kind == dnsmessage.TypeHTTPS
}

// ofService returns the name that a question for service bindings is about: the labels of port and scheme before it, as in
// _8443._https.example.com, are not part of it.
func ofService(name string) string {
	for strings.HasPrefix(name, "_") {
		_, rest, more := strings.Cut(name, ".")
		if !more {
			return name
		}
		name = rest
	}
	return name
}

// readHints returns the addresses in the service binding that the parser has come to.
func readHints(p *dnsmessage.Parser, kind dnsmessage.Type) (hints []netip.Addr, err error) {
	var binding dnsmessage.SVCBResource
	if kind == dnsmessage.TypeHTTPS {
		var r dnsmessage.HTTPSResource
		r, err = p.HTTPSResource()
		binding = r.SVCBResource
	} else {
		binding, err = p.SVCBResource()
	}
	for _, param := range binding.Params {
		size := 0
		switch param.Key {
		case dnsmessage.SVCParamIPv4Hint:
			size = 4
		case dnsmessage.SVCParamIPv6Hint:
			size = 16
		default:
			continue
		}
		if len(param.Value) == 0 || len(param.Value)%size != 0 {
			return nil, fmt.Errorf("hint of %d bytes: must be one or more addresses of %d bytes", len(param.Value), size)
		}
		for address := range slices.Chunk(param.Value, size) {
			addr, _ := netip.AddrFromSlice(address)
			hints = append(hints, addr)
		}
	}
	return hints, err
}
