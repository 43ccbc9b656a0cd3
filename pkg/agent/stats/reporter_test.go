// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"flag"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
)

var runs = flag.Int("runs", 200, "number of random runs of TestNothingIsLostOrCountedTwice")

// antrea counts as package v1beta2 says that antrea-controller does.
type antrea struct {
	session  string
	sequence int
	sums     map[string]v1alpha1.TrafficStats
}

func newAntrea() *antrea { return &antrea{sums: map[string]v1alpha1.TrafficStats{}} }

func (a *antrea) take(t *testing.T, report *v1beta2.NodeStatsSummary) {
	session := report.Annotations[v1beta2.StatsSessionAnnotation]
	sequence, err := strconv.Atoi(report.Annotations[v1beta2.StatsSequenceAnnotation])
	require.NoError(t, err)
	require.NotEmpty(t, session)
	require.Equal(t, "node", report.Name)
	if session == a.session && sequence <= a.sequence {
		return
	}
	a.session, a.sequence = session, sequence
	for _, p := range report.NetworkPolicies {
		sum, delta := a.sums[p.NetworkPolicy.Name], p.TrafficStats
		a.sums[p.NetworkPolicy.Name] = v1alpha1.TrafficStats{
			Packets: sum.Packets + delta.Packets, Bytes: sum.Bytes + delta.Bytes, Sessions: sum.Sessions + delta.Sessions,
		}
	}
}

func (a *antrea) packets(name string) int64 { return a.sums[name].Packets }

// bridgeCounts is a switch whose counters outlive agents.
type bridgeCounts struct {
	counts ruleCounts
	err    error
}

func (b *bridgeCounts) read(context.Context) (Counts, error) {
	return read(maps.Clone(b.counts)), b.err
}

func (b *bridgeCounts) pass(id uint32, packets uint64) {
	c := b.counts[id]
	c.Sessions, c.Packets, c.Bytes = c.Sessions+1, c.Packets+packets, c.Bytes+100*packets
	b.counts[id] = c
}

// Agents are killed and replaced, requests and answers are lost, and requests arrive late: in the end antrea-controller has counted
// each packet once.
func TestNothingIsLostOrCountedTwice(t *testing.T) {
	for seed := range uint64(*runs) {
		random := rand.New(rand.NewPCG(seed, 0))
		controller, bridge := newAntrea(), &bridgeCounts{counts: ruleCounts{}}
		var late []*v1beta2.NodeStatsSummary
		killed := errors.New("the agent is killed")
		disorder := 4 // out of 8 requests
		send := func(_ context.Context, report *v1beta2.NodeStatsSummary) error {
			if random.IntN(8) >= disorder {
				controller.take(t, report)
				return nil
			}
			switch random.IntN(4) {
			case 0:
				return errors.New("the request is lost")
			case 1:
				late = append(late, report.DeepCopy())
				return context.DeadlineExceeded
			case 2:
				controller.take(t, report)
				return errors.New("the answer is lost")
			default:
				if random.IntN(2) == 0 {
					controller.take(t, report)
				}
				return killed
			}
		}
		file := filepath.Join(t.TempDir(), "stats")
		begin := func() *Reporter {
			r := &Reporter{Node: "node", File: file, Counts: bridge.read, Owners: func() Owners { return Owners{1: ref("web"), 2: ref("web"), 3: ref("db")} }, Send: send}
			r.Restore()
			return r
		}
		agent, sent := begin(), map[string]int64{}
		for range 30 {
			for i, name := range []string{"web", "web", "db"} {
				if n := random.IntN(3); n > 0 {
					bridge.pass(uint32(i+1), uint64(n))
					sent[name] += int64(n)
				}
			}
			if err := agent.report(t.Context()); errors.Is(err, killed) || random.IntN(10) == 0 {
				agent = begin()
			}
			if len(late) > 0 && random.IntN(2) == 0 {
				controller.take(t, late[0])
				late = late[1:]
			}
		}
		disorder = 0
		require.NoError(t, agent.report(t.Context()))
		for _, report := range late {
			controller.take(t, report)
		}
		require.Equal(t, sent["web"], controller.packets("web"), "seed %d", seed)
		require.Equal(t, sent["db"], controller.packets("db"), "seed %d", seed)
	}
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		controller, bridge := newAntrea(), &bridgeCounts{counts: ruleCounts{}}
		var mu sync.Mutex // protects these and what follows
		var fails error
		requests := 0
		r := &Reporter{
			Node: "node", File: filepath.Join(t.TempDir(), "stats"), Owners: func() Owners { return Owners{1: ref("web")} },
			Counts: func(ctx context.Context) (Counts, error) {
				mu.Lock()
				defer mu.Unlock()
				return bridge.read(ctx)
			},
			Send: func(_ context.Context, report *v1beta2.NodeStatsSummary) error {
				mu.Lock()
				defer mu.Unlock()
				requests++
				if fails == nil {
					controller.take(t, report)
				}
				return fails
			},
		}
		r.Restore()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { r.Run(ctx); close(done) }()
		// after lets packets pass, which may be none, and returns what has been sent after some time.
		after := func(wait time.Duration, packets uint64, failure error) (reported int64, sent int) {
			mu.Lock()
			fails = failure
			if packets > 0 {
				bridge.pass(1, packets)
			}
			mu.Unlock()
			time.Sleep(wait)
			mu.Lock()
			defer mu.Unlock()
			return controller.packets("web"), requests
		}
		const interval = ReportInterval + time.Second
		reported, sent := after(interval, 1, nil)
		require.Equal(t, int64(1), reported, "the first report comes within an interval")
		require.Equal(t, 1, sent)
		_, sent = after(10*interval, 0, nil)
		require.Equal(t, 1, sent, "there is nothing to report")
		reported, _ = after(interval, 1, nil)
		require.Equal(t, int64(2), reported)
		_, sent = after(time.Hour, 1, errors.New("no controller"))
		require.LessOrEqual(t, sent, 2+130, "requests while there is no controller")
		reported, _ = after(interval, 0, nil)
		require.Equal(t, int64(3), reported)
		cancel()
		<-done
		_, err := os.Stat(r.File)
		require.NoError(t, err)
	})
}

