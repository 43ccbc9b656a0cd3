// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// uplinkDevice is the device between a Node and the others.
const uplinkDevice = "eth0"

// traffic counts packets between the Nodes, of both directions on both Nodes. slow are those that passed the tunnel device, as hits do not.
type traffic struct{ all, slow uint64 }

func (a traffic) minus(b traffic) traffic { return traffic{a.all - b.all, a.slow - b.slow} }

// hits is the part of the packets that are hits, 0..1.
func (a traffic) hits() float64 {
	if a.all == 0 {
		return 0
	}
	return 1 - float64(min(a.slow, a.all))/float64(a.all)
}

// hitWatch reads the traffic every second.
type hitWatch struct {
	s       *suite
	stop    chan struct{}
	done    sync.WaitGroup
	began   time.Time
	samples []traffic
	at      []time.Duration
	err     error
}

func (s *suite) watchHits(t *testing.T) *hitWatch {
	t.Helper()
	w := &hitWatch{s: s, stop: make(chan struct{}), began: time.Now()}
	w.sample()
	require.NoError(t, w.err)
	w.done.Add(1)
	go func() {
		defer w.done.Done()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for w.err == nil {
			select {
			case <-w.stop:
				w.sample()
				return
			case <-tick.C:
				w.sample()
			}
		}
	}()
	return w
}

func (w *hitWatch) sample() {
	var now traffic
	at := time.Since(w.began)
	for _, n := range w.s.Nodes {
		for _, direction := range []string{"tx_packets", "rx_packets"} {
			for device, count := range map[string]*uint64{uplinkDevice: &now.all, w.s.tunnelDevice(): &now.slow} {
				packets, err := deviceCounter(n, device, direction)
				if err != nil {
					w.err = err
					return
				}
				*count += packets
			}
		}
	}
	w.samples, w.at = append(w.samples, now), append(w.at, at)
}

func deviceCounter(n *cluster.Node, device, name string) (uint64, error) {
	text, err := n.ReadFile("/sys/class/net/" + device + "/statistics/" + name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

// end logs the seconds and returns the part of the time in which hits went on: at least half of the packets were hits.
func (w *hitWatch) end(t *testing.T) float64 {
	t.Helper()
	close(w.stop)
	w.done.Wait()
	require.NoError(t, w.err)
	var lines strings.Builder
	var goingOn, missing time.Duration
	for i := 1; i < len(w.samples); i++ {
		second, length := w.samples[i].minus(w.samples[i-1]), w.at[i]-w.at[i-1]
		if second.hits() >= 0.5 {
			goingOn += length
		}
		missing += time.Duration((1 - second.hits()) * float64(length))
		fmt.Fprintf(&lines, "\n%5.1f s: %6d packets, %5.1f %% hits", w.at[i].Seconds(), second.all, 100*second.hits())
	}
	whole := w.at[len(w.at)-1] - w.at[0]
	t.Logf("hits in each second: %s\nhits went on for %.1f s of %.1f s; what was missing amounts to %.2f s", lines.String(), goingOn.Seconds(),
		whole.Seconds(), missing.Seconds())
	return goingOn.Seconds() / whole.Seconds()
}
