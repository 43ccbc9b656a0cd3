// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"bytes"
	"context"
	"encoding/binary"
	hexadecimal "encoding/hex"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// messagesFile has messages that Open vSwitch sent, one in hexadecimal on each line, for the fuzz tests to start from.
const messagesFile = "testdata/messages.txt"

var recordMessages = flag.Bool("record-messages", false, "write what TestMessagesOfOVS receives into "+messagesFile)

// recorder records what is read from connections.
type recorder struct {
	mu      sync.Mutex
	streams []*bytes.Buffer
}

type recordedConn struct {
	net.Conn
	r      *recorder
	stream *bytes.Buffer
}

func (c *recordedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	c.stream.Write(b[:n])
	return n, err
}

func (r *recorder) open(path string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		c, err := openUnix(path)(ctx)
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		stream := &bytes.Buffer{}
		r.streams = append(r.streams, stream)
		return &recordedConn{Conn: c, r: r, stream: stream}, nil
	}
}

// messages returns the longest message of each kind: version, type and, for some types, the beginning of the body.
func (r *recorder) messages(t *testing.T) map[string][]byte {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string][]byte{}
	for _, stream := range r.streams {
		for b := stream.Bytes(); len(b) >= headerSize; {
			n := int(binary.BigEndian.Uint16(b[2:]))
			require.LessOrEqual(t, n, len(b))
			kind := fmt.Sprintf("version %d type %d", b[0], b[1])
			switch {
			case b[1] == typeMultipartReply, b[1] == typeError:
				kind += fmt.Sprintf(" %x", b[headerSize:headerSize+2])
			case b[1] == typeExperimenter:
				kind += fmt.Sprintf(" %x", b[headerSize:headerSize+8])
			}
			if n > len(all[kind]) {
				all[kind] = b[:n]
			}
			b = b[n:]
		}
	}
	return all
}

// recordedMessages are the messages in messagesFile.
func recordedMessages(f testing.TB) [][]byte {
	f.Helper()
	text, err := os.ReadFile(messagesFile)
	require.NoError(f, err)
	var messages [][]byte
	for line := range strings.Lines(string(text)) {
		m, err := hexadecimal.DecodeString(strings.TrimSpace(line))
		require.NoError(f, err)
		messages = append(messages, m)
	}
	return messages
}

// TestMessagesOfOVS makes Open vSwitch send every kind of message that this package reads. All are decoded, and
// messagesFile lists the same kinds.
func TestMessagesOfOVS(t *testing.T) {
	ovs, _, _ := connectOVS(t)
	r := &recorder{}
	for _, v := range []version{version13, version15} {
		s := newClient("test", dialer{open: r.open(ovs.MgmtSocket(testBridge)), echoInterval: echoInterval, version: v})
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		_, err := s.Connect(t.Context())
		require.NoError(t, err)
		talk(t, s, v)
	}
	messages := r.messages(t)
	for kind, b := range messages {
		m, err := readMessage(bytes.NewReader(b))
		require.NoError(t, err)
		require.NoError(t, understand(m), kind)
	}
	kinds := slices.Sorted(maps.Keys(messages))
	if *recordMessages {
		var text strings.Builder
		for _, kind := range kinds {
			fmt.Fprintf(&text, "%x\n", messages[kind])
		}
		require.NoError(t, os.WriteFile(messagesFile, []byte(text.String()), 0o644))
	}
	recorded := &recorder{streams: []*bytes.Buffer{bytes.NewBuffer(bytes.Join(recordedMessages(t), nil))}}
	require.Equal(t, slices.Sorted(maps.Keys(recorded.messages(t))), kinds, "go test -run TestMessagesOfOVS -args -record-messages writes them")
}

