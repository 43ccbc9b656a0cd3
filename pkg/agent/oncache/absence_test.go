// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
)

// absentSwitch is an Open vSwitch that comes and goes, and records the cache's reactions.
type absentSwitch struct {
	noObserver
	log []string
	// connection, missing, unanswered and noDatapath are the findings of a look.
	connection, unanswered error
	missing                string
	noDatapath             bool
	asked                  int
}

func (s *absentSwitch) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *absentSwitch) Hold(ago, limit time.Duration) error {
	s.note("hold ago=%v limit=%v", ago, limit)
	return nil
}
func (s *absentSwitch) Release() { s.note("release") }
func (s *absentSwitch) OpenVSwitchAway(reason error, held time.Duration) {
	s.note("tell %v held=%v", reason, held)
}
func (s *absentSwitch) ConnectionError() error { return s.connection }
func (s *absentSwitch) MissingFlows(context.Context) (string, error) {
	s.asked++
	return s.missing, s.unanswered
}
func (*absentSwitch) SetInterceptor(coherency.Interceptor)    {}
func (*absentSwitch) InstallMarkFlows([]coherency.Mark) error { return nil }
func (*absentSwitch) UninstallMarkFlows([]string) error       { return nil }

func (s *absentSwitch) take() []string {
	l := s.log
	s.log = nil
	return l
}

// lookoutEnv has a clock that moves from one look to the next.
type lookoutEnv struct {
	*lookout
	sw  *absentSwitch
	now time.Time
}

func newLookout() *lookoutEnv {
	sw := &absentSwitch{}
	start := time.Unix(1000, 0)
	a := &absence{observer: sw, leases: sw, failures: &failures{}}
	exists := func() (bool, error) { return !sw.noDatapath, nil }
	return &lookoutEnv{&lookout{flows: sw, datapathExists: exists, absence: a, connected: start, complete: start}, sw, start}
}

// pass looks every interval until the time has passed.
func (e *lookoutEnv) pass(d time.Duration) {
	for end := e.now.Add(d); e.now.Before(end); {
		e.now = e.now.Add(connectionCheckInterval)
		e.check(e.now)
	}
}

var errDisconnected = errors.New("EOF")

// TestLeasesAreHeld: they are held from the last time that Open vSwitch was there until it is back with its flows, but not longer than the grace time.
func TestLeasesAreHeld(t *testing.T) {
	e := newLookout()
	e.pass(5 * time.Second)
	require.Empty(t, e.sw.take())
	require.Equal(t, 5, e.sw.asked, "a look at the connection asks nothing")

	e.sw.connection = errDisconnected
	e.pass(10 * time.Second)
	require.Equal(t, []string{"hold ago=100ms limit=1m0s", "tell ovs-vswitchd cannot be reached held=1m0s"}, e.sw.take())
	require.Equal(t, "away for 10s, leases are held for 50s more: ovs-vswitchd cannot be reached", e.absence.status(e.now).String())
	e.sw.connection, e.sw.missing = nil, "table Output has 0 flows"
	e.pass(time.Second)
	require.Equal(t, []string{"tell flows are missing on the bridge: table Output has 0 flows held=50s"}, e.sw.take(), "it is there, without flows: the limit stays")
	e.sw.missing = ""
	e.pass(connectionCheckInterval)
	require.Equal(t, []string{"release", "tell <nil> held=0s"}, e.sw.take())
	require.Nil(t, e.absence.status(e.now))
	e.pass(10 * time.Second)
	require.Empty(t, e.sw.take())

	e.sw.connection = errDisconnected
	e.pass(10 * time.Minute)
	require.Equal(t, []string{"hold ago=100ms limit=1m0s", "tell ovs-vswitchd cannot be reached held=1m0s", "release", "tell ovs-vswitchd cannot be reached held=0s"}, e.sw.take(),
		"the grace time has ended, and does not begin again")
	require.Contains(t, e.absence.status(e.now).String(), "leases end: ovs-vswitchd cannot be reached")
	e.sw.connection = nil
	e.pass(time.Second)
	require.Equal(t, []string{"release", "tell <nil> held=0s"}, e.sw.take())
}

