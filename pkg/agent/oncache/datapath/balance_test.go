// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/shares"
)

// crowd is a Node with several Pods and small flow maps of its own.
type crowd struct {
	*harness.World
	pods     []*harness.Pod
	capacity int
	cpus     int
	balancer *datapath.Balancer
	clock    time.Time
}

func newCrowd(t *testing.T, pods int) *crowd {
	c := &crowd{World: harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: 1, Hook: datapath.HookAuto}), cpus: ebpf.MustPossibleCPU(), clock: time.Unix(1000, 0)}
	c.Control().Lease = 1 << 20 // no lease ends before a test ends it, however slow the machine is
	c.capacity = int(c.Maps.EgressFlows4.MaxEntries())
	c.pods = []*harness.Pod{c.Pod()}
	for n := 1; n < pods; n++ {
		c.pods = append(c.pods, c.Neighbor(n))
	}
	var err error
	c.balancer, err = datapath.NewBalancer(c.Datapath)
	require.NoError(t, err)
	return c
}

// review does what the agent does once per lease. It comes later, since a Balancer rests longer where counting takes long, as on a busy
// machine, but within the minute after which it counts in any case.
func (c *crowd) review() {
	c.clock = c.clock.Add(50 * time.Second)
	require.NoError(c.T, c.balancer.Review(c.clock))
}

// open opens n UDP flows of a Pod from number first on, with packets to the peer only, and returns how many were cached.
func (c *crowd) open(p *harness.Pod, first, n int) (learned int) {
	before := c.learned()
	for i := range n {
		out, _ := p.Packets(first+i, true)
		frame := out.Bytes(c.T)
		p.Note(c.T, frame, 14)
		mark, err := through(p, p.Programs.OncacheEgress, p.PodIf, 0, frame)
		require.NoError(c.T, err)
		behind := out.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(c.T)
		_, err = through(p, p.Programs.OncacheEgressInit, p.UplinkIf, mark|harness.Epoch<<20, harness.ToPeer().Wrap(c.T, behind))
		require.NoError(c.T, err)
	}
	return c.learned() - before
}

// learned returns how many entries Egress-Init has made.
func (c *crowd) learned() int {
	counters, err := c.Counters()
	require.NoError(c.T, err)
	return int(counters["egress_init"]["learned"])
}

// cached returns how many of these flows of a Pod are hits, or would be if their leases ran. It makes them recently used.
func (c *crowd) cached(p *harness.Pod, first, n int) (cached int) {
	for i := range n {
		out, _ := p.Packets(first+i, true)
		switch reason := p.Egress(0, out.Bytes(c.T)).Reason; reason {
		case "hit", "lease":
			cached++
		default:
			require.Equal(c.T, "no_entry", reason)
		}
	}
	return cached
}

// held returns the number of entries that each Pod actually has.
func (c *crowd) held() []int {
	held := make([]int, len(c.pods))
	for _, f := range c.Entries() {
		held[f.EndpointSlot-harness.PodSlot]++
	}
	return held
}

// TestFloodCostsOthersNothing: a Pod opens three times as many flows as the map holds, while another Pod's flows are in use or
// idle. Without shares all idle ones are evicted.
func TestFloodCostsOthersNothing(t *testing.T) {
	const used, idle = 20, 20
	for name, shared := range map[string]bool{"without shares": false, "with shares": true} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, 2)
			flooder, victim := c.pods[0], c.pods[1]
			if shared {
				c.review()
			} else {
				useOneCPU(t) // an LRU map may keep what another CPU has inserted last (kernel/bpf/bpf_lru_list.c: pending list)
			}
			require.Equal(t, used+idle, c.open(victim, 0, used+idle))
			learned, evicted, checks := 0, 0, 0
			for batch := range 30 {
				learned += c.open(flooder, batch*c.capacity/10, c.capacity/10)
				checks += used
				for n := range used {
					if c.cached(victim, n, 1) == 0 {
						evicted++
						c.open(victim, n, 1)
					}
				}
				if shared && batch%10 == 9 { // the flood fills the map in less time
					c.review()
				}
			}
			gone := idle - c.cached(victim, used, idle)
			t.Logf("%d flows of one Pod, %d of them cached, through a map of %d: of another Pod's flows the used ones were evicted %d times in %d checks; idle ones evicted: %d of %d",
				3*c.capacity, learned, c.capacity, evicted, checks, gone, idle)
			if !shared {
				require.Positive(t, gone, "the flood evicts nothing")
				return
			}
			require.Zero(t, evicted)
			require.Zero(t, gone)
			full := shares.Full(c.capacity, c.cpus)
			require.InDelta(t, full, c.held()[0]+c.held()[1], 10, "the flooder has all room that others leave")
		})
	}
}

