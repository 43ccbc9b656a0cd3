// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Continuation is the fate of a connection that was opened before a change.
type Continuation uint8

const (
	// Keeps its Endpoint.
	Keeps Continuation = iota
	// Moves: its next packet opens another connection.
	Moves
	// Either may happen: nothing is promised.
	Either
)

// Continues returns the fate of a connection to an Endpoint. "Those that exist keep their Endpoint. TCP and SCTP: as
// long as both sides want, also if the Endpoint or the Service has gone. UDP: until the Endpoint no longer serves, or
// the Service or the address has gone."
func (w *World) Continues(p *Probe, endpoint netip.AddrPort) Continuation {
	if p.Protocol != corev1.ProtocolUDP {
		return Keeps
	}
	f := w.frontend(p.Client.Node, p.To, p.Protocol)
	if f == nil {
		return Moves
	}
	all := w.endpoints(f)
	i := slices.IndexFunc(all, func(e Endpoint) bool { return e.Address == endpoint })
	switch {
	case i < 0 || !all[i].Ready && !all[i].Serving:
		return Moves
	case !all[i].Ready && !all[i].Terminating:
		return Either // An Endpoint that serves and does not terminate is ready, unless the slice says otherwise.
	}
	if v := w.Verdict(p); v.Outcome == Dropped {
		return Either // About clients that are refused later nothing is said.
	}
	return Keeps
}