// talk makes every kind of request.
func talk(t *testing.T, s Switch, v version) {
	t.Helper()
	ctx := t.Context()
	packets := subscribe(t, s, 8, 10)
	var flows []Flow
	for i, m := range everyMatch {
		flows = append(flows, Flow{Table: 20, Priority: uint16(i), Match: m.match})
	}
	for i, a := range everyAction {
		flows = append(flows, Flow{Table: 21, Priority: uint16(i), Match: a.match, Actions: a.actions})
	}
	flows = append(flows, to(50, LoadField{reg(0), all, 5}, Controller{ID: 8, UserData: []byte{1, 2}, Pause: true}))
	tr := Transaction{Meters: meterMods(MeterAdd, meter(7, 10)), Groups: groupMods(GroupAdd, everyGroup[0].group, group(5)), Flows: adds(flows...)}
	if v == version15 {
		tr.Groups = append(tr.Groups, groupMods(GroupAdd, GroupEntry{ID: 9, Type: GroupSelect, Selection: &selections[1].selection})...)
		tr.Groups = append(tr.Groups, GroupMod{Command: GroupDeleteAll})
		tr.Meters = append(tr.Meters, MeterMod{Command: MeterDeleteAll})
	}
	require.NoError(t, s.Apply(ctx, tr))
	require.Error(t, s.Apply(ctx, Transaction{Flows: adds(to(1, Group{99}))}))
	require.Error(t, s.Apply(ctx, Transaction{Meters: meterMods(MeterAdd, meter(7, 10))}))
	require.Error(t, s.Apply(ctx, Transaction{Groups: groupMods(GroupModify, group(99))}))
	require.NoError(t, s.PacketOut(ctx, PacketOut{Data: tcpPacket(t, 1), Actions: []Action{Resubmit{50}}}))
	require.NoError(t, s.Resume(ctx, next(t, packets)))
	_, err := s.DumpFlows(ctx, tableAll)
	require.NoError(t, err)
	_, err = s.TableFlowCounts(ctx)
	require.NoError(t, err)
	_, err = s.DumpGroups(ctx)
	require.NoError(t, err)
	_, err = s.DumpGroupStats(ctx)
	require.NoError(t, err)
	_, err = s.DumpMeters(ctx)
	require.NoError(t, err)
	_, err = s.DumpMeterStats(ctx)
	require.NoError(t, err)
	_, err = s.MeterFeatures(ctx)
	require.NoError(t, err)
}

// understand passes m to its parser, and the result to the encoder.
func understand(m message) error {
	var err error
	switch m.typ {
	case typeHello:
		return checkHello(m, m.version)
	case typeError:
		_ = parseError(m.body).Error()
	case typeMultipartReply:
		return understandMultipart(m)
	case typeExperimenter, typeBundleControl:
		if !isPacketIn(m) {
			parseBundleReply(m)
			return nil
		}
		var p *PacketIn
		if p, err = parsePacketIn(m); err != nil {
			return err
		}
		p.InPort()
		p.Reg(0)
		if p.Paused() {
			_, err = encodeResume(p, []Match{Reg(1, all, 5)}, m.version, 1)
		}
	}
	return err
}

func understandMultipart(m message) error {
	if len(m.body) < multipartHeaderSize {
		return fmt.Errorf("%d bytes", len(m.body))
	}
	var err error
	switch binary.BigEndian.Uint16(m.body) {
	case multipartTable:
		return parseTableStats(m, map[uint8]int{})
	case multipartGroup:
		_, err = parseGroupStats(m)
	case multipartMeter:
		_, err = parseMeterStats(m)
	case multipartMeterConfig:
		_, err = parseMeterConfigs(m)
	case multipartMeterFeatures:
		_, err = parseMeterFeatures(m)
	case multipartFlow:
		flows, err := parseFlowStats(m)
		for _, f := range flows {
			_ = f.Flow.String()
			if _, encodeErr := encodeFlowMod(&FlowMod{Flow: f.Flow}, m.version, 1); encodeErr != nil && err == nil {
				err = encodeErr
			}
		}
		return err
	case multipartGroupDesc:
		groups, err := parseGroupDescs(m)
		for _, g := range groups {
			_ = g.String()
			if _, encodeErr := encodeGroupMod(&GroupMod{Group: g}, m.version, 1); encodeErr != nil && err == nil {
				err = encodeErr
			}
		}
		return err
	}
	return err
}
