// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command conntrack compares connection tracking with the cache off and on. It makes random sequences of packets and
// pauses, each of them the life of a TCP or UDP connection. It plays them in two worlds at the same time, one without the
// cache and one with it, and compares conntrack's entries on both Nodes and the fate of later packets. A world is two Nodes
// of package nodepair on the running kernel. Timeouts are seconds instead of minutes and days, and sequence numbers jump by
// up to a full window, so a connection goes through everything within seconds. Batches take turns: in one the cache encapsulates packets, in
// the next it rewrites them, and in the third there is no tunnel, and the host's own entries are also compared. It needs root.
//
// sequence.go and tcp.go make sequences, packet.go makes their packets, and loss.go loses some of them on the wire.
// world.go is a world, run.go plays sequences in it, compare.go compares, explain.go knows the
// differences that are explained.
//
// The last line is "conntrack: sequences=N packets=N differences=N seed=S": differences that docs/design/oncache-conntrack.md does
// not explain. The exit code is 1 if there are any.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

// mostPrinted is the maximum number of differences that are printed in full.
const mostPrinted = 20

// mostFailed limits the consecutive batches that are too slow altogether. A batch gets smaller when the machine is too
// slow for many of its sequences, down to leastBatch.
const (
	mostFailed = 5
	leastBatch = 10
)

// enough is the number of sequences in which a packet must have been rewritten, or taken the fast path without a tunnel. Many have too few
// packets for that.
const enough = 50

func main() {
	sequences := flag.Int("sequences", 400, "number of sequences")
	batch := flag.Int("batch", 200, "how many of them to play at a time, at most: each kind of world gets some")
	seed := flag.Uint64("seed", 0, "seed of the random sequences; 0 chooses one")
	only := flag.Int("only", -1, "only the sequence with this number, in each kind of world")
	flag.Parse()
	if *seed == 0 {
		*seed = rand.Uint64()>>1 + 1
	}
	klog.SetOutput(os.Stderr)
	os.Exit(sandbox.Run(context.Background(), func() int {
		klog.LogToStderr(true)
		r := &result{}
		err := run(*sequences, *batch, *only, *seed, r)
		if err != nil {
			fmt.Fprintln(os.Stderr, "conntrack:", err)
		}
		fmt.Printf("conntrack: sequences=%d packets=%d differences=%d seed=%d\n", r.sequences, r.packets, r.differences, *seed)
		if err != nil || r.differences > 0 {
			return 1
		}
		return 0
	}))
}

type result struct {
	sequences, packets, differences int
	// rewriting and direct are the numbers of sequences that were played where packets are rewritten, and without a tunnel; directHits is
	// the number of hits of the latter.
	rewriting, direct           int
	hits, rewritten, directHits uint64
	explained                   map[string]int
}

func run(sequences, batch, only int, seed uint64, r *result) error {
	r.explained = map[string]int{}
	var waiting []*sequence
	number := func(i int) *sequence {
		return newSequence(rand.New(rand.NewPCG(seed, uint64(i))), uint16(1024+i%60000))
	}
	for i := range sequences {
		if only < 0 {
			waiting = append(waiting, number(i))
		}
	}
	if only >= 0 {
		batch = 1
		for range variants {
			waiting = append(waiting, number(only))
		}
	}
	batch = min(batch, max((sequences+kinds-1)/kinds, leastBatch))
	for batches, failed := 0, 0; len(waiting) > 0; batches++ {
		some := waiting[:min(batch, len(waiting))]
		slow, err := r.batch(some, variantOf(seed, batches))
		if err != nil {
			return err
		}
		waiting = append(slow, waiting[len(some):]...)
		if len(slow) > len(some)/4 {
			batch = max(batch/2, leastBatch)
		}
		if len(slow) < len(some) {
			failed = 0
		} else if failed++; failed == mostFailed {
			return fmt.Errorf("this machine is too slow for %d connections at a time: pauses are longer than they should be", len(some))
		}
		fmt.Printf("%d sequences, %d packets in each world (%d of them on the fast path, %d rewritten), %d differences, explained: %v, too slow: %d\n",
			r.sequences, r.packets, r.hits, r.rewritten, r.differences, r.explained, len(slow))
	}
	if r.rewriting >= enough && r.rewritten == 0 {
		return fmt.Errorf("in %d sequences no packet was rewritten", r.rewriting)
	}
	if r.direct >= enough && r.directHits == 0 {
		return fmt.Errorf("in %d sequences without a tunnel no packet took the fast path", r.direct)
	}
	return nil
}

// kinds is the number of ways of hits, variants the number of these with both IP versions.
const (
	kinds    = 3
	variants = 2 * kinds
)

// variantOf returns the variant of a batch: that many batches in a row have all kinds, or all variants. The seed decides which come first.
func variantOf(seed uint64, batch int) variant {
	kind := batch % kinds
	return variant{rewrite: kind == 1, direct: kind == 2, ipv6: (uint64(batch/kinds+kind)+seed)%2 == 1}
}

// batch plays sequences in two new worlds. It returns those that must be repeated.
func (r *result) batch(sequences []*sequence, v variant) (slow []*sequence, err error) {
	off, err := newWorld("off", false, v)
	if err != nil {
		return nil, err
	}
	defer off.close()
	on, err := newWorld("on", true, v)
	if err != nil {
		return nil, err
	}
	defer on.close()
	outcomes, tooSlow, err := runBatch([]*world{off, on}, sequences)
	if err != nil {
		return nil, err
	}
	hits, rewritten, err := on.hits()
	if err != nil {
		return nil, err
	}
	r.hits += hits
	r.rewritten += rewritten
	if v.direct {
		r.directHits += hits
	}
	for _, s := range sequences {
		if tooSlow[s] {
			slow = append(slow, s)
			continue
		}
		r.sequences++
		if v.rewrite {
			r.rewriting++
		}
		if v.direct {
			r.direct++
		}
		for _, step := range s.steps {
			if step.packet != nil {
				r.packets++
			}
		}
		for _, d := range compare(s, outcomes[0], outcomes[1]) {
			if d.explained != "" {
				r.explained[d.explained]++
				continue
			}
			if r.differences++; r.differences <= mostPrinted {
				d.print(os.Stdout)
			}
		}
	}
	return slow, nil
}

func (d *difference) print(to io.Writer) {
	fmt.Fprintf(to, "difference: %s\n  %s\n  last packet before the silence at %s\n", d.text, d.sequence, d.sequence.lastAt.Round(time.Millisecond))
}
