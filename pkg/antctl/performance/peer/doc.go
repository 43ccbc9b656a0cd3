// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package peer contains the program of the Pods of antctl check performance: a server (Server), and a client (Measure) that measures one workload with the
// server of another Pod. Both are in antctl, which the agent's image contains, so that nothing has to be fetched.
//
// A server has one port for TCP and UDP. The first byte of a TCP connection, or of each datagram, says what the client wants:
//
//	'e'  each message of MessageBytes is sent back, until the client closes
//	'x'  one message of MessageBytes is sent back, then the server closes: so it, and not the client, keeps the connection in TIME_WAIT
//	's'  all bytes are counted; after the client's FIN the server answers with their number (8 bytes, big endian) and closes
//	'c'  the server answers with a CPUTime in JSON and closes
//
// Datagrams of another length or kind are not answered; an answer is of the kind 'E', so that two servers never answer each other.
package peer

// MessageBytes is the length of requests and answers.
const MessageBytes = 64

const (
	kindEcho     = 'e'
	kindExchange = 'x'
	kindSink     = 's'
	kindCPU      = 'c'
	kindAnswer   = 'E'
)
