// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openings

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

// Word is the state of an untracked connection, which programs and agent change with atomic operations only. The high 32 bits are the sequence
// number of its SYN: without it, a later connection with the same ports could return to the word that an agent compares with, and
// would get the label of the former one.
type Word uint64

// Bits of a word. 0 is a connection that is not in the map.
const (
	There    Word = 1 << iota
	Gone          // its segments are Open vSwitch's
	Answered      // a SYN-ACK has passed
	OpenerFIN
	AnswererFIN
	Closed // by acknowledged FINs, or a RST
	Noted  // conntrack may have an entry
	New    // its SYN has not looked since then for a bar: a note that Open vSwitch has seen a SYN of these ports
)

const bothFINs = OpenerFIN | AnswererFIN

func (w Word) live() bool { return w&There != 0 && w&Gone == 0 }

// promoted reports whether conntrack gets an entry: a closed connection needs none, and one without an answer has to begin again.
func (w Word) promoted() bool { return w&Answered != 0 && w&Closed == 0 }

// Connection is an untracked connection as Open vSwitch would have entered it. Programs write it before they clear New.
type Connection struct {
	Zone uint16
	// Original is the direction of the opener.
	Original conntrack.Tuple
	// Mark and Labels are copies from the connection that taught the opening.
	Mark   uint32
	Labels [2]uint64
}

// Untracked is the entry of one 5-tuple in the map of untracked connections.
type Untracked interface {
	// Note sets Noted in a live word that satisfies promoted, and returns the word after that, with what the entry then contains.
	Note(promoted func(Word) bool) (Word, Connection, error)
	// Swap makes the word next if it is old, and reports whether it was.
	Swap(old, next Word) (bool, error)
}

// Table is conntrack.
type Table interface {
	Get(zone uint16, tuple conntrack.Tuple) (*conntrack.Connection, error)
	Create(conntrack.Entry) error
	Remove(zone uint16, tuple conntrack.Tuple) (found bool, err error)
}

// Promoter promotes connections. It is for one goroutine at a time.
type Promoter struct {
	Table Table
	// Timeout returns the kernel's timeout of a state, in whole seconds.
	Timeout func(conntrack.State) time.Duration
}

// attempts bounds how often an entry that is in the way is removed, and how often the word may change: it changes at most once for each
// of its bits, except that a SYN may begin the connection again.
const attempts = 32

// Promote makes conntrack agree with the entry and then gives the connection's segments to Open vSwitch, in an order that loses none. After an
// error the segments stay on the fast path, and it may be called again; a SYN that would go to Open vSwitch is held back until it succeeds.
func (p *Promoter) Promote(u Untracked) error {
	var c Connection
	for range attempts {
		var word Word
		var err error
		word, c, err = u.Note(Word.promoted)
		if err != nil || !word.live() {
			return err
		}
		if err := p.agree(&c, word); err != nil {
			return err
		}
		if swapped, err := u.Swap(word, word|Gone); swapped || err != nil {
			return err
		}
	}
	return fmt.Errorf("promote connection %+v: its state has changed %d times", c.Original, attempts)
}

// agree makes conntrack's entry follow the word. Only the agent changes the entry while the word is live, except for packets that were
// refused by the fast path, whose entry is replaced.
func (p *Promoter) agree(c *Connection, word Word) error {
	if !word.promoted() {
		if word&Noted == 0 {
			return nil
		}
		_, err := p.Table.Remove(c.Zone, c.Original)
		return err
	}
	entry := c.entry(word)
	entry.Timeout = max(p.Timeout(entry.State), time.Second)
	for range attempts {
		err := p.Table.Create(entry)
		if err == nil {
			return p.verify(&entry)
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		// Left by a former connection, or by an earlier attempt, or made by the answerer's segment.
		if err := p.remove(c); err != nil {
			return err
		}
	}
	return fmt.Errorf("promote connection %+v: entries in its way come back", c.Original)
}

// remove removes what packets of either direction belong to: two entries, if addresses of another connection are translated to these.
func (p *Promoter) remove(c *Connection) error {
	for _, tuple := range []conntrack.Tuple{c.Original, c.Original.Reversed()} {
		if _, err := p.Table.Remove(c.Zone, tuple); err != nil {
			return err
		}
	}
	return nil
}

// verify removes an entry whose label the kernel has dropped: it would be counted for no rule, and a cut could miss it.
func (p *Promoter) verify(e *conntrack.Entry) error {
	c, err := p.Table.Get(e.Zone, e.Original)
	if err != nil {
		return err
	}
	if c != nil && c.Labels == e.Labels && c.Mark == e.Mark && c.Original == e.Original {
		return nil
	}
	_, err = p.Table.Remove(e.Zone, e.Original)
	return errors.Join(fmt.Errorf("promote connection %+v with label %x and mark %#x: conntrack has entered %+v", e.Original, e.Labels, e.Mark, c), err)
}

// entry returns what conntrack would have if it had seen the segments that the word tells about. Windows are unknown: without FlagLiberal
// the kernel would take the windows of the next segments unscaled.
func (c *Connection) entry(word Word) conntrack.Entry {
	e := conntrack.Entry{
		Zone: c.Zone, Original: c.Original, Mark: c.Mark, Labels: c.Labels, State: conntrack.StateEstablished,
		Flags: [2]conntrack.Flags{conntrack.FlagSACKPermitted | conntrack.FlagLiberal, conntrack.FlagSACKPermitted | conntrack.FlagLiberal},
	}
	if word&bothFINs == 0 {
		return e
	}
	e.State = conntrack.StateCloseWait
	if word&bothFINs == bothFINs {
		e.State = conntrack.StateLastAck
	}
	// Otherwise the kernel takes a SYN after the end for a segment of this connection, and no rule judges it.
	for direction, fin := range []Word{OpenerFIN, AnswererFIN} {
		if word&fin != 0 {
			e.Flags[direction] |= conntrack.FlagCloseInit
		}
	}
	return e
}
