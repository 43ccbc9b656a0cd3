// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

const (
	// watchInterval is the interval at which the programs write their progress, and at which it is read.
	watchInterval = 200 * time.Millisecond
	// grace limits the time for a traffic program to end after SIGTERM: it waits for late replies and confirmations.
	grace = 70 * time.Second
	// window is the maximum number of datagrams in flight. While nothing flows, one a second is sent.
	window = 50
)

// traffic is everything that flows from one start of its programs to their end.
type traffic struct {
	w       *world
	servers []*cluster.Process
	// caught are the UDP servers that must receive nothing.
	caught []*cluster.Process
	flows  map[flow]*program
	probes map[string]*program
	// outward are the connections of the unrelated Pods to the host outside the cluster.
	outward [2]*program

	cancel   context.CancelFunc
	watching sync.WaitGroup
}

// startTraffic returns when everything flows, and on the fast path where there is one. round makes the ports of flows
// differ from the round before.
func (w *world) startTraffic(ctx context.Context, round int) (*traffic, error) {
	t := &traffic{w: w, flows: map[flow]*program{}, probes: map[string]*program{}}
	for _, server := range []*cluster.Pod{w.far, w.near} {
		for _, args := range [][]string{
			{"udp-echo", listen(server, echoPort)}, {"tcp-echo", listen(server, requestPort)}, {"crr-server", "--concurrent", listen(server, shortPort)},
			{"crr-server", "--concurrent", listen(server, serviceShortPort)},
		} {
			if _, err := t.serve(ctx, server.Space, args...); err != nil {
				return t, err
			}
		}
		p, err := t.serve(ctx, server.Space, "udp-echo", listen(server, forbiddenPort))
		if err != nil {
			return t, err
		}
		t.caught = append(t.caught, p)
	}
	if _, err := t.serve(ctx, w.target.Space, "crr-server", "--concurrent", listen(w.target, shortPort)); err != nil {
		return t, err
	}
	for i, f := range allFlows() {
		if !w.options.flows.MatchString(f.String()) {
			continue
		}
		p, err := t.startFlow(ctx, f, 20000+(round%50)*100+i)
		if err != nil {
			return t, fmt.Errorf("%s: %w", f, err)
		}
		t.flows[f] = p
	}
	if err := t.startProbes(); err != nil {
		return t, err
	}
	if err := t.startOutward(ctx); err != nil {
		return t, err
	}
	var watch context.Context
	watch, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	t.watching.Go(func() { t.watch(watch) })
	return t, errors.Join(t.waitFlowing(ctx), t.waitOutward(ctx))
}

func listen(pod *cluster.Pod, port int) string { return fmt.Sprintf("--listen=%s:%d", pod.IP, port) }

// run starts a subcommand of traffic. Agents and Open vSwitch have priority, where CPU time is short.
func (t *traffic) run(space *cluster.Space, args ...string) (*cluster.Process, error) {
	return space.Start(append([]string{"nice", "traffic"}, args...)...)
}

// serve starts a server and waits until it is ready.
func (t *traffic) serve(ctx context.Context, space *cluster.Space, args ...string) (*cluster.Process, error) {
	p, err := t.run(space, args...)
	if err != nil {
		return nil, err
	}
	t.servers = append(t.servers, p)
	return p, eventually(ctx, args[0]+" on "+space.Name, func() error {
		if !strings.Contains("\n"+p.Stderr(), "\nready") {
			return errors.New(lastLine(p.Stderr()))
		}
		return nil
	})
}

// startFlow starts the client of a flow. The direct one between Nodes has most of the traffic: a machine that is emulated has no time for
// four times as much.
func (t *traffic) startFlow(ctx context.Context, f flow, local int) (*program, error) {
	server, service := t.w.far, t.w.farService
	if f.within {
		server, service = t.w.near, t.w.nearService
	}
	to := func(port int) string {
		if f.service {
			return "--to=" + netip.AddrPortFrom(service, uint16(port+serviceShift)).String()
		}
		return "--to=" + netip.AddrPortFrom(server.IP, uint16(port)).String()
	}
	share := t.w.load
	if f.within || f.service {
		share /= 10
	}
	from, progress, rate := fmt.Sprintf("--from=:%d", local), fmt.Sprint("--progress=", watchInterval), func(r float64) string { return fmt.Sprint("--rate=", uint64(max(1, r*share))) }
	p := &program{since: time.Now()}
	var err error
	switch f.pattern {
	case stream:
		port := streamPort
		if f.service {
			port = serviceStream
		}
		if _, err = t.serve(ctx, server.Space, "tcp-sink", listen(server, port)); err != nil {
			return nil, err
		}
		p.process, err = t.run(t.w.client.Space, "tcp-send", from, to(port), rate(500_000), progress)
	case ping:
		p.process, err = t.run(t.w.client.Space, "udp-ping", from, to(echoPort), rate(1000), fmt.Sprint("--window=", window), progress)
	case requests:
		p.process, err = t.run(t.w.client.Space, "rr", to(requestPort), "--duration=0", rate(100), progress)
	case short:
		port := shortPort
		if f.service {
			port = serviceShortPort
		}
		p.process, err = t.run(t.w.client.Space, "crr", to(port), "--duration=0", "--tolerant", rate(10), progress)
	}
	return p, err
}

// snapshot is the progress of everything at one time.
type snapshot struct {
	flows  map[flow]progressOf
	probes map[string]progressOf
}

func (t *traffic) snapshot() snapshot {
	s := snapshot{map[flow]progressOf{}, map[string]progressOf{}}
	for f, p := range t.flows {
		s.flows[f] = p.state()
	}
	for name, p := range t.probes {
		s.probes[name] = p.state()
	}
	return s
}

