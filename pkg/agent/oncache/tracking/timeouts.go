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

// Timeouts are the kernel's timeouts for idle TCP connections (Documentation/networking/nf_conntrack-sysctl.rst of Linux).
type Timeouts struct {
	// Unacknowledged applies to connections with unacknowledged data, Retransmitted to connections whose last window was 0, each if it is
	// shorter than the timeout of the connection's state.
	Unacknowledged, Retransmitted time.Duration
	// Open maps the states in which there may be data to their timeouts; Ended the later states, and the states in which a new connection
	// with the same addresses begins.
	Open, Ended map[conntrack.State]time.Duration
	// Shortest is the shortest timeout of a state in which packets still flow, including UDP's. A lease must not outlast
	// it.
	Shortest time.Duration
}

// SysctlPath has the kernel's timeouts of the reader's network namespace.
const SysctlPath = "/proc/sys/net/netfilter"

// ReadTimeouts reads the timeouts from a directory such as SysctlPath.
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
			// The kernel has no sysctl for the second SYN_SENT state, of simultaneous opens.
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

// of returns the timeout of a state, for connections without a special condition.
func (t *Timeouts) of(state conntrack.State) (timeout time.Duration, known bool) {
	if timeout, known = t.Open[state]; known {
		return timeout, true
	}
	timeout, known = t.Ended[state]
	return timeout, known
}

// age returns how long ago an entry was refreshed. The entry expires in left, and its state has the timeout full. As long
// as left exceeds the special timeouts, it shows which timeout the entry was given.
func (t *Timeouts) age(full, left time.Duration) time.Duration {
	short := min(full, max(t.Unacknowledged, t.Retransmitted))
	if left > short {
		return full - left
	}
	return short - left
}
