// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

// An answer that fits the MTU is resumed, a larger one is sent in fragments, and one that would need many messages to the switch is dropped.
func TestSizesOfAnswers(t *testing.T) {
	w := newWorld(t, "")
	defer w.run()()
	w.declare("*.test")
	sized := func(size int) []byte {
		answer := message(t, "a.test.", dnsmessage.TypeA, record{"10.0.0.1", 60})
		return datagram(t, slices.Concat(answer, make([]byte, size-20-8-len(answer))))
	}
	w.packet(sized(1450))
	w.requireResumed(1)
	for _, c := range []struct{ size, fragments int }{{1451, 2}, {maxAnswer, 2 + 6}} {
		w.packet(sized(c.size))
		require.Eventually(t, func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.fragments == c.fragments }, 10*time.Second, time.Millisecond)
	}
	w.packet(sized(maxAnswer + 1))
	require.Eventually(t, func() bool { return w.droppedFor(droppedDamaged) == 1 }, 10*time.Second, time.Millisecond)
	w.requireResumed(1)
}