// watch reads the progress until ctx ends.
func (t *traffic) watch(ctx context.Context) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for _, p := range t.flows {
				p.read(now)
			}
			for _, p := range t.probes {
				p.read(now)
			}
			for _, p := range t.outward {
				p.read(now)
			}
		}
	}
}

// waitFlowing waits until all flows receive something, as often as it has to.
func (t *traffic) waitFlowing(ctx context.Context) error {
	before := map[flow]progressOf{}
	for f, p := range t.flows {
		before[f] = p.state()
	}
	return eventually(ctx, "all flows", func() error {
		for f, p := range t.flows {
			if p.broken() != "" {
				continue // the oracle says so
			}
			if now := p.state(); now.received <= before[f].received {
				return fmt.Errorf("%s stands still at %d", f, now.received)
			}
		}
		return nil
	})
}

// waitJudged waits until everything that was sent until now is known to be answered or late, and gives what is late its time.
func (t *traffic) waitJudged(ctx context.Context, e event, before map[flow]progressOf) error {
	until := map[flow]uint64{}
	for f, p := range t.flows {
		until[f] = p.state().sent
	}
	err := eventually(ctx, "the fate of all packets", func() error {
		for f, p := range t.flows {
			if now := p.state(); p.broken() == "" && now.received+now.late < until[f] {
				return fmt.Errorf("%s: %d received and %d late of %d", f, now.received, now.late, until[f])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.waitLate(ctx, e, before)
}

// patienceForLate limits the delay of a packet that must not be lost.
const patienceForLate = 15 * time.Second

// waitLate waits for packets that are late and must not be lost. If they do not come in time, they are lost.
func (t *traffic) waitLate(ctx context.Context, e event, before map[flow]progressOf) error {
	begin := time.Now()
	return eventually(ctx, "packets that are late", func() error {
		for f, p := range t.flows {
			late := p.state().late
			if late > before[f].late && p.broken() == "" && f.counted() && !e.kind.concerns(f) && time.Since(begin) < patienceForLate {
				return fmt.Errorf("%s: %d late", f, late-before[f].late)
			}
		}
		return nil
	})
}

// waitVerdict waits until a probe that is allowed is delivered.
func (t *traffic) waitVerdict(ctx context.Context) error {
	for name, v := range t.verdicts() {
		if v != allowed {
			continue
		}
		p := t.probes[name]
		before := p.state()
		err := eventually(ctx, name+", which is allowed", func() error {
			if now := p.state(); now.received <= before.received {
				return fmt.Errorf("%d of %d were delivered", now.received, now.sent)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dump writes the output of all clients into a directory.
func (t *traffic) dump(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var errs []error
	write := func(name string, p *program) {
		text := p.process.Stdout() + p.process.Stderr()
		errs = append(errs, os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, " ", "-")), []byte(text), 0o644))
	}
	for f, p := range t.flows {
		write(f.String(), p)
	}
	for name, p := range t.probes {
		write(name, p)
	}
	for i, p := range t.outward {
		if p != nil {
			write("to outside from "+t.w.strangers[i].PodName, p)
		}
	}
	return errors.Join(errs...)
}

// logTime prints nanoseconds since 1970 as the logs of agents and Open vSwitch do.
func logTime(ns int64) string { return time.Unix(0, ns).UTC().Format("15:04:05.000") }

// end ends all programs and returns what they complain about.
func (t *traffic) end() (complaints []string, caught uint64, err error) {
	if t.cancel != nil {
		t.cancel()
		t.watching.Wait()
	}
	complain := func(f fmt.Stringer, format string, args ...any) {
		complaints = append(complaints, f.String()+": "+fmt.Sprintf(format, args...))
	}
	for f, p := range t.flows {
		if p.broken() != "" {
			continue
		}
		if stopErr := p.process.Stop(grace); stopErr != nil {
			err = errors.Join(err, stopErr)
			continue
		}
		switch f.pattern {
		case stream:
			if code := p.process.ExitCode(); code != 0 {
				complain(f, "the stream has not arrived intact: %s", lastLine(p.process.Stderr()))
			}
		case ping:
			var r report.Ping
			if err := json.Unmarshal([]byte(p.process.Stdout()), &r); err != nil || r.Duplicated > 0 || r.Corrupted > 0 || r.SendErrors > 0 {
				complain(f, "%d duplicated, %d corrupted, %d not sent (%v)", r.Duplicated, r.Corrupted, r.SendErrors, err)
			}
			for _, l := range r.Losses {
				t.w.progress.Printf("%s: %d lost, sent from %s to %s", f, l.Lost, logTime(l.Began), logTime(l.Ended))
			}
			if late := p.state().late; uint64(r.Lost) > late {
				complain(f, "%d were lost, %d of them during events", r.Lost, late)
			}
		default:
			if code := p.process.ExitCode(); code != 0 {
				complain(f, "%s", lastLine(p.process.Stderr()))
			}
		}
	}
	for _, p := range t.probes {
		p.process.Kill()
	}
	for _, p := range t.outward {
		p.process.Kill()
	}
	for _, p := range t.caught {
		err = errors.Join(err, p.Stop(grace))
		var r report.Echo
		if jsonErr := json.Unmarshal([]byte(p.Stdout()), &r); jsonErr != nil {
			err = errors.Join(err, jsonErr)
		}
		caught += r.Packets
	}
	for _, p := range t.servers {
		p.Kill()
	}
	return complaints, caught, err
}
