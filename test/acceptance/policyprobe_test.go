// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/test/acceptance/policycases"
)

// attempt is a new connection from a Pod of a bed.
type attempt struct {
	from, to string // a name of the bed, and an address with a port
	protocol string
	want     string
	label    string // for messages
}

// script calls a command for each of its arguments $t, side by side, and prints the argument with the exit code and what the command says.
func script(command string) string {
	return `for t in "$@"; do (e=$(` + command + ` 2>&1); echo "$t $?" $e) & done; wait`
}

// commands are the commands by protocol. For TCP and addresses nc does what upstream's agnhost does, for a sixth of the CPU time.
var commands = map[string]string{
	policycases.TCP:  fmt.Sprintf(`nc -vz -w %d ${t%%:*} ${t##*:}`, int(limit(time.Second).Seconds())),
	policycases.UDP:  agnhost(policycases.UDP),
	policycases.SCTP: agnhost(policycases.SCTP),
	policycases.ICMP: "ping -c 2 -i 0.3 -W 1 ${t%:*}",
	policycases.Name: agnhost(policycases.TCP),
}

func agnhost(protocol string) string {
	return fmt.Sprintf("/agnhost connect $t --timeout=%s --protocol=%s", limit(time.Second), protocol)
}

// connect tries connections of one Pod and returns the results by address.
func (c *cluster) connect(t *testing.T, from *corev1.Pod, protocol string, to []string) (map[string]string, error) {
	command := append([]string{"/bin/bash", "-c", script(commands[protocol]), "connect"}, to...)
	stdout, stderr, err := c.run(t.Context(), from, "", command...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", from.Name, err, stderr)
	}
	results := map[string]string{}
	for line := range strings.Lines(stdout) {
		address, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		code, message, _ := strings.Cut(rest, " ")
		results[address] = verdict(code, message)
	}
	return results, nil
}

// verdict is the result of a new connection, as upstream reads it from the exit code and the message.
func verdict(code, message string) string {
	contains := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(strings.ToLower(message), part) })
	}
	switch {
	// agnhost's server over SCTP ends the connection at once, sometimes before the client has written.
	case code == "0", contains("broken pipe", "endpoint shutdown"):
		return policycases.Connected
	case contains("refused", "no route to host", "permission denied", "filtered", "prohibited"):
		return policycases.Rejected
	case contains("timeout", "timed out", "100% packet loss", "operation not permitted"): // the last is of the sender's own Node
		return policycases.Dropped
	}
	return code + " " + message
}

// attempts are the connections of a step.
func (b *policyBed) attempts(t *testing.T, s policycases.Step) (all []attempt) {
	t.Helper()
	protocol, ports := cmp.Or(s.Protocol, policycases.TCP), s.Ports
	if len(ports) == 0 {
		ports = []int{80}
	}
	if !s.NoMesh {
		mesh, err := s.Mesh(b.mesh)
		require.NoError(t, err)
		for pair, want := range mesh {
			for _, port := range ports {
				all = append(all, b.attempt(pair.From, b.pods[pair.To].Status.PodIP, port, protocol, want, pair.To))
			}
		}
	}
	for _, p := range s.Probes {
		all = append(all, b.attempt(p.From, b.expand(t, p.To), cmp.Or(p.Port, 80), cmp.Or(p.Protocol, protocol), p.Want, p.To))
	}
	return all
}

func (b *policyBed) attempt(from, address string, port int, protocol, want, name string) attempt {
	return attempt{
		from: from, to: net.JoinHostPort(address, strconv.Itoa(port)), protocol: protocol, want: want,
		label: fmt.Sprintf("%s to %s port %d %s", from, name, port, protocol),
	}
}

// try makes connections, side by side for different Pods, and returns the results in the order of the attempts.
func (b *policyBed) try(t *testing.T, attempts []attempt) []string {
	type client struct{ from, protocol string }
	byClient := map[client][]string{}
	for _, a := range attempts {
		of := client{a.from, a.protocol}
		byClient[of] = append(byClient[of], a.to)
	}
	var mu sync.Mutex
	var running sync.WaitGroup
	results := map[client]map[string]string{}
	for of, to := range byClient {
		running.Go(func() {
			got, err := b.c.connect(t, b.pods[of.from], of.protocol, to)
			mu.Lock()
			defer mu.Unlock()
			if results[of] = got; err != nil {
				t.Logf("%v", err)
			}
		})
	}
	running.Wait()
	var ordered []string
	for _, a := range attempts {
		ordered = append(ordered, cmp.Or(results[client{a.from, a.protocol}][a.to], "no result"))
	}
	return ordered
}

// tries is the number of attempts that upstream makes until it believes a result.
const tries = 3

// check makes the connections of a step until all have the expected results: at most three times, and longer until patience ends. A connection
// that a policy which is realized must deny, and which comes about, is a failure at once.
func (b *policyBed) check(t *testing.T, s policycases.Step, patience time.Duration) {
	t.Helper()
	wrong, begun := b.attempts(t, s), time.Now()
	for round := 1; ; round++ {
		results := b.try(t, wrong)
		var again []attempt
		var text []string
		leaked := false
		for i, a := range wrong {
			if results[i] != a.want {
				again = append(again, a)
				text = append(text, fmt.Sprintf("%s: %s, want %s", a.label, results[i], a.want))
				leaked = leaked || results[i] == policycases.Connected && !s.Unacknowledged()
			}
		}
		if wrong = again; len(wrong) == 0 {
			return
		}
		if leaked || round >= tries && time.Since(begun) > patience {
			slices.Sort(text)
			require.Failf(t, "wrong results", "%d, after %d tries in %.1f s:\n%s", len(text), round, time.Since(begun).Seconds(), strings.Join(text, "\n"))
		}
	}
}
