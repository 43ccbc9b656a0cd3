// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package affinity

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// fakeFlows is a switch.
type fakeFlows struct {
	mu       sync.Mutex
	reading  openflow.AffinityReading
	err      error
	readings int
	restored []openflow.Affinity
	read     time.Time
}

func (f *fakeFlows) ReadAffinities(ctx context.Context) (openflow.AffinityReading, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readings++
	return f.reading, errors.Join(f.err, ctx.Err())
}

func (f *fakeFlows) RestoreAffinities(affinities []openflow.Affinity, read time.Time) error {
	f.restored, f.read = affinities, read
	return f.err
}

func (f *fakeFlows) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.readings
}

var some = []openflow.Affinity{{Protocol: 6, Client: netip.MustParseAddr("2001:db8::7"),
	Frontend: netip.MustParseAddrPort("[fd00::1]:80"), Endpoint: netip.MustParseAddrPort("[fd00::2]:8080")}}

// The next agent restores what one agent has read, the last time when it stops.
func TestAffinitiesAreKeptForTheNextAgent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "antrea", "affinities")
	flows := &fakeFlows{}
	k := New(flows, problem.NewRecorder(), file)
	k.Restore()
	require.Nil(t, flows.restored)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { k.Run(ctx) })
	require.Eventually(t, func() bool { return flows.count() == 1 }, 20*time.Second, time.Millisecond)
	flows.mu.Lock()
	flows.reading.Affinities = some
	flows.mu.Unlock()
	before := time.Now()
	cancel()
	running.Wait()
	next := &fakeFlows{}
	New(next, problem.NewRecorder(), file).Restore()
	require.Equal(t, some, next.restored)
	require.False(t, next.read.Before(before.Truncate(time.Second)) || next.read.After(time.Now()), "read at %v", next.read)
}

func TestAffinitiesThatCannotBeReadOrStored(t *testing.T) {
	directory := t.TempDir()
	file := filepath.Join(directory, "affinities")
	flows := &fakeFlows{reading: openflow.AffinityReading{Affinities: some}}
	k := New(flows, problem.NewRecorder(), file)
	require.NoError(t, k.read(t.Context()))
	flows.err = errors.New("away")
	require.ErrorContains(t, k.read(t.Context()), "away")
	require.FileExists(t, file, "the last reading stays")
	require.ErrorContains(t, k.restore(), "affinities: away")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	flows.restored = nil
	require.ErrorContains(t, k.restore(), file)
	require.Nil(t, flows.restored)
	flows.err = nil
	k.file = filepath.Join(file, "affinities")
	require.ErrorContains(t, k.read(t.Context()), "store session affinity")
	// A Service whose affinities have ended leaves none for the next agent.
	k.file, flows.reading.Affinities = file, nil
	require.NoError(t, k.read(t.Context()))
	require.NoError(t, k.restore())
	require.Empty(t, flows.restored)
}

func TestFullAffinitiesAreReported(t *testing.T) {
	problems := problem.NewRecorder()
	flows := &fakeFlows{reading: openflow.AffinityReading{Full: []string{"ns/dns:53/TCP", "ns/dns:53/UDP", "ns/web:80/TCP/IPv6"}}}
	k := New(flows, problems, filepath.Join(t.TempDir(), "affinities"))
	require.NoError(t, k.read(t.Context()))
	list, _ := problems.List()
	require.Len(t, list, 2)
	require.Equal(t, problem.Subject{Kind: "Service", Namespace: "ns", Name: "dns"}, list[0].Subject)
	require.Contains(t, list[0].Message, "at ns/dns:53/TCP, ns/dns:53/UDP.")
	flows.reading.Full = flows.reading.Full[2:]
	require.NoError(t, k.read(t.Context()))
	list, _ = problems.List()
	require.Len(t, list, 1)
	require.Equal(t, "Service ns/web", list[0].Subject.String())
	flows.reading.Full = nil
	require.NoError(t, k.read(t.Context()))
	list, _ = problems.List()
	require.Empty(t, list)
}