// TestWhatIsAway: Open vSwitch is also away when ovs-vswitchd can be reached and cannot forward, perhaps since the last look.
func TestWhatIsAway(t *testing.T) {
	for _, test := range []struct {
		name string
		away func(*absentSwitch)
		want []string
	}{
		{"flows", func(s *absentSwitch) { s.missing = "table Output has 0 flows" }, []string{"hold ago=1s limit=1m0s", "tell flows are missing on the bridge: table Output has 0 flows held=1m0s"}},
		{"datapath", func(s *absentSwitch) { s.noDatapath = true }, []string{"hold ago=100ms limit=1m0s", "tell the kernel has no datapath of Open vSwitch held=1m0s"}},
		{"no answer is none of these", func(s *absentSwitch) { s.unanswered = context.DeadlineExceeded }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := newLookout()
			e.pass(3 * time.Second)
			test.away(e.sw)
			e.pass(3 * time.Second)
			require.Equal(t, test.want, e.sw.take())
		})
	}
}

// TestTheTimeIsOverWithoutAnAnswer: the kernel ends the hold by itself, and an operator is told, also when the switch is back but does not answer.
func TestTheTimeIsOverWithoutAnAnswer(t *testing.T) {
	e := newLookout()
	e.sw.connection = errDisconnected
	e.pass(10 * time.Second)
	e.sw.take()
	e.sw.connection, e.sw.unanswered = nil, context.DeadlineExceeded
	e.pass(graceTime)
	require.Equal(t, []string{"release", "tell ovs-vswitchd cannot be reached held=0s"}, e.sw.take())
	require.Equal(t, "away for 70s, leases end: ovs-vswitchd cannot be reached", e.absence.status(e.now).String())
	e.sw.unanswered = nil
	e.pass(connectionCheckInterval)
	require.Equal(t, []string{"release", "tell <nil> held=0s"}, e.sw.take())
}

// TestLeasesThatEndedLongAgoStayOver: a switch that has not answered for long may have refused to confirm them.
func TestLeasesThatEndedLongAgoStayOver(t *testing.T) {
	e := newLookout()
	e.sw.unanswered = context.DeadlineExceeded
	e.pass(30 * time.Second)
	require.Empty(t, e.sw.take())
	e.sw.missing, e.sw.unanswered = "table Output has 0 flows", nil
	e.pass(connectionCheckInterval)
	require.Equal(t, "hold ago=2s limit=1m0s", e.sw.take()[0])
}

// TestFlappingConnection: each absence begins where the switch was last there with its flows, so what it does not confirm in between is held only once.
func TestFlappingConnection(t *testing.T) {
	e := newLookout()
	var held int
	for range 100 {
		e.sw.connection = errDisconnected
		e.pass(time.Second)
		e.sw.connection = nil
		e.pass(time.Second)
		for _, entry := range e.sw.take() {
			if strings.HasPrefix(entry, "hold") {
				held++
				require.Equal(t, "hold ago=100ms limit=1m0s", entry)
			}
		}
	}
	require.Equal(t, 100, held)
}

// TestMetricsOfAnAbsence: an operator sees that Open vSwitch is away, and whether flows survive.
func TestMetricsOfAnAbsence(t *testing.T) {
	e := newLookout()
	requireMetrics := func(away, held, count int) {
		t.Helper()
		want := fmt.Sprintf(`# HELP antrea_agent_oncache_leases_held 1 while leases continue because Open vSwitch is away.
# TYPE antrea_agent_oncache_leases_held gauge
antrea_agent_oncache_leases_held %d
# HELP antrea_agent_oncache_open_vswitch_absence_count How often Open vSwitch was found to be away.
# TYPE antrea_agent_oncache_open_vswitch_absence_count counter
antrea_agent_oncache_open_vswitch_absence_count %d
# HELP antrea_agent_oncache_open_vswitch_away 1 while Open vSwitch cannot confirm entries: ovs-vswitchd cannot be reached, or flows or the kernel's datapath are missing.
# TYPE antrea_agent_oncache_open_vswitch_away gauge
antrea_agent_oncache_open_vswitch_away %d
`, held, count, away)
		collect := func(ch chan<- prometheus.Metric) { e.absence.collect(collector{ch}) }
		require.NoError(t, testutil.CollectAndCompare(collects(collect), strings.NewReader(want)))
	}
	requireMetrics(0, 0, 0)
	e.sw.connection = errDisconnected
	e.pass(time.Second)
	requireMetrics(1, 1, 1)
	e.pass(graceTime)
	requireMetrics(1, 0, 1)
	e.sw.connection = nil
	e.pass(time.Second)
	requireMetrics(0, 0, 1)
}