func TestRefusals(t *testing.T) {
	resource := schema.GroupResource{Group: controlplane.GroupName, Resource: "nodestatssummaries"}
	for _, tc := range []struct {
		name string
		err  error
		text string
		kept bool
	}{
		{"bad report", apierrors.NewBadRequest("x"), "has refused a report of the traffic of 1 NetworkPolicies, which is lost", false},
		{"too large", apierrors.NewRequestEntityTooLargeError("x"), "is lost", false},
		{"gate off", apierrors.NewNotFound(resource, ""), "is its feature gate NetworkPolicyStats on?", true},
		{"forbidden", apierrors.NewForbidden(resource, "node", errors.New("x")), "forbidden", true},
		{"standby", apierrors.NewServiceUnavailable("x"), "x", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bridge := &bridgeCounts{counts: ruleCounts{}}
			bridge.pass(1, 1)
			fails := tc.err
			var got []v1alpha1.TrafficStats
			r := &Reporter{
				Node: "node", File: filepath.Join(t.TempDir(), "stats"), Counts: bridge.read, Owners: func() Owners { return Owners{1: ref("web")} },
				Send: func(_ context.Context, report *v1beta2.NodeStatsSummary) error {
					if fails == nil {
						got = append(got, report.NetworkPolicies[0].TrafficStats)
					}
					return fails
				},
			}
			r.Restore()
			require.ErrorContains(t, r.report(t.Context()), tc.text)
			fails = nil
			bridge.pass(1, 1)
			require.NoError(t, r.report(t.Context()))
			require.Len(t, got, map[bool]int{true: 2, false: 1}[tc.kept])
		})
	}
}

// A report that cannot be stored is not sent: the next agent would report the traffic again.
func TestStateThatCannotBeStored(t *testing.T) {
	dir := t.TempDir()
	controller, bridge := newAntrea(), &bridgeCounts{counts: ruleCounts{}}
	r := &Reporter{
		Node: "node", File: filepath.Join(dir, "file", "stats"), Counts: bridge.read, Owners: func() Owners { return Owners{1: ref("web")} },
		Send: func(_ context.Context, report *v1beta2.NodeStatsSummary) error {
			controller.take(t, report)
			return nil
		},
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)) // not a directory
	r.ledger = newLedger()
	bridge.pass(1, 1)
	require.ErrorContains(t, r.report(t.Context()), "store the statistics of NetworkPolicies")
	require.Zero(t, controller.packets("web"))
	require.NoError(t, os.Remove(filepath.Join(dir, "file")))
	require.NoError(t, r.report(t.Context()))
	require.Equal(t, int64(1), controller.packets("web"))
}

// Unreadable state is not guessed: packets may be lost, but none is counted twice.
func TestStateThatCannotBeRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "stats")
	require.NoError(t, os.WriteFile(file, []byte("not a state"), 0o600))
	controller, bridge := newAntrea(), &bridgeCounts{counts: ruleCounts{}}
	bridge.pass(1, 100)
	r := &Reporter{
		Node: "node", File: file, Counts: bridge.read, Owners: func() Owners { return Owners{1: ref("web")} },
		Send: func(_ context.Context, report *v1beta2.NodeStatsSummary) error {
			controller.take(t, report)
			return nil
		},
	}
	r.Restore()
	require.NoError(t, r.report(t.Context()))
	bridge.pass(1, 3)
	require.NoError(t, r.report(t.Context()))
	require.Equal(t, int64(3), controller.packets("web"))
}