// useOneCPU keeps the rest of a test on one CPU. The thread ends with the test.
func useOneCPU(t *testing.T) {
	runtime.LockOSThread()
	var allowed, one unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &allowed))
	cpu := 0
	for !allowed.IsSet(cpu) {
		cpu++
	}
	one.Set(cpu)
	require.NoError(t, unix.SchedSetaffinity(0, &one))
}

// TestNewcomersGetTheirShares: a Pod has as many entries as possible when others come. All flows are in use.
func TestNewcomersGetTheirShares(t *testing.T) {
	c := newCrowd(t, 4)
	c.review()
	full, share := shares.Full(c.capacity, c.cpus), shares.Share(c.capacity, c.cpus, 4)
	require.Equal(t, full, c.open(c.pods[0], 0, c.capacity))
	opened := 0
	step := (shares.Usable(c.capacity, c.cpus) - full) / 3
	for opened < share {
		n := min(step, share-opened)
		for _, newcomer := range c.pods[1:] {
			require.Equal(t, n, c.open(newcomer, opened, n))
		}
		opened += n
		c.review()
	}
	held := c.held()
	t.Logf("share %d, nearly full from %d on; held: %v", share, full, held)
	require.Equal(t, []int{share, share, share}, held[1:])
	require.Equal(t, share, held[0], "down to its share")
	for _, p := range c.pods {
		require.Zero(t, c.open(p, 50000, 100), "all have their shares")
	}
}

// TestIdleFlowsMakeWay: new flows of a Pod that has its share replace only the Pod's own idle flows, as the oldest do in an LRU map.
func TestIdleFlowsMakeWay(t *testing.T) {
	c := newCrowd(t, 2)
	c.review()
	require.Equal(t, 100, c.open(c.pods[1], 0, 100))
	had := c.open(c.pods[0], 0, c.capacity)
	c.EndLeases()
	const first = 30000
	n := shares.Share(c.capacity, c.cpus, 2) / 8 // at most at a time
	require.Zero(t, c.open(c.pods[0], first, n))
	c.review()
	require.Equal(t, n, c.open(c.pods[0], first, 2*n))
	require.Equal(t, []int{had, 100}, c.held())
	require.Equal(t, 100, c.cached(c.pods[1], 0, 100))
}

// TestHandshakesGoOnAfterAFlood: unanswered SYN-ACKs fill their share. When their leases have ended, they make way for handshakes of
// other connections, although the map is not nearly full. Connections stay, however idle.
func TestHandshakesGoOnAfterAFlood(t *testing.T) {
	c := newCrowd(t, 2)
	c.review()
	accept := func(n int) string {
		out, in := c.pods[0].Packets(n, false)
		in.Flags, out.Flags = "-S", "S"
		c.pods[0].Ingress(0, c.FromPeer().Wrap(t, in.Bytes(t)))
		return c.pods[0].LearnEgress(out).Reason
	}
	const idle = 10
	for n := range idle {
		out, in := c.pods[0].Packets(n, false)
		c.pods[0].Learn(out, in)
	}
	n := idle
	for accept(n) == "learned" {
		n++
	}
	require.Equal(t, (shares.Full(c.capacity, c.cpus)+1)/2, n)
	c.clock = c.clock.Add(time.Minute)
	c.review()
	require.Equal(t, [2]int64{int64(n), idle}, c.pods[0].Counts(), "an answer may still come")
	require.NotEqual(t, "learned", accept(n))
	c.EndLeases()
	c.clock = c.clock.Add(time.Minute)
	c.review()
	require.Equal(t, [2]int64{idle, idle}, c.pods[0].Counts())
	require.Len(t, c.Entries(), 2*idle)
	require.Equal(t, "learned", accept(n))
}

// TestConnectionsGoWhole: both directions of a TCP connection are evicted together.
func TestConnectionsGoWhole(t *testing.T) {
	c := newCrowd(t, 2)
	c.review()
	full := shares.Full(c.capacity, c.cpus)
	for n := range full {
		out, in := c.pods[0].Packets(n, false)
		c.pods[0].Learn(out, in)
	}
	require.Equal(t, 100, c.open(c.pods[1], 0, 100))
	c.review()
	halves := map[uint16]int{}
	for _, f := range c.Entries() {
		if f.Protocol == unix.IPPROTO_TCP {
			halves[min(f.Source.Port(), f.Destination.Port())]++
		}
	}
	require.Len(t, halves, full-100)
	for port, n := range halves {
		require.Equal(t, 2, n, "port %d", port)
	}
	require.Equal(t, [2]int64{int64(full - 100), int64(full - 100)}, c.pods[0].Counts())
}

