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
	// Established is for connections in that state, Unacknowledged for those with data that is not acknowledged, and
	// Retransmitted for those whose last window was 0.
	Established, Unacknowledged, Retransmitted time.Duration
	// Closing are those of the states that lead to the end.
	Closing map[conntrack.State]time.Duration
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
		Established:    read("tcp_timeout_established"),
		Unacknowledged: read("tcp_timeout_unacknowledged"),
		Retransmitted:  read("tcp_timeout_max_retrans"),
		Closing: map[conntrack.State]time.Duration{
			conntrack.StateSynReceived: read("tcp_timeout_syn_recv"),
			conntrack.StateFinWait:     read("tcp_timeout_fin_wait"),
			conntrack.StateCloseWait:   read("tcp_timeout_close_wait"),
			conntrack.StateLastAck:     read("tcp_timeout_last_ack"),
			conntrack.StateTimeWait:    read("tcp_timeout_time_wait"),
			conntrack.StateClose:       read("tcp_timeout_close"),
		},
	}
	t.Shortest = min(t.Established, t.Unacknowledged, t.Retransmitted, t.Closing[conntrack.StateFinWait], t.Closing[conntrack.StateCloseWait],
		read("udp_timeout"), read("udp_timeout_stream"))
	return t, err
}

// age is how long ago an entry of an established connection was refreshed that has left left: which timeout it was given then
// shows in what is left, as long as that is more than the short ones.
func (t *Timeouts) age(left time.Duration) time.Duration {
	short := max(t.Unacknowledged, t.Retransmitted)
	if left > short {
		return t.Established - left
	}
	return short - left
}
