// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/multicluster/policy"
)

// Times of Antrea.
const (
	// timeout is the time for which a member counts as ready after its last announce, checkInterval the time between two looks.
	timeout       = 30 * time.Second
	checkInterval = 10 * time.Second
	// staleAfter is the age of the last announce, by the member's clock, at which a member counts as gone for good.
	staleAfter = 24 * time.Hour
)

// unheardFor is the time that members have to reach a leader that was away before it takes any of them for gone.
const unheardFor = time.Hour

// The objects that are written.
var (
	clusterSets     = change.Type{Resource: v1alpha2.ClusterSets, Kind: v1alpha2.ClusterSetKind}
	announces       = change.Type{Resource: v1alpha1.MemberClusterAnnounces, Kind: v1alpha1.MemberClusterAnnounceKind}
	resourceExports = change.Type{Resource: v1alpha1.ResourceExports, Kind: v1alpha1.ResourceExportKind}
	resourceImports = change.Type{Resource: v1alpha1.ResourceImports, Kind: v1alpha1.ResourceImportKind}
)

// snapshot is all objects of the Common Area, in the order of their names.
type snapshot struct {
	now       time.Time
	namespace string
	// set is the leader's ClusterSet; nil if there is none.
	set       *v1alpha2.ClusterSet
	announces []*v1alpha1.MemberClusterAnnounce
	exports   []*v1alpha1.ResourceExport
	imports   []*v1alpha1.ResourceImport
	// malformed are ResourceImports that no member can read.
	malformed []metav1.Object
	// policies knows versions of policies that were read before; nil without a memory.
	policies *policy.Reader
}

// core remembers when members were heard, and which policies were read.
type core struct {
	heard map[string]heard // by cluster ID
	// until has the times until which exports of clusters without an announce count, by cluster ID; nil before the first plan.
	until    map[string]time.Time
	policies policy.Reader
}

// heard is the last announce of a member.
type heard struct {
	version string
	at      time.Time
}

func newCore() *core { return &core{heard: map[string]heard{}} }

// plan returns what has to be written, in this order.
func (c *core) plan(s *snapshot) []change.Change {
	c.policies.Begin()
	s.policies = &c.policies
	c.listen(s)
	c.expect(s)
	leaving := s.leaving()
	for id, until := range c.until {
		leaving[id] = leaving[id] || !s.now.Before(until)
	}
	imports, accepted := s.importChanges(leaving)
	// Members and their state come first: a round of writes may end before the rest.
	changes := c.announceChanges(s, leaving)
	if s.set != nil {
		changes = append(changes, c.statusChanges(s)...)
	}
	return slices.Concat(changes, s.removals(leaving), imports, s.exportChanges(accepted))
}

// listen notes which members have announced themselves since the last plan.
func (c *core) listen(s *snapshot) {
	present := map[string]heard{}
	for _, a := range s.announces {
		h, known := c.heard[a.ClusterID]
		if !known || h.version != a.ResourceVersion {
			h = heard{a.ResourceVersion, s.now}
		}
		present[a.ClusterID] = h
	}
	c.heard = present
}

// expect gives clusters that export without an announce time to announce themselves: at the start as long as members have after an outage, later
// as long as a watch may lag behind another one. After that they count as members that leave: with a token, exports may be written without one.
func (c *core) expect(s *snapshot) {
	grace := timeout
	if c.until == nil {
		grace = unheardFor
	}
	announced, until := map[string]bool{}, map[string]time.Time{}
	for _, a := range s.announces {
		announced[a.ClusterID] = true
	}
	for _, e := range s.exports {
		id := e.Spec.ClusterID
		if announced[id] || !converges(e.Spec.Kind) || !ofMember(e) {
			continue
		}
		if until[id] = s.now.Add(grace); !c.until[id].IsZero() {
			until[id] = c.until[id]
		}
	}
	c.until = until
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}
