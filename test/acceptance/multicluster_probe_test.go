// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// gatewayGap is the longest time without an answer while another Node that works becomes the gateway: the change passes two controllers and the leader.
var gatewayGap = limit(15 * time.Second)

// probed counts requests, which were sent one after another.
type probed struct {
	answered, lost int
	// gap is the longest time between two answers.
	gap time.Duration
}

// probe sends requests of HTTP over new connections from a Pod, about ten a second, for at most the given time. The returned function ends that.
func (m *member) probe(t *testing.T, from *corev1.Pod, address string, port int, most time.Duration) (end func() probed) {
	t.Helper()
	const id = "/tmp/probe.pid"
	script := fmt.Sprintf(`echo $$ >%s; while :; do curl -s -o /dev/null -m 3 http://%s:%d/hostname; echo $? $(date +%%s%%N); sleep .1; done`, id, address, port)
	wait := m.start(t, from, most, "sh", "-c", script)
	return func() probed {
		t.Helper()
		_, _, _ = m.run(t.Context(), from, "", "sh", "-c", "kill $(cat "+id+")")
		r := wait()
		p, err := readProbe(r.stdout)
		require.NoErrorf(t, err, "%s%v", r.stderr, r.err)
		t.Logf("%s of %s to %s: %d answers, %d lost, at most %.1f s between two answers", from.Name, m.name, address, p.answered, p.lost, p.gap.Seconds())
		return p
	}
}

// readProbe reads lines of an exit code and a time in nanoseconds.
func readProbe(text string) (p probed, err error) {
	var last, now int64
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			break // It was ended within this one.
		}
		var code int
		if _, err := fmt.Sscanf(line, "%d %d\n", &code, &now); err != nil {
			return p, fmt.Errorf("line %q: %w", line, err)
		}
		if last == 0 {
			last = now
		}
		if code != 0 {
			p.lost++
			continue
		}
		p.answered++
		p.gap, last = max(p.gap, time.Duration(now-last)), now
	}
	if p.answered == 0 {
		return p, fmt.Errorf("no answer to %d requests", p.lost)
	}
	p.gap = max(p.gap, time.Duration(now-last))
	return p, nil
}

// traffic is requests between clusters in both directions.
type traffic struct{ toB, toA func() probed }

// begin starts requests of Pods on first Nodes to a Pod of b on the first Node, which does not lose its network, and to a Service of a.
func (s *clusterSet) begin(t *testing.T, most time.Duration) traffic {
	t.Helper()
	server := s.serviceOf(t, s.a, "steady", webPort, webPodPort, s.a.id+"-1")
	return traffic{
		toB: s.a.probe(t, s.mcClients(t, s.a)[0], s.webPod(t, s.b, 0).Status.PodIP, webPodPort, most),
		toA: s.b.probe(t, s.mcClients(t, s.b)[0], server, webPort, most),
	}
}

// end requires that no direction was without an answer for longer than most.
func (tr traffic) end(t *testing.T, most time.Duration) {
	t.Helper()
	for _, p := range tr.both() {
		require.LessOrEqual(t, p.gap, most)
	}
}

// endWhole requires that nothing was lost.
func (tr traffic) endWhole(t *testing.T) {
	t.Helper()
	for _, p := range tr.both() {
		require.Zero(t, p.lost)
	}
}

func (tr traffic) both() []probed { return []probed{tr.toB(), tr.toA()} }

// streamWithin starts a stream within a. The returned function requires that it was never interrupted for long.
func (s *clusterSet) streamWithin(t *testing.T) (end func()) {
	t.Helper()
	within := s.a.iperfUntil(t, s.mcClients(t, s.a)[1], s.webPod(t, s.a, 0).Status.PodIP, "--bitrate", modest)
	return func() {
		t.Helper()
		require.LessOrEqual(t, longestGap(within()), interruption)
	}
}

// watchLeaks counts packets of a cluster's Pods that some of its Nodes would forward to the other cluster outside the tunnel. The returned function
// requires that there were none.
func (s *clusterSet) watchLeaks(t *testing.T, m *member, nodes ...string) (check func()) {
	t.Helper()
	var checks []func()
	for _, network := range []string{s.services(t, m), s.other(m).podNetwork(t)} {
		for _, node := range nodes {
			agent := m.agentOn(t, node)
			rule := []string{"FORWARD", "-i", gateway, "-d", network}
			m.exec(t, agent, agentContainer, append([]string{"iptables", "-w", "-I"}, rule...)...)
			t.Cleanup(func() {
				_, _, err := m.run(withoutCancel(t), agent, agentContainer, append([]string{"iptables", "-w", "-D"}, rule...)...)
				require.NoError(t, err)
			})
			checks = append(checks, func() {
				t.Helper()
				out := m.exec(t, agent, agentContainer, "iptables", "-w", "-nvxL", "FORWARD")
				for line := range strings.Lines(out) {
					if fields := strings.Fields(line); strings.Contains(line, gateway) && strings.Contains(line, network) {
						require.Equal(t, "0", fields[0], "%s of %s sends packets for %s outside the tunnel: %s", node, m.name, network, out)
						return
					}
				}
				t.Fatalf("%s of %s has lost the rule that counts packets for %s: %s", node, m.name, network, out)
			})
		}
	}
	return func() {
		t.Helper()
		for _, check := range checks {
			check()
		}
	}
}
