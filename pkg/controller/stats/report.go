// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// report identifies a report of a Node. Reports of agents of other versions have no session.
type report struct {
	session  string
	sequence uint64
	// at is the time at which it was counted.
	at time.Time
}

// remembered is the time for which the latest report of a deleted Node is remembered, as its agent may repeat it. Its
// counts stay in the sums of the policies.
const remembered = time.Hour

// SetNode records whether the cluster has the Node.
func (a *Aggregator) SetNode(name string, exists bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if exists {
		a.nodes[name] = struct{}{}
	} else {
		delete(a.nodes, name)
	}
}

// sweep forgets reports of Nodes that are gone.
func (a *Aggregator) sweep(now time.Time) {
	if now.Sub(a.swept) < remembered {
		return
	}
	a.swept = now
	maps.DeleteFunc(a.last, func(node string, r report) bool {
		_, exists := a.nodes[node]
		return !exists && now.Sub(r.at) >= remembered
	})
}

// Report enters what an agent has counted. An error says what is wrong with the report as a whole; then none of it is counted. Entries
// that no agent of this version sends are left out with a message in the log, and so are, without one, policies that do not concern the
// Node, or not any more.
func (a *Aggregator) Report(summary *controlplane.NodeStatsSummary) error {
	id, err := identify(summary)
	if err != nil {
		return err
	}
	entries, bad := read(summary)
	// Not under the lock, so that the order of locks does not matter.
	entries = slices.DeleteFunc(entries, func(e entry) bool {
		concerned := a.policies.PolicyConcerns(e.policy, summary.Name)
		if !concerned {
			klog.V(2).InfoS("Did not count a policy that does not concern the Node", "node", summary.Name, "policy", e.policy)
		}
		return !concerned
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.sweep(now)
	if last := a.last[summary.Name]; id.session != "" && id.session == last.session && id.sequence <= last.sequence {
		klog.V(2).InfoS("Did not count a report again", "node", summary.Name, "session", id.session, "sequence", id.sequence)
		return nil
	}
	if len(bad) > 0 {
		klog.InfoS("Did not count entries of a Node's report", "node", summary.Name, "entries", len(bad), "first", bad[0].Error())
	}
	counted := false
	for _, e := range entries {
		name := types.NamespacedName{Namespace: e.policy.Namespace, Name: e.policy.Name}
		if sum := a.sums[e.policy.Type][name]; sum != nil && sum.UID == e.policy.UID {
			sum.add(e)
			counted = true
		}
	}
	// A report of which nothing was counted may come again. So only Nodes that a policy concerns are remembered.
	if counted && id.session != "" {
		id.at = now
		a.last[summary.Name] = id
	}
	return nil
}

func identify(summary *controlplane.NodeStatsSummary) (report, error) {
	if summary.Name == "" {
		return report{}, errors.New("metadata.name is empty; want the name of the Node")
	}
	session := summary.Annotations[v1beta2.StatsSessionAnnotation]
	if session == "" {
		return report{}, nil
	}
	if len(session) > v1beta2.MaxStatsSessionLength {
		return report{}, fmt.Errorf("annotation %s has %d bytes; allowed: %d", v1beta2.StatsSessionAnnotation, len(session), v1beta2.MaxStatsSessionLength)
	}
	text := summary.Annotations[v1beta2.StatsSequenceAnnotation]
	sequence, err := strconv.ParseUint(text, 10, 64)
	if err != nil || sequence == 0 {
		return report{}, fmt.Errorf("annotation %s is %q; want a number, 1 or more", v1beta2.StatsSequenceAnnotation, text)
	}
	return report{session: session, sequence: sequence}, nil
}
