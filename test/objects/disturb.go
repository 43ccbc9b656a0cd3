// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"math/rand/v2"

	"github.com/antrea-oncache/antrea/test/policy"
)

// disturbance stops and restarts something other than an object. Good objects do not change at the same time.
func (s *Script) disturbance(rng *rand.Rand, world *policy.World, nodes []byte) {
	victim := rng.IntN(agents)
	stop := func(w *World) error { w.hosts[victim].stop(); return nil }
	start := func(w *World) error { return w.hosts[victim].start() }
	controllerStops := func(w *World) error { w.plane.stop(); return nil }
	controllerStarts := func(w *World) error { return w.plane.start() }
	var p *phase
	add := func(name string, steps ...func(*World) error) {
		p = s.phase(name, world, nodes)
		p.disturbs = true
		for _, do := range steps {
			p.good(do)
		}
	}
	switch rng.IntN(6) {
	case 0:
		add("an agent restarts", stop, start)
		p.begins = true
	case 1, 2:
		// Files are damaged while no agent runs.
		add("an agent restarts without controller", controllerStops, stop)
		for _, b := range s.Bad {
			if b.damage != nil {
				p.steps = append(p.steps, &step{bad: b, do: func(w *World) error { return b.damage(w, w.hosts[victim]) }})
			}
		}
		p.good(start)
		p.begins = true
		add("the controller is back", controllerStarts, func(w *World) error { clear(w.damaged); return nil })
	case 3:
		add("another controller", controllerStops, controllerStarts)
	case 4:
		add("the watches of agents end", func(w *World) error { w.plane.breakWatches(); return nil })
	default:
		gone := rng.IntN(2) == 0
		add("the watches of the API end", func(w *World) error { w.kube.breakWatches(gone); return nil })
	}
}
