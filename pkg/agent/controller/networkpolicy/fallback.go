// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// fallBack uses the stored objects, unless a complete set has arrived before, which then waits for no marks any more. When they are damaged it waits for
// antrea-controller until doubtDelay has passed since the start: while nothing is realized, the rules of the former agent
// are in force.
func (w *watcher) fallBack(reason error) {
	if w.synced {
		w.c.update(func(s *state) {
			if w.c.unsynced.Has(w.resource) {
				s.forgo(NetworkPolicies, AddressGroups, AppliedToGroups)
			}
		})
		return
	}
	if w.stored == nil {
		w.stored = w.load()
	}
	if left := w.doubtDelay - time.Since(w.began); len(w.stored.damages) > 0 && left > 0 {
		w.giveUp.Reset(left)
		return
	}
	set := w.setOf(w.stored.changes, func(s *state) { s.fellBack(w.resource, w.stored.lost) })
	w.c.update(func(s *state) {
		set.apply(s)
		s.forgo(w.resource)
	})
	klog.InfoS("Using what antrea-controller has sent to an earlier agent", "resource", w.resource, "objects", len(w.stored.changes), "reason", reason)
	if w.c.fresh {
		// The next agent finds Pods: it must know that they have no policies because none existed.
		w.storeAll()
	}
}

// load reads the stored objects, and reports those that cannot be used.
func (w *watcher) load() *loaded {
	if w.c.fresh {
		return &loaded{}
	}
	stored := w.files.load()
	for _, d := range stored.damages {
		w.c.problems.Report(ReasonStoredPolicyUnreadable, file(d.path), d.message)
	}
	return stored
}

func file(path string) problem.Subject { return problem.Subject{Kind: problem.KindFile, Name: path} }

// store stores the content of the change before it is applied.
func (w *watcher) store(ch change) {
	var err error
	if ch.stored == nil {
		err = w.files.remove(ch.name)
	} else {
		err = w.files.save(ch.stored)
	}
	if err != nil {
		w.notStored(err)
	}
}

// compact writes the object's file again when many patches have made it grow.
func (w *watcher) compact(name string) {
	if !w.files.outgrown(name) {
		return
	}
	if err := w.files.save(w.latest.object(w.resource, name)); err != nil {
		w.notStored(err)
	}
}

// storeAll writes all objects that have arrived again, which repairs damage.
func (w *watcher) storeAll() {
	var objects []any
	for _, name := range w.latest.names(w.resource) {
		objects = append(objects, w.latest.object(w.resource, name))
	}
	if err := w.files.replace(objects); err != nil {
		w.notStored(err)
		return
	}
	w.storeAgain.Stop()
	w.c.problems.Resolve(ReasonPolicyNotStored, file(w.files.dir))
	if w.stored != nil {
		for _, d := range w.stored.damages {
			w.c.problems.Resolve(ReasonStoredPolicyUnreadable, file(d.path))
		}
		w.stored = nil
	}
}

// notStored reports that the disk does not have everything that is in force, and schedules another attempt to write.
func (w *watcher) notStored(err error) {
	first, more, _ := strings.Cut(err.Error(), "\n")
	if more != "" {
		first = fmt.Sprintf("%s, and %d more errors", first, 1+strings.Count(more, "\n"))
	}
	w.c.problems.Report(ReasonPolicyNotStored, file(w.files.dir), first+
		"; an agent that starts without antrea-controller may isolate Pods. Objects are stored again every "+w.storeRetryDelay.String())
	w.storeAgain.Reset(w.storeRetryDelay)
}
