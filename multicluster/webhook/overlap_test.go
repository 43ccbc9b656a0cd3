// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// TestOverlapOfOneGoing: the network of a member whose export is being deleted is free.
func TestOverlapOfOneGoing(t *testing.T) {
	wanted := encoded(t, withServiceCIDR("10.100.0.0/16"))
	decision{user: east, wanted: wanted, want: "overlaps"}.check(t, (*state).leader, ExportPath)
	decision{user: east, wanted: wanted, state: func(s *state) {
		now := metav1.Now()
		s.infos[0].DeletionTimestamp = &now
	}}.check(t, (*state).leader, ExportPath)
}

// TestGatewaysOfOthers: a member does not take the address of another one's Gateway, unless the other member came later: it may have guessed to which
// address the Gateway would move.
func TestGatewaysOfOthers(t *testing.T) {
	made := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	withGateway := func(ip string) *v1alpha1.ResourceExport {
		return info(func(i *v1alpha1.ClusterInfo) { i.GatewayInfos[0].GatewayIP = ip })
	}
	for _, tc := range []struct {
		name   string
		export *v1alpha1.ResourceExport
		want   string
	}{
		{"its Gateway", withGateway("192.0.2.1"), `spec.clusterInfo.gatewayInfos[0].gatewayIP 192.0.2.1 is the address of a Gateway of member "west"`},
		{"its second Gateway", withGateway("172.20.0.2"), `gatewayIP 172.20.0.2 is the address of a Gateway of member "west"`},
		{"in its Service network", withGateway("10.100.3.4"), `gatewayIP 10.100.3.4 is in 10.100.0.0/16, the Service network of member "west"`},
		{"around its Gateway", withServiceCIDR("172.20.0.0/16"), `serviceCIDR 172.20.0.0/16 contains 172.20.0.2, a Gateway's address of member "west"`},
		{"without Service network", info(func(i *v1alpha1.ClusterInfo) { i.ServiceCIDR, i.GatewayInfos[0].GatewayIP = "", "192.0.2.1" }), "192.0.2.1 is the address of a Gateway"},
		{"another one", withGateway("192.0.2.2"), ""},
	} {
		for _, age := range []struct {
			name           string
			age            time.Duration // of the former export, less than the other member's if it is negative
			otherName      string
			isNew, refused bool
		}{
			{"new", 0, "west-clusterinfo", true, true},
			{"younger", -time.Second, "a-clusterinfo", false, true},
			{"older", time.Second, "a-clusterinfo", false, false},
			{"of one age, last name", 0, "a-clusterinfo", false, true},
			{"of one age, first name", 0, "west-clusterinfo", false, false},
		} {
			t.Run(tc.name+"/"+age.name, func(t *testing.T) {
				former := exportOf("ClusterInfo")
				former.CreationTimestamp = metav1.NewTime(made.Add(-age.age))
				d := decision{user: east, wanted: encoded(t, tc.export), state: func(s *state) {
					s.infos[0].Name, s.infos[0].CreationTimestamp = age.otherName, metav1.NewTime(made)
					s.infos[0].Spec.ClusterInfo.GatewayInfos = []v1alpha1.GatewayInfo{{GatewayIP: "192.0.2.1"}, {GatewayIP: "172.20.0.2"}, {GatewayIP: "x"}}
				}}
				if !age.isNew {
					d.former = encoded(t, former)
				}
				if age.refused {
					d.want = tc.want
				}
				d.check(t, (*state).leader, ExportPath)
			})
		}
	}
}
