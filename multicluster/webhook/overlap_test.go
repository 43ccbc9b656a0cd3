// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
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

func withGateway(ip string) *v1alpha1.ResourceExport {
	return info(func(i *v1alpha1.ClusterInfo) { i.GatewayInfos[0].GatewayIP = ip })
}

func withPods(networks ...string) *v1alpha1.ResourceExport {
	return info(func(i *v1alpha1.ClusterInfo) { i.PodCIDRs = networks })
}

// takeover is a row of a table: west has others' addresses, and east has written former.
type takeover struct {
	name           string
	wanted, former *v1alpha1.ResourceExport
	want           string
	// always: the age does not matter.
	always bool
}

// check makes the request at all ages: an older member may have what a younger one has taken.
func (c takeover) check(t *testing.T, west func(*v1alpha1.ClusterInfo)) {
	made := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
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
		if age.isNew && c.former != nil {
			continue
		}
		t.Run(c.name+"/"+age.name, func(t *testing.T) {
			d := decision{user: east, wanted: encoded(t, c.wanted), state: func(s *state) {
				s.infos[0].Name, s.infos[0].CreationTimestamp = age.otherName, metav1.NewTime(made)
				west(s.infos[0].Spec.ClusterInfo)
			}}
			if !age.isNew {
				former := cmp.Or(c.former, exportOf("ClusterInfo"))
				former.CreationTimestamp = metav1.NewTime(made.Add(-age.age))
				d.former = encoded(t, former)
			}
			if age.refused || c.always {
				d.want = c.want
			}
			d.check(t, (*state).leader, ExportPath)
		})
	}
}

// TestGatewaysOfOthers: a member does not take the address of another one's Gateway, unless the other member came later: it may have guessed to which
// address the Gateway would move. Service networks do not move.
func TestGatewaysOfOthers(t *testing.T) {
	around := withServiceCIDR("172.20.0.0/16")
	const surrounds = `serviceCIDR 172.20.0.0/16 overlaps 172.20.0.2, a Gateway's address of member "west"`
	moved := info(func(i *v1alpha1.ClusterInfo) {
		i.ServiceCIDR, i.GatewayInfos[0].GatewayIP = "172.20.0.0/16", "192.0.2.8"
	})
	for _, c := range []takeover{
		{name: "its Gateway", wanted: withGateway("192.0.2.1"), want: `spec.clusterInfo.gatewayInfos[0].gatewayIP 192.0.2.1 overlaps 192.0.2.1, a Gateway's address of member "west"`},
		{name: "its second Gateway", wanted: withGateway("172.20.0.2"), want: `gatewayIP 172.20.0.2 overlaps 172.20.0.2, a Gateway's address of member "west"`},
		{name: "in its Service network", wanted: withGateway("10.100.3.4"), want: `gatewayIP 10.100.3.4 overlaps 10.100.0.0/16, the Service network of member "west"`},
		{name: "around its Gateway", wanted: around, want: surrounds, always: true},
		{name: "around its Gateway as before", wanted: moved, former: around, want: surrounds},
		{name: "without Service network", wanted: info(func(i *v1alpha1.ClusterInfo) { i.ServiceCIDR, i.GatewayInfos[0].GatewayIP = "", "192.0.2.1" }), want: "192.0.2.1 overlaps 192.0.2.1, a Gateway's address"},
		{name: "another one", wanted: withGateway("192.0.2.2")},
	} {
		c.check(t, func(west *v1alpha1.ClusterInfo) {
			west.GatewayInfos = []v1alpha1.GatewayInfo{{GatewayIP: "192.0.2.1"}, {GatewayIP: "172.20.0.2"}, {GatewayIP: "x"}}
		})
	}
}

// TestPodsOfOthers: a younger member does not take another one's Pod network as its Service network or Gateway, nor the other way round. Pod networks of
// two members may overlap.
func TestPodsOfOthers(t *testing.T) {
	both := func(services, gateway string, pods ...string) *v1alpha1.ResourceExport {
		return info(func(i *v1alpha1.ClusterInfo) {
			i.ServiceCIDR, i.GatewayInfos[0].GatewayIP, i.PodCIDRs = services, gateway, pods
		})
	}
	for _, c := range []takeover{
		{name: "as Services", wanted: withServiceCIDR("10.50.0.0/16"), want: `spec.clusterInfo.serviceCIDR 10.50.0.0/16 overlaps 10.50.0.0/16, a Pod network of member "west"`},
		{name: "around them", wanted: withServiceCIDR("10.48.0.0/12"), want: `serviceCIDR 10.48.0.0/12 overlaps 10.50.0.0/16, a Pod network of member "west"`},
		{name: "a part of them, with host bits", wanted: withServiceCIDR("10.50.7.7/24"), want: `serviceCIDR 10.50.7.7/24 overlaps 10.50.0.0/16, a Pod network of member "west"`},
		{name: "the second network", wanted: withServiceCIDR("10.61.0.0/16"), want: `serviceCIDR 10.61.0.0/16 overlaps 10.60.0.1/15, a Pod network of member "west"`},
		{name: "a Gateway", wanted: withGateway("10.50.3.4"), want: `spec.clusterInfo.gatewayInfos[0].gatewayIP 10.50.3.4 overlaps 10.50.0.0/16, a Pod network of member "west"`},
		{name: "Pods in its Services", wanted: withPods("10.70.0.0/16", "10.100.7.0/24"), want: `spec.clusterInfo.podCIDRs[1] 10.100.7.0/24 overlaps 10.100.0.0/16, the Service network of member "west"`},
		{name: "Pods around its Gateway", wanted: withPods("192.0.2.0/24"), want: `podCIDRs[0] 192.0.2.0/24 overlaps 192.0.2.1, a Gateway's address of member "west"`},
		{name: "its Pods", wanted: withPods("10.50.0.0/16")},
		{name: "elsewhere", wanted: both("10.51.0.0/16", "192.0.2.7", "10.52.0.0/16")},

		{name: "as Services before", former: withServiceCIDR("10.50.0.0/16"), wanted: both("10.50.0.0/16", "192.0.2.8")},
		{name: "a Gateway as before", former: withGateway("10.50.3.4"), wanted: both("10.97.0.0/16", "10.50.3.4")},
		{name: "Pods as before", former: withPods("10.100.0.0/16"), wanted: both("10.96.0.0/16", "192.0.2.8", "10.100.0.0/16")},
		{name: "the former Pods as Services", former: withPods("10.50.0.0/16"), wanted: withServiceCIDR("10.50.0.0/16"), want: "serviceCIDR 10.50.0.0/16 overlaps"},
		{name: "the former Gateway as Services", former: withGateway("10.50.3.4"), wanted: withServiceCIDR("10.50.3.4/32"), want: "serviceCIDR 10.50.3.4/32 overlaps"},
	} {
		c.check(t, func(west *v1alpha1.ClusterInfo) {
			west.GatewayInfos = []v1alpha1.GatewayInfo{{GatewayIP: "192.0.2.1"}}
			west.PodCIDRs = []string{"", "10.50.0.0/16", "10.60.0.1/15", "x"}
		})
	}
}
