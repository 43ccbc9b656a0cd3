// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"
)

// FlowStats is a flow with its counters.
type FlowStats struct {
	Flow Flow
	Counters
	Age time.Duration
}

// maxDumpParts bounds the multipart replies to one dump: 64 MiB.
const maxDumpParts = 1024

// multipartBody returns the body of a multipart reply of the given type.
func multipartBody(m message, typ uint16) ([]byte, error) {
	if m.typ != typeMultipartReply || len(m.body) < multipartHeaderSize || binary.BigEndian.Uint16(m.body) != typ {
		return nil, fmt.Errorf("message of type %d and %d bytes is not a multipart reply of type %d", m.typ, len(m.body), typ)
	}
	return m.body[multipartHeaderSize:], nil
}

// dump requests the multipart type typ and returns the elements that parse finds in the replies.
func dump[T any](ctx context.Context, c *conn, what string, typ uint16, body []byte, parse func(message) ([]T, error)) ([]T, error) {
	replies, err := c.request(ctx, maxDumpParts, func(b []byte, xid uint32) []byte { return appendMultipart(b, c.version, xid, typ, body) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	var all []T
	for _, m := range replies {
		part, err := parse(m)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		all = append(all, part...)
	}
	return all, nil
}

// forID is the body of requests for one group or meter, or for all.
func forID(id uint32) []byte { return binary.BigEndian.AppendUint32(nil, id) }

func (c *conn) groups(ctx context.Context) ([]GroupEntry, error) {
	return dump(ctx, c, "group description", multipartGroupDesc, append(forID(groupIDAll), 0, 0, 0, 0)[:c.groupDescBody()], parseGroupDescs)
}

// groupDescBody is the size of the body of an OFPMP_GROUP_DESC request, which names a group since OpenFlow 1.5 only.
func (c *conn) groupDescBody() int {
	if c.version == version13 {
		return 0
	}
	return 8
}

func (c *conn) groupStats(ctx context.Context) ([]GroupStats, error) {
	return dump(ctx, c, "group statistics", multipartGroup, append(forID(groupIDAll), 0, 0, 0, 0), parseGroupStats)
}

func (c *conn) meters(ctx context.Context) ([]MeterEntry, error) {
	return dump(ctx, c, "meter configuration", multipartMeterConfig, append(forID(meterAll), 0, 0, 0, 0), parseMeterConfigs)
}

func (c *conn) meterStats(ctx context.Context) ([]MeterStats, error) {
	return dump(ctx, c, "meter statistics", multipartMeter, append(forID(meterAll), 0, 0, 0, 0), parseMeterStats)
}

func (c *conn) meterFeatures(ctx context.Context) (MeterFeatures, error) {
	all, err := dump(ctx, c, "meter features", multipartMeterFeatures, nil, func(m message) ([]MeterFeatures, error) {
		f, err := parseMeterFeatures(m)
		return []MeterFeatures{f}, err
	})
	if err != nil || len(all) == 0 {
		return MeterFeatures{}, err
	}
	return all[0], nil
}

// tableFlowCounts asks for OFPMP_TABLE.
func (c *conn) tableFlowCounts(ctx context.Context) (map[uint8]int, error) {
	replies, err := c.request(ctx, maxParts, func(b []byte, xid uint32) []byte { return appendMultipart(b, c.version, xid, multipartTable, nil) })
	if err != nil {
		return nil, fmt.Errorf("table statistics: %w", err)
	}
	counts := map[uint8]int{}
	for _, m := range replies {
		if err := parseTableStats(m, counts); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// flows returns the flows of table, of all tables with tableAll.
func (c *conn) flows(ctx context.Context, table uint8) ([]FlowStats, error) {
	body := []byte{table, 0, 0, 0}
	body = binary.BigEndian.AppendUint32(body, portAny)
	body = binary.BigEndian.AppendUint32(body, groupAny)
	body = append(body, make([]byte, 4+8+8)...)
	return dump(ctx, c, "flow statistics", multipartFlow, appendMatch(body, nil), parseFlowStats)
}

// parseFlowStats decodes the flows of one OFPMP_FLOW reply.
func parseFlowStats(m message) ([]FlowStats, error) {
	b, err := multipartBody(m, multipartFlow)
	if err != nil {
		return nil, err
	}
	parse, headerSize := parseFlow13, 48
	if m.version != version13 {
		parse, headerSize = parseFlow15, 24
	}
	var flows []FlowStats
	for len(b) > 0 {
		if len(b) < headerSize {
			return nil, fmt.Errorf("flow of %d bytes: want at least %d", len(b), headerSize)
		}
		n := int(binary.BigEndian.Uint16(b))
		if n < headerSize || n > len(b) {
			return nil, fmt.Errorf("flow of length %d: want %d..%d", n, headerSize, len(b))
		}
		f, err := parse(b[:n])
		if err != nil {
			return nil, fmt.Errorf("flow %s: %w", f.Flow.Key(), err)
		}
		flows = append(flows, f)
		b = b[n:]
	}
	return flows, nil
}

// parseFlow13 decodes an ofp_flow_stats of at least 48 bytes (OpenFlow 1.3, section 7.3.5.2).
func parseFlow13(b []byte) (FlowStats, error) {
	s := FlowStats{Age: parseAge(b[4:]), Counters: parseCounters(b[32:]), Flow: Flow{
		Table: b[2], Priority: binary.BigEndian.Uint16(b[12:]), IdleTimeout: binary.BigEndian.Uint16(b[14:]),
		HardTimeout: binary.BigEndian.Uint16(b[16:]), Cookie: binary.BigEndian.Uint64(b[24:]),
	}}
	rest, err := s.parseMatch(b[48:])
	if err != nil {
		return s, err
	}
	s.Flow.Actions, err = parseInstructions(rest)
	return s, err
}

// Fields of ofp_stats (OpenFlow 1.5, section 7.2.4.2): number << 9 | length under the class OFPXSC_OPENFLOW_BASIC.
const (
	oxsClass    = 0x8002
	oxsDuration = oxsClass<<16 | 0<<9 | 8
	oxsPackets  = oxsClass<<16 | 4<<9 | 8
	oxsBytes    = oxsClass<<16 | 5<<9 | 8
)

// parseFlow15 decodes an ofp_flow_desc of at least 24 bytes (OpenFlow 1.5, section 7.3.5.2).
func parseFlow15(b []byte) (FlowStats, error) {
	s := FlowStats{Flow: Flow{
		Table: b[4], Priority: binary.BigEndian.Uint16(b[6:]), IdleTimeout: binary.BigEndian.Uint16(b[8:]),
		HardTimeout: binary.BigEndian.Uint16(b[10:]), Cookie: binary.BigEndian.Uint64(b[16:]),
	}}
	rest, err := s.parseMatch(b[24:])
	if err != nil {
		return s, err
	}
	_, stats, rest, err := cutTLV(rest, 4)
	if err != nil {
		return s, fmt.Errorf("statistics: %w", err)
	}
	for stats = stats[4:]; len(stats) > 0; {
		// Statistics are encoded as fields of a match are.
		field, err := cutOXM(stats)
		if err != nil {
			return s, fmt.Errorf("statistics: %w", err)
		}
		switch field.header {
		case oxsDuration:
			s.Age = parseAge(field.value)
		case oxsPackets:
			s.Packets = binary.BigEndian.Uint64(field.value)
		case oxsBytes:
			s.Bytes = binary.BigEndian.Uint64(field.value)
		}
		stats = stats[field.size:]
	}
	s.Flow.Actions, err = parseInstructions(rest)
	return s, err
}

// parseMatch decodes the match at the start of b and returns what follows. A match with a field that this package does not know
// is refused, because the flow without the field would be a different one.
func (s *FlowStats) parseMatch(b []byte) ([]byte, error) {
	matches, unknown, rest, err := cutMatch(b)
	if err == nil && unknown > 0 {
		err = fmt.Errorf("%d unknown fields in the match", unknown)
	}
	s.Flow.Match = matches
	return rest, err
}

// parseGroupStats decodes the counters of one OFPMP_GROUP reply.
func parseGroupStats(m message) ([]GroupStats, error) {
	b, err := multipartBody(m, multipartGroup)
	if err != nil {
		return nil, err
	}
	var stats []GroupStats
	for len(b) > 0 {
		const headerSize = 40
		if len(b) < headerSize {
			return nil, fmt.Errorf("group statistics of %d bytes: want at least %d", len(b), headerSize)
		}
		n := int(binary.BigEndian.Uint16(b))
		if n < headerSize || n > len(b) {
			return nil, fmt.Errorf("group statistics of the length %d: want %d..%d", n, headerSize, len(b))
		}
		s := GroupStats{ID: binary.BigEndian.Uint32(b[4:]), References: binary.BigEndian.Uint32(b[8:]),
			Counters: parseCounters(b[16:]), Age: parseAge(b[32:])}
		const bucketSize = 16
		for buckets := b[headerSize:n]; len(buckets) >= bucketSize; buckets = buckets[bucketSize:] {
			s.Buckets = append(s.Buckets, parseCounters(buckets))
		}
		stats = append(stats, s)
		b = b[n:]
	}
	return stats, nil
}
