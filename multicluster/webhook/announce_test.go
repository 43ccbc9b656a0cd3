// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

func announceOf(id string, edits ...func(*v1alpha1.MemberClusterAnnounce)) *v1alpha1.MemberClusterAnnounce {
	a := &v1alpha1.MemberClusterAnnounce{
		ObjectMeta: metav1.ObjectMeta{Name: "member-announce-from-" + id}, ClusterID: id, ClusterSetID: "set", LeaderClusterID: "north",
	}
	for _, edit := range edits {
		edit(a)
	}
	return a
}

func account(name string) string { return "system:serviceaccount:antrea-multicluster:" + name }

func TestAnnounces(t *testing.T) {
	const notPermitted = `is not permitted for ServiceAccount "east-token" (expected multicluster.antrea.io/cluster-id annotation to match)`
	const leaders = "memberclusterannounce.finalizer.antrea.io/east"
	held := func(finalizers ...string) func(*v1alpha1.MemberClusterAnnounce) {
		return func(a *v1alpha1.MemberClusterAnnounce) { a.Finalizers = finalizers }
	}
	finalized := held(leaders)
	going := func(a *v1alpha1.MemberClusterAnnounce) { now := metav1.Now(); a.DeletionTimestamp = &now }
	of := func(id string, edits ...func(*v1alpha1.MemberClusterAnnounce)) string {
		return encoded(t, announceOf(id, edits...))
	}
	alone := func(s *state) { s.announces = nil }
	for _, d := range []decision{
		{name: "its own", user: account("new-token"), wanted: of("new")},
		{name: "another member's", user: east, wanted: of("west"), want: `ClusterID "west" ` + notPermitted},
		{name: "of an account that is not a member's", user: account("plain"), wanted: of("new"), want: `ClusterID "new" is not permitted for ServiceAccount "plain"`},
		{name: "of an empty annotation", user: account("empty-token"), wanted: of(""), want: `ClusterID "" is not permitted for ServiceAccount "empty-token"`},
		{name: "of an account that does not exist", user: account("gone"), wanted: of("new"), want: `ServiceAccount "gone" does not exist`},
		{name: "of an account elsewhere", user: "system:serviceaccount:default:east-token", wanted: of("east"), want: `is not in Namespace "antrea-multicluster"`},
		{name: "of an administrator", user: admin, wanted: of("new"), want: `user "kubernetes-admin" is not a ServiceAccount`},
		{name: "of a strange name", user: "system:serviceaccount:a:b:c", wanted: of("new"), want: "has the beginning of the name of one"},
		{name: "created by the controller", user: controller, wanted: of("new"), want: `is not permitted for ServiceAccount "antrea-mc-controller"`},
		{name: "no ClusterSet", user: account("new-token"), wanted: of("new"), state: func(s *state) { s.sets = nil }, want: "no ClusterSet found in Namespace antrea-multicluster"},
		{name: "another ClusterSet", user: account("new-token"), wanted: of("new", func(a *v1alpha1.MemberClusterAnnounce) { a.ClusterSetID = "other" }), want: "Unknown ClusterSet ID"},
		{name: "another leader", user: account("new-token"), wanted: of("new", func(a *v1alpha1.MemberClusterAnnounce) { a.LeaderClusterID = "south" }),
			want: "Leader cluster ID in the MemberClusterAnnounce does not match that in the ClusterSet"},
		{name: "a ClusterSet without leader", user: account("new-token"), wanted: of("new"), state: func(s *state) { s.sets[0].Spec.Leaders = nil }, want: "does not match that in the ClusterSet"},
		{name: "another name", user: account("new-token"), wanted: of("new", func(a *v1alpha1.MemberClusterAnnounce) { a.Name = "x" }),
			want: `MemberClusterAnnounce name must be "member-announce-from-new"`},
		{name: "an impossible ID", user: account("bad-token"), wanted: of("_"), want: `clusterID "_" cannot be the ID of a cluster`},
		{name: "with the beginning of another ID", user: account("east-1-token"), wanted: of("east-1"), want: `ClusterID "east-1" conflicts with member "east"`},
		{name: "the beginning of another ID", user: east, wanted: of("east"), state: func(s *state) { s.announces[0].ClusterID = "east-1" }, want: `ClusterID "east" conflicts with member "east-1"`},
		{name: "without others", user: account("east-1-token"), wanted: of("east-1"), state: alone},
		{name: "touched", user: east, wanted: of("east", func(a *v1alpha1.MemberClusterAnnounce) { a.Annotations = map[string]string{"touch-ts": "x"} }), former: of("east")},
		{name: "touched by another member", user: account("west-token"), wanted: of("east"), former: of("east"), want: `ClusterID "east" is not permitted for ServiceAccount "west-token"`},
		{name: "taken over", user: account("west-token"), wanted: of("west"), former: of("east"), want: `ClusterID "east" is not permitted`},
		{name: "another ClusterSet later", user: east, wanted: of("east", func(a *v1alpha1.MemberClusterAnnounce) { a.ClusterSetID = "other" }), former: of("east"),
			want: "ClusterSet ID or Leader Cluster ID cannot be changed"},
		{name: "another leader later", user: east, wanted: of("east", func(a *v1alpha1.MemberClusterAnnounce) { a.LeaderClusterID = "x" }), former: of("east"),
			want: "ClusterSet ID or Leader Cluster ID cannot be changed"},
		{name: "another ID by the controller", user: controller, wanted: of("west"), former: of("east"), want: "ClusterID cannot be changed"},
		{name: "finalizer added by the controller", user: controller, wanted: of("east", finalized), former: of("east")},
		{name: "finalizer removed by the controller", user: controller, wanted: of("east"), former: of("east", finalized)},
		{name: "finalizer removed by the member", user: east, wanted: of("east"), former: of("east", finalized), want: "can only be removed by the leader"},
		{name: "new with the leader's finalizer", user: account("new-token"), wanted: of("new", held("memberclusterannounce.finalizer.antrea.io/new"))},
		{name: "new with another member's finalizer", user: account("new-token"), wanted: of("new", finalized), want: "Member cluster is not authorized to add the finalizer"},
		{name: "new with a finalizer", user: account("new-token"), wanted: of("new", held("x/y")),
			want: `to add the finalizer "x/y"; allowed: memberclusterannounce.finalizer.antrea.io/new`},
		{name: "finalizer added by the member", user: east, wanted: of("east", held(leaders, "x/y")), former: of("east", finalized), want: `to add the finalizer "x/y"`},
		{name: "touched with an old finalizer", user: east, wanted: of("east", held(leaders, "x/y")), former: of("east", held(leaders, "x/y"))},
		{name: "an old finalizer removed by the member", user: east, wanted: of("east", finalized), former: of("east", held(leaders, "x/y"))},
		{name: "going, released by an administrator", user: admin, wanted: of("east", going), former: of("east", held(leaders, "x/y"), going)},
		{name: "going, finalizer replaced by an administrator", user: admin, wanted: of("east", held("z"), going), former: of("east", held(leaders, "x/y"), going), want: "is not a ServiceAccount"},
		{name: "going, touched by an administrator", user: admin, wanted: of("east", finalized, going), former: of("east", finalized, going), want: "is not a ServiceAccount"},
		{name: "going, released under another ID", user: admin, wanted: of("west", going), former: of("east", finalized, going), want: "ClusterID cannot be changed"},
		{name: "going, released by an account elsewhere", user: "system:serviceaccount:default:x", wanted: of("east", going), former: of("east", finalized, going), want: "is not in Namespace"},
		{name: "going, released by the member", user: east, wanted: of("east", going), former: of("east", finalized, going), want: "can only be removed by the leader"},
		{name: "released by an administrator", user: admin, wanted: of("east"), former: of("east", held("x/y")), want: "is not a ServiceAccount"},
		{name: "deleted", user: east, former: of("east")},
		{name: "deleted by another member", user: account("west-token"), former: of("east"), want: `is not permitted for ServiceAccount "west-token"`},
		{name: "deleted by the controller", user: controller, former: of("east")},
		{name: "deleted by an administrator", user: admin, former: of("east")},
		{name: "deleted by Kubernetes", user: "system:serviceaccount:kube-system:namespace-controller", former: of("east")},
		{name: "deleted by an account that is gone", user: account("gone"), former: of("east")},
		{name: "deleted by an account that is not a member's", user: account("plain"), former: of("east"), want: "is not permitted"},
	} {
		t.Run(d.name, func(t *testing.T) { d.check(t, (*state).leader, AnnouncePath) })
	}
}
