// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"slices"

	"github.com/antrea-oncache/antrea/test/policy"
)

// Live runs a set in a new world, with the bad things that include selects, and returns the state after each phase.
func (s *Script) Live(w *World, include func(*bad) bool) ([]*state, error) {
	var states []*state
	var closed []*policy.Probe
	for _, p := range s.phases {
		release := func() {}
		if p.disturbs {
			release = w.guard(closed)
		}
		for _, step := range p.steps {
			if step.bad != nil && !include(step.bad) {
				continue
			}
			if err := step.do(w); err != nil {
				return nil, fmt.Errorf("phase %s: %w", p.name, err)
			}
			if step.waits {
				w.quiet()
			}
		}
		if p.begins {
			s.connectLate(w)
		}
		w.settle()
		s.connectAgain(w)
		release()
		state := w.look(p)
		if p.begins {
			s.disconnectLate(w)
		}
		states = append(states, state)
		closed = nil
		for i, probe := range p.probes {
			if state.outcomes[i] != delivered && state.outcomes[i] != absent {
				closed = append(closed, probe)
			}
		}
		closed = closed[:min(len(closed), mostGuarded)]
	}
	return states, nil
}

// mostGuarded is the maximum number of probes that are sent after each bundle.
const mostGuarded = 30

// connectAgain does what a kubelet does with Pods that could not be connected.
func (s *Script) connectAgain(w *World) {
	for _, pod := range s.phases[0].world.Pods {
		h := w.host(pod.Node)
		if !slices.Contains(s.late, pod) && h.interfaceConfig(pod) == nil && h.isReady() {
			_ = connect(pod)(w)
		}
	}
	w.quiet()
}

func (s *Script) connectLate(w *World) {
	for _, pod := range s.late {
		_ = connect(pod)(w)
	}
}

func (s *Script) disconnectLate(w *World) {
	for _, pod := range s.late {
		if err := w.host(pod.Node).disconnect(w.runtime, pod); err != nil {
			w.incident("DEL of %s/%s: %v", pod.Namespace, pod.Name, err)
		}
	}
}

// Difference is the difference between two runs of a set, in one phase at most. The zero value means that there is none.
type Difference struct {
	// Phase is the first phase that differs, Found are the differences in it.
	Phase string
	Found []string
	// Problems are the agents' reports in the second run at that time.
	Problems []string
}

// Compare returns the difference between two runs of the set, the first without bad things.
func (s *Script) Compare(a, b []*state) Difference {
	for i, p := range s.phases {
		if len(a[i].incidents) > 0 {
			return Difference{p.name, []string{fmt.Sprint("without anything bad: ", a[i].incidents)}, a[i].problems}
		}
		if found := differences(a[i], b[i]); len(found) > 0 {
			return Difference{p.name, found, b[i].problems}
		}
	}
	return Difference{}
}
