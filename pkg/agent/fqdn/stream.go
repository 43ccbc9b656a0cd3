// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"container/list"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// Bounds of the streams that are put together: all, and of one Pod. The least recently used one is forgotten.
const (
	maxStreams    = 1024
	maxPodStreams = 64
	// maxEarly is the number of bytes that a stream keeps from behind a gap. Each segment counts as segmentCost more, so that a server that sends
	// single bytes cannot make the agent keep, and look through, very many.
	maxEarly, segmentCost = 1 << 17, 256
)

// streamKey identifies a TCP connection of a Pod with its DNS server.
type streamKey struct {
	asker            Asker
	server, resolver netip.AddrPort
}

// stream is the data that a Pod receives from a server. A message ends with the segment that fills its last gap, so only this segment is
// held: without it the Pod cannot read the message.
type stream struct {
	key streamKey
	// next is the sequence number behind buffer, which begins with the length of a message.
	next   uint32
	buffer []byte
	early  map[uint32][]byte
	kept   int
	// broken is set when the messages can no longer be told apart.
	broken error
	// need contains the versions that all further segments wait for.
	need    need
	element *list.Element
}

type streams struct {
	byKey map[streamKey]*stream
	used  *list.List
	// ofPod counts the streams of each Pod.
	ofPod map[Asker]int
}

func newStreams() *streams {
	return &streams{byKey: map[streamKey]*stream{}, used: list.New(), ofPod: map[Asker]int{}}
}

// of returns the stream, a new one if it is not known.
func (s *streams) of(key streamKey) (st *stream, known bool) {
	if st, known = s.byKey[key]; known {
		s.used.MoveToBack(st.element)
		return st, true
	}
	if s.ofPod[key.asker] >= maxPodStreams {
		s.forgetOldest(func(k streamKey) bool { return k.asker == key.asker })
	} else if len(s.byKey) >= maxStreams {
		s.forgetOldest(func(streamKey) bool { return true })
	}
	st = &stream{key: key, early: map[uint32][]byte{}, need: need{}}
	st.element = s.used.PushBack(st)
	s.byKey[key] = st
	s.ofPod[key.asker]++
	return st, false
}

func (s *streams) forgetOldest(is func(streamKey) bool) {
	for e := s.used.Front(); e != nil; e = e.Next() {
		if key := e.Value.(*stream).key; is(key) {
			s.forget(key)
			return
		}
	}
}

func (s *streams) forget(key streamKey) {
	st, known := s.byKey[key]
	if !known {
		return
	}
	s.used.Remove(st.element)
	delete(s.byKey, key)
	if s.ofPod[key.asker]--; s.ofPod[key.asker] == 0 {
		delete(s.ofPod, key.asker)
	}
}

// Flags of TCP (RFC 9293, section 3.1).
const flagSYN, flagRST = 1 << 1, 1 << 2

var errUnknownStream = errors.New("segment of a connection whose beginning was not seen: no message begins with it")

// segment enters a TCP segment, from its TCP header on, and returns the messages that it completes, without their lengths. After an error
// the segment must not pass.
func (s *streams) segment(key streamKey, tcp []byte) (st *stream, messages [][]byte, err error) {
	if len(tcp) < 20 || int(tcp[12]>>4)*4 < 20 || int(tcp[12]>>4)*4 > len(tcp) {
		return nil, nil, fmt.Errorf("TCP segment of %d bytes with a damaged header", len(tcp))
	}
	seq, flags, data := binary.BigEndian.Uint32(tcp[4:]), tcp[13], tcp[int(tcp[12]>>4)*4:]
	if flags&flagRST != 0 {
		s.forget(key)
		return nil, nil, nil
	}
	if flags&flagSYN != 0 {
		s.forget(key)
	} else if len(data) == 0 {
		return s.byKey[key], nil, nil
	}
	st, known := s.of(key)
	switch {
	case flags&flagSYN != 0:
		st.next = seq + 1
		seq++
	case !known && !beginsMessage(data):
		st.broken = errUnknownStream
	case !known:
		st.next = seq
	}
	if st.broken != nil {
		return st, nil, st.broken
	}
	messages, st.broken = st.enter(seq, data)
	return st, messages, st.broken
}

// beginsMessage reports whether data begins with a length and the header of an answer.
func beginsMessage(data []byte) bool {
	const header = 12
	if len(data) < 2+header || int(binary.BigEndian.Uint16(data)) < header {
		return false
	}
	const response, opcode = 0x80, 0x78
	return data[4]&response != 0 && data[4]&opcode == 0 && binary.BigEndian.Uint16(data[6:]) == 1 // one question
}

func (st *stream) enter(seq uint32, data []byte) (messages [][]byte, err error) {
	switch ahead := int32(seq - st.next); {
	case ahead > 0:
		old, known := st.early[seq]
		if known && len(old) >= len(data) {
			return nil, nil
		}
		if known {
			st.kept -= len(old) + segmentCost
		}
		if st.kept += len(data) + segmentCost; st.kept > maxEarly {
			return nil, fmt.Errorf("more than %d bytes behind a gap, with %d added for each segment", maxEarly, segmentCost)
		}
		st.early[seq] = append([]byte(nil), data...)
		return nil, nil
	case ahead < 0:
		if len(data) <= int(-ahead) {
			return nil, nil // A repetition.
		}
		data = data[-ahead:]
	}
	st.append(data)
	for again := true; again; {
		again = false
		for seq, data := range st.early {
			if behind := int32(st.next - seq); behind >= 0 {
				delete(st.early, seq)
				st.kept -= len(data) + segmentCost
				if int(behind) < len(data) {
					st.append(data[behind:])
					again = true
				}
			}
		}
	}
	return st.cut()
}

func (st *stream) append(data []byte) {
	st.buffer = append(st.buffer, data...)
	st.next += uint32(len(data))
}

// cut removes the complete messages from the buffer.
func (st *stream) cut() (messages [][]byte, err error) {
	for len(st.buffer) >= 2 {
		size := int(binary.BigEndian.Uint16(st.buffer))
		if size == 0 {
			return nil, errors.New("message of 0 bytes")
		}
		if len(st.buffer) < 2+size {
			break
		}
		messages = append(messages, st.buffer[2:2+size])
		st.buffer = st.buffer[2+size:]
	}
	st.buffer = append([]byte(nil), st.buffer...)
	return messages, nil
}
