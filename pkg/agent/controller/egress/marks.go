// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

const (
	// maxMark is the highest mark, and the number of Egress addresses that a Node can have. The next one is config.ServiceMark.
	maxMark = config.ServiceMark - 1
	// markRest is the time for which a mark that was given up is not given to another address: for up to 1.2 s (measured), Open vSwitch's
	// datapath continues to set it.
	markRest = 5 * time.Second
)

// marks gives addresses marks: the smallest that was never used, then the one that was given up first.
type marks struct {
	byAddr map[netip.Addr]uint8
	used   [maxMark + 1]bool
	given  []givenUp
}

type givenUp struct {
	mark uint8
	at   time.Time
}

// newMarks returns marks of which a former agent has used some.
func newMarks(former map[uint8]config.EgressMark) *marks {
	m := &marks{byAddr: map[netip.Addr]uint8{}}
	for mark, meaning := range former {
		m.used[mark], m.byAddr[meaning.Addr] = true, mark
	}
	return m
}

// take returns the mark of an address, a new one if it has none.
func (m *marks) take(addr netip.Addr, now time.Time) (uint8, error) {
	if mark, ok := m.byAddr[addr]; ok {
		return mark, nil
	}
	mark := 1
	for mark <= maxMark && m.used[mark] {
		mark++
	}
	if mark > maxMark {
		if len(m.given) == 0 || now.Sub(m.given[0].at) < markRest {
			return 0, fmt.Errorf("the Node has %d Egress addresses, or had them in the last %v: it cannot have more", maxMark, markRest)
		}
		mark, m.given = int(m.given[0].mark), m.given[1:]
	}
	m.used[mark], m.byAddr[addr] = true, uint8(mark)
	return uint8(mark), nil
}

// giveUp frees the mark of an address that no rule and no flow has any more.
func (m *marks) giveUp(addr netip.Addr, now time.Time) {
	if mark, ok := m.byAddr[addr]; ok {
		delete(m.byAddr, addr)
		m.given = append(m.given, givenUp{mark, now})
	}
}
