// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report has the output of the subcommands of traffic, one JSON object each.
package report

// Stream is one direction of a TCP connection as one end saw it.
type Stream struct {
	// Local and Remote are address:port as this end saw them.
	Local  string `json:"local"`
	Remote string `json:"remote"`
	Bytes  uint64 `json:"bytes"`
	// Seconds is the time from the connection's start to the last byte.
	Seconds       float64 `json:"seconds"`
	MbitPerSecond float64 `json:"mbitPerSecond"`
	// LongestStallMs is the longest time between two reads or writes that moved data.
	LongestStallMs float64 `json:"longestStallMs"`
	// MismatchAt is the offset of the first chunk whose content was wrong, -1 if none was.
	MismatchAt int64 `json:"mismatchAt"`
	// End is "eof" when the sender has closed, otherwise the cause of the stream's end.
	End string `json:"end"`
}

// Send is the output of tcp-send. Received is the sink's answer, nil when the connection was not closed in order.
type Send struct {
	Stream
	Received *Stream `json:"received,omitempty"`
}

// Sink is the output of tcp-sink.
type Sink struct {
	Connections []Stream `json:"connections"`
}

// Latency are round-trip times in microseconds.
type Latency struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
}

// Ping is the output of udp-ping. Received counts a packet once, Lost is the rest of Sent.
type Ping struct {
	Local      string  `json:"local"`
	Remote     string  `json:"remote"`
	Sent       int     `json:"sent"`
	Received   int     `json:"received"`
	Lost       int     `json:"lost"`
	Duplicated int     `json:"duplicated"`
	Reordered  int     `json:"reordered"`
	Corrupted  int     `json:"corrupted"`
	SendErrors int     `json:"sendErrors"`
	RTT        Latency `json:"rttMicroseconds"`
	// LongestGapMs is the longest time between two replies, FirstLost and LastLost are sequence numbers, -1 if none was
	// lost. GapBegan is the time of the last reply before that gap, in nanoseconds since 1970; 0 if there is none.
	LongestGapMs float64 `json:"longestGapMs"`
	GapBegan     int64   `json:"gapBegan"`
	FirstLost    int     `json:"firstLost"`
	LastLost     int     `json:"lastLost"`
	// Losses are the runs of lost requests, in order; the last ones are left out when there are more than 100.
	Losses []Loss `json:"losses,omitempty"`
}

// Loss is a run of requests without a reply. First is the number of the first, Began when it was sent and Ended when the last was sent, both in
// nanoseconds since 1970.
type Loss struct {
	First int   `json:"first"`
	Lost  int   `json:"lost"`
	Began int64 `json:"began"`
	Ended int64 `json:"ended"`
}

// RR is the output of rr.
type RR struct {
	Transactions int     `json:"transactions"`
	Lost         int     `json:"lost"`
	PerSecond    float64 `json:"perSecond"`
	RTT          Latency `json:"rttMicroseconds"`
}

// Load is the output of load. RTT counts from when a request was due, not from when it was sent.
type Load struct {
	Sent      int     `json:"sent"`
	Lost      int     `json:"lost"`
	PerSecond float64 `json:"perSecond"`
	RTT       Latency `json:"rttMicroseconds"`
}

// Echo is the output of tcp-echo and udp-echo.
type Echo struct {
	// Packets are datagrams, or reads of a TCP connection.
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
}

// Sent is the output of send-raw.
type Sent struct {
	Frames int `json:"frames"`
}

// Capture is the output of capture.
type Capture struct {
	// Matched counts all packets that passed the filter; Packets has the first of them.
	Matched int      `json:"matched"`
	Packets []Packet `json:"packets"`
}

// Packet has the headers of one captured packet. For IPv6, TTL is the hop limit, TOS the traffic class, ID the lower 16
// bits of the flow label, and OptionBytes the length of extension headers.
type Packet struct {
	SourceMAC      string `json:"sourceMAC"`
	DestinationMAC string `json:"destinationMAC"`
	Source         string `json:"source"`
	Destination    string `json:"destination"`
	Protocol       uint8  `json:"protocol"`
	TTL            uint8  `json:"ttl"`
	TOS            uint8  `json:"tos"`
	ID             uint16 `json:"id"`
	// FragmentOffset is in bytes.
	FragmentOffset int  `json:"fragmentOffset,omitempty"`
	MoreFragments  bool `json:"moreFragments,omitempty"`
	OptionBytes    int  `json:"optionBytes,omitempty"`
	// Length is the length of the IP packet.
	Length int `json:"length"`
	// Ports, TCP flags (a subset of "FSRPAUEC") and sequence number belong to an unfragmented packet or first fragment.
	SourcePort      uint16 `json:"sourcePort,omitempty"`
	DestinationPort uint16 `json:"destinationPort,omitempty"`
	TCPFlags        string `json:"tcpFlags,omitempty"`
	Sequence        uint32 `json:"sequence,omitempty"`
}
