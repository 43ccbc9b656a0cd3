// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hitrate measures, second by second, which part of the packets between Nodes are hits: those that the uplinks have carried and the
// devices of the slow path have not.
package hitrate

import (
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Node is a Node whose counters are read.
type Node interface {
	ReadFile(path string) ([]byte, error)
}

// uplinkDevice is the device between a Node and the others.
const uplinkDevice = "eth0"

// packets counts packets between Nodes, of both directions on all Nodes. slow counts packets that passed a
// device of the slow path, which hits do not.
type packets struct{ all, slow uint64 }

// since counts the packets since then. A recreated device counts from 0 again.
func (p packets) since(then packets) packets {
	d := packets{p.all - then.all, p.slow - then.slow}
	if p.slow < then.slow {
		d.slow = p.slow
	}
	return d
}

// hits is the part of the packets that are hits, 0..1.
func (p packets) hits() float64 {
	if p.all == 0 {
		return 0
	}
	return 1 - float64(min(p.slow, p.all))/float64(p.all)
}

// Watch reads the counters every second.
type Watch[N Node] struct {
	nodes []N
	slow  []string
	stop  chan struct{}
	done  sync.WaitGroup
	began time.Time

	mu      sync.Mutex
	samples []packets
	at      []time.Duration
	err     error
}

// Start begins to watch. Each packet of the slow path passes one of the slow devices, such as the tunnel's, on each Node.
func Start[N Node](nodes []N, slow ...string) *Watch[N] {
	w := &Watch[N]{nodes: nodes, slow: slow, stop: make(chan struct{}), began: time.Now()}
	w.sample()
	w.done.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for ok := true; ok; {
			select {
			case <-w.stop:
				w.sample()
				return
			case <-tick.C:
				ok = w.sample()
			}
		}
	})
	return w
}

func (w *Watch[N]) sample() bool {
	at := time.Since(w.began)
	now, err := count(w.nodes, w.slow)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.err = err
		return false
	}
	w.samples, w.at = append(w.samples, now), append(w.at, at)
	return true
}

func count[N Node](nodes []N, slow []string) (now packets, err error) {
	for _, n := range nodes {
		for i, device := range append([]string{uplinkDevice}, slow...) {
			count := &now.slow
			if i == 0 {
				count = &now.all
			}
			for _, direction := range []string{"tx_packets", "rx_packets"} {
				text, err := n.ReadFile("/sys/class/net/" + device + "/statistics/" + direction)
				// Open vSwitch recreates its tunnel device. The kernel refuses to read a device that it is removing
				// (netdev_show in net/core/net-sysfs.c).
				if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EINVAL) {
					continue
				}
				if err != nil {
					return now, err
				}
				counted, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
				if err != nil {
					return now, err
				}
				*count += counted
			}
		}
	}
	return now, nil
}

// Result is the result of a Watch.
type Result struct {
	// GoingOn is for how long at least half of the packets were hits, of Whole. Missing is the time that the packets which were no hits
	// amount to.
	GoingOn, Missing, Whole time.Duration
	// Last is the part of the packets that were hits in the last second, 0 if there was none.
	Last float64
	// Seconds has a line for each second.
	Seconds string
}

// Part is the part of the time in which hits continued.
func (r Result) Part() float64 {
	if r.Whole == 0 {
		return 0
	}
	return r.GoingOn.Seconds() / r.Whole.Seconds()
}

func (r Result) String() string {
	return fmt.Sprintf("hits in each second: %s\nhits continued for %.1f s of %.1f s; what was missing amounts to %.2f s", r.Seconds, r.GoingOn.Seconds(),
		r.Whole.Seconds(), r.Missing.Seconds())
}

// End ends the watch.
func (w *Watch[N]) End() (Result, error) {
	close(w.stop)
	w.done.Wait()
	return w.Since(w.began)
}

// Since summarizes the seconds that begin after a time.
func (w *Watch[N]) Since(then time.Time) (Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := sort.Search(len(w.at), func(i int) bool { return !w.began.Add(w.at[i]).Before(then) })
	return summarize(w.samples[first:], w.at[first:]), w.err
}

func summarize(samples []packets, at []time.Duration) (r Result) {
	var lines strings.Builder
	for i := 1; i < len(samples); i++ {
		second, length := samples[i].since(samples[i-1]), at[i]-at[i-1]
		if second.hits() >= 0.5 {
			r.GoingOn += length
		}
		r.Last = second.hits()
		r.Missing += time.Duration((1 - second.hits()) * float64(length))
		fmt.Fprintf(&lines, "\n%5.1f s: %6d packets, %5.1f %% hits", at[i].Seconds(), second.all, 100*second.hits())
	}
	if len(at) > 0 {
		r.Seconds, r.Whole = lines.String(), at[len(at)-1]-at[0]
	}
	return r
}