// TestRemovedPod: its entries are void, make room when it is needed, and do not count against the next Pod in its slot.
func TestRemovedPod(t *testing.T) {
	c := newCrowd(t, 2)
	c.review()
	require.Equal(t, shares.Full(c.capacity, c.cpus), c.open(c.pods[0], 0, c.capacity))
	generation, _ := c.EndpointState(harness.PodSlot)
	c.PublishEndpoint(harness.PodSlot, generation+1, 0)
	require.NoError(t, c.ClearEndpoint(harness.PodSlot))
	next := c.pods[0]
	next.IPv4 = next.IPv4.Next().Next().Next()
	next.Announce()
	require.Zero(t, c.open(next, 0, 1), "the count is the former Pod's")
	c.review()
	require.Equal(t, [2]int64{0, 0}, next.Counts())
	require.Equal(t, 100, c.open(next, 0, 100))
}

// TestRecount: errors of the programs' counts are corrected: at once when they matter, otherwise every minute.
func TestRecount(t *testing.T) {
	c := newCrowd(t, 2)
	c.open(c.pods[0], 0, 10)
	wrong := func(n int64) {
		c.CountAt(object.Egress4, harness.PodSlot).Entries, c.LimitOf(object.Egress4).Entries = n, n
	}
	wrong(7)
	c.review()
	require.Equal(t, [2]int64{10, 0}, c.pods[0].Counts(), "at the start of an agent")
	require.Equal(t, [2]int64{10, 0}, c.pods[0].Totals())
	wrong(12)
	c.review()
	require.Equal(t, [2]int64{12, 0}, c.pods[0].Counts(), "costs nothing")
	c.clock = c.clock.Add(time.Minute)
	c.review()
	require.Equal(t, [2]int64{10, 0}, c.pods[0].Counts())
	wrong(int64(c.capacity))
	c.review()
	require.Equal(t, [2]int64{10, 0}, c.pods[0].Counts(), "the map seemed nearly full")
}

// TestOnePodHasItAll: with a single Pod, the LRU map alone decides.
func TestOnePodHasItAll(t *testing.T) {
	c := newCrowd(t, 1)
	c.review()
	n := 2 * c.capacity
	require.Equal(t, n, c.open(c.pods[0], 0, n))
}

// TestShortConnectionsDoNotDrift: counts are right after any number of connections that several threads open and end concurrently.
func TestShortConnectionsDoNotDrift(t *testing.T) {
	c := newCrowd(t, 2)
	c.review()
	const workers, connections = 4, 3000
	var group sync.WaitGroup
	errs := make(chan error, workers)
	for worker := range workers {
		p := c.pods[worker%2]
		frames := make([][3][]byte, 16)
		for n := range frames {
			out, _ := p.Packets(worker*100+n, false)
			fin := out
			fin.Flags = "F"
			c.Note(t, out.Bytes(t), 14)
			frames[n] = [3][]byte{out.Bytes(t), harness.ToPeer().Wrap(t, out.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(t)), fin.Bytes(t)}
		}
		group.Go(func() { errs <- connect(p, frames, connections) })
	}
	group.Wait()
	for range workers {
		require.NoError(t, <-errs)
	}
	require.Empty(t, c.Entries())
	for _, p := range c.pods {
		require.Equal(t, [2]int64{0, 0}, p.Counts())
	}
	require.Equal(t, [2]int64{0, 0}, c.pods[0].Totals())
	counters, err := c.Counters()
	require.NoError(t, err)
	require.NotZero(t, counters["egress_init"]["learned"])
	require.Zero(t, counters["egress_init"]["share"])
}

// connect passes packets of connections through Egress and Egress-Init, each of which ends at once.
func connect(p *harness.Pod, frames [][3][]byte, connections int) error {
	for n := range connections {
		f := frames[n%len(frames)]
		mark, err := through(p, p.Programs.OncacheEgress, p.PodIf, 0, f[0])
		if err == nil {
			_, err = through(p, p.Programs.OncacheEgressInit, p.UplinkIf, mark|harness.Epoch<<20, f[1])
		}
		if err == nil {
			_, err = through(p, p.Programs.OncacheEgress, p.PodIf, 0, f[2])
		}
		if err != nil {
			return fmt.Errorf("connection %d: %w", n, err)
		}
	}
	return nil
}

// through passes a packet through a program and returns its mark, without looking at what was counted.
func through(p *harness.Pod, program *ebpf.Program, ifindex int, mark uint32, frame []byte) (uint32, error) {
	in, out := harness.SKB{Ifindex: uint32(ifindex), Mark: mark}, harness.SKB{}
	_, err := program.Run(&ebpf.RunOptions{Data: frame, DataOut: make([]byte, len(frame)+256), Context: in, ContextOut: &out})
	return harness.Unstamped(out.Mark), err
}