// The state of an agent of an earlier version can be read: nothing is reported twice.
func TestStateOfAnEarlierVersion(t *testing.T) {
	type flow struct {
		Egress              bool
		Protocol            uint8
		Source, Destination netip.AddrPort
		Packets, Bytes      uint64
	}
	type count struct{ Packets, Bytes uint64 }
	type former struct {
		Ledger struct {
			Session  string
			Sequence uint64
			Pending  []v1beta2.NetworkPolicyStats
			Reported map[uint32]apis.RuleStats
			Adopt    bool
		}
		FastPath struct {
			Seen  map[flow]count
			Rules map[uint32]count
		}
	}
	var s former
	s.Ledger.Session, s.Ledger.Sequence = "x", 7
	s.Ledger.Reported = map[uint32]apis.RuleStats{1: {Sessions: 1, Packets: 5, Bytes: 50, FastPackets: 2, FastBytes: 20}}
	key := flow{Egress: true, Protocol: 6, Source: netip.MustParseAddrPort("10.0.0.1:1"), Destination: netip.MustParseAddrPort("10.0.1.1:80")}
	s.FastPath.Seen, s.FastPath.Rules = map[flow]count{key: {2, 20}}, map[uint32]count{1: {2, 20}}
	file := filepath.Join(t.TempDir(), "stats")
	var text bytes.Buffer
	require.NoError(t, gob.NewEncoder(&text).Encode(s))
	require.NoError(t, os.WriteFile(file, text.Bytes(), 0o600))
	r := &Reporter{Node: "node", File: file, FastPath: networkpolicy.NewFastStats(nil, nil)}
	r.Restore()
	require.Equal(t, "x", r.ledger.Session)
	require.Equal(t, ruleCounts{1: counted(1, 5, 50, 2, 20)}, r.ledger.Reported)
	seen := networkpolicy.CachedFlow{Egress: true, Protocol: 6, Source: key.Source, Destination: key.Destination}
	require.Equal(t, networkpolicy.FastState{
		Seen: map[networkpolicy.CachedFlow]networkpolicy.EntryCount{seen: {Packets: 2, Bytes: 20}}, Rules: map[uint32]networkpolicy.FastCount{1: {Packets: 2, Bytes: 20}},
	}, r.FastPath.State())

	r.FastPath = nil // the gate ONCache is off now: its counters will restart
	r.Restore()
	require.Equal(t, ruleCounts{1: counted(1, 3, 30, 0, 0)}, r.ledger.Reported)
}

// The next agent continues with the counters of connections to Services, which it knows by their translation.
func TestTranslatedFlowsOutliveTheAgent(t *testing.T) {
	service, server := netip.MustParseAddrPort("10.96.0.1:80"), netip.MustParseAddrPort("[fd00::1]:8080")
	seen := map[networkpolicy.CachedFlow]networkpolicy.EntryCount{}
	for i, translated := range []netip.AddrPort{{}, netip.MustParseAddrPort("10.0.1.1:8080"), server} {
		seen[networkpolicy.CachedFlow{Egress: true, Protocol: 6, Source: service, Destination: service, Translated: translated}] =
			networkpolicy.EntryCount{Packets: uint64(i) + 1}
	}
	file := filepath.Join(t.TempDir(), "stats")
	former := state{Ledger: ledger{Session: "x"}, FastPath: networkpolicy.FastState{Seen: seen}}
	require.NoError(t, former.store(file))
	next, err := load(file)
	require.NoError(t, err)
	require.Equal(t, seen, next.FastPath.Seen)
}

// The next agent knows to whom the packets belong that the fast path has carried until the end, even if it cannot ask antrea-controller.
func TestOwnersOutliveTheAgent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "stats")
	fast := networkpolicy.NewFastStats(nil, nil)
	r := &Reporter{Node: "node", File: file, FastPath: fast, Owners: func() Owners { return Owners{1: ref("web"), 2: ref("db")} }}
	r.Restore()
	fast.Restore(networkpolicy.FastState{Rules: map[uint32]networkpolicy.FastCount{1: {Packets: 5, Bytes: 50}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.Run(ctx)
	next := &Reporter{Node: "node", File: file, FastPath: networkpolicy.NewFastStats(nil, nil)}
	next.Restore()
	require.Equal(t, Owners{1: ref("web")}, next.ledger.Owners)
	require.False(t, next.ledger.reported(1, networkpolicy.FastCount{Packets: 5, Bytes: 50}), "nothing is forgotten before it is reported")
}
