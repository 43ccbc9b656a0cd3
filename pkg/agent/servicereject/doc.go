// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servicereject answers connections to ports of Services that have no Endpoint, so that clients learn it at once instead of
// waiting for a timeout: with a TCP reset, or an ICMP message that the port is unreachable.
//
// The pipeline sends the first packet of such a connection to the agent (table EndpointDNAT of package openflow). Reply
// makes the answer from nothing but that packet, and Prohibited the answer to packets that policies reject (package policyreject). A Responder receives the packets and sends
// the answers to the port that the packets have come from; they do not pass the pipeline again. A meter limits the rate
// of packets, where the datapath has one. In any case the queue of packets is bounded, and each port has its share of
// answers: a Pod that floods the agent takes only places in the queue from others (package share).
package servicereject
