// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tracking

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
)

// Timeouts are the kernel's, of TCP connections that are idle
// (Documentation/networking/nf_conntrack-sysctl.rst of Linux).
type Timeouts struct {
	// Unacknowledged is for connections with data that is not acknowledged, and Retransmitted for those whose last window was
	// 0, if they are shorter than that of the connection's state.
	Unacknowledged, Retransmitted time.Duration
	// Open are those of the states in which there may be data, Ended those of the ones behind them, and of
	// those that a new connection with the same addresses begins in.
	Open, Ended map[conntrack.State]time.Duration
	// Shortest is the shortest one of a state in which packets still flow, UDP's included: what a lease must not outlast.
	Shortest time.Duration
}

// SysctlPath is where the kernel's timeouts are, of the reader's network namespace.
const SysctlPath = "/proc/sys/net/netfilter"

// ReadTimeouts reads them.
func ReadTimeouts(path string) (t Timeouts, err error) {
	read := func(name string) time.Duration {
		file := filepath.Join(path, "nf_conntrack_"+name)
		text, readErr := os.ReadFile(file)
		seconds := 0
		if readErr == nil {
			seconds, readErr = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		if readErr != nil && err == nil {
			err = fmt.Errorf("read conntrack's timeout %s: %w", file, readErr)
		}
		return time.Duration(seconds) * time.Second
	}
	t = Timeouts{
		Unacknowledged: read("tcp_timeout_unacknowledged"),
		Retransmitted:  read("tcp_timeout_max_retrans"),
		Open: map[conntrack.State]time.Duration{
			conntrack.StateEstablished: read("tcp_timeout_established"),
			conntrack.StateFinWait:     read("tcp_timeout_fin_wait"),
			conntrack.StateCloseWait:   read("tcp_timeout_close_wait"),
		},
		Ended: map[conntrack.State]time.Duration{
			// The kernel has no sysctl for the second one, of simultaneous opens.
			conntrack.StateSynSent:     read("tcp_timeout_syn_sent"),
			conntrack.StateSynSent2:    read("tcp_timeout_syn_sent"),
			conntrack.StateSynReceived: read("tcp_timeout_syn_recv"),
			conntrack.StateLastAck:     read("tcp_timeout_last_ack"),
			conntrack.StateTimeWait:    read("tcp_timeout_time_wait"),
			conntrack.StateClose:       read("tcp_timeout_close"),
		},
	}
	t.Shortest = min(t.Unacknowledged, t.Retransmitted, read("udp_timeout"), read("udp_timeout_stream"))
	for _, timeout := range t.Open {
		t.Shortest = min(t.Shortest, timeout)
	}
	return t, err
}

// of is the timeout of a state, for connections with nothing special about them.
func (t *Timeouts) of(state conntrack.State) (timeout time.Duration, known bool) {
	if timeout, known = t.Open[state]; known {
		return timeout, true
	}
	timeout, known = t.Ended[state]
	return timeout, known
}

// age is how long ago an entry was refreshed that has left left, and whose state has the timeout full: which timeout it was given
// then shows in what is left, as long as that is more than the special ones.
func (t *Timeouts) age(full, left time.Duration) time.Duration {
	short := min(full, max(t.Unacknowledged, t.Retransmitted))
	if left > short {
		return full - left
	}
	return short - left
}
