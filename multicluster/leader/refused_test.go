// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// TestExportsThatMembersRefuse: they are not imported, and the older and the younger export of the same Service are.
func TestExportsThatMembersRefuse(t *testing.T) {
	subset := func(n int, ports ...v1alpha1.EndpointPort) (s v1alpha1.EndpointSubset) {
		for i := range n {
			s.Addresses = append(s.Addresses, v1alpha1.EndpointAddress{IP: fmt.Sprintf("10.150.%d.%d", i/250, i%250)})
		}
		s.Ports = ports
		return s
	}
	http := v1alpha1.EndpointPort{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}
	var lists []v1alpha1.EndpointSubset
	for i := range 16 {
		lists = append(lists, subset(1, v1alpha1.EndpointPort{Port: int32(1000 + i), Protocol: corev1.ProtocolTCP}))
	}
	for want, subsets := range map[string][]v1alpha1.EndpointSubset{
		"subsets[0].ports is empty":                                               {subset(1)},
		"ports[0].protocol is \"\"":                                               {subset(1, v1alpha1.EndpointPort{Name: "http", Port: 80})},
		"has the name or the port of another one":                                 {subset(1, http, http)},
		"spec.endpoints.subsets has 1001 addresses":                               {subset(1001, http)},
		"17 different lists of ports":                                             append(slices.Clone(lists), subset(1, http)),
		"older exports is refused: spec.endpoints.subsets has 1001 addresses":     {subset(1000, http)},
		"older exports is refused: spec.endpoints.subsets has 17 different lists": lists,
	} {
		t.Run(want, func(t *testing.T) {
			w := newWorld(t)
			for _, cluster := range []string{"west", "east", "south"} {
				w.announce(cluster)
			}
			w.exportService("west", "default", "nginx", 80, "10.100.7.9")
			w.settle()
			w.api.Now = w.api.Now.Add(time.Minute)
			w.exportService("east", "default", "nginx", 80, "10.200.7.9")
			bad := export("east", "default", "nginx", v1alpha1.EndpointsKind)
			bad.Spec.Endpoints = &v1alpha1.Endpoints{Subsets: subsets}
			w.api.Put(resourceExports, bad, nil)
			w.settle()
			w.api.Now = w.api.Now.Add(time.Minute)
			w.exportService("south", "default", "nginx", 80, "10.50.7.9")
			w.settle()
			require.Equal(t, []string{"10.50.7.9", "10.100.7.9"}, w.addresses("default", "nginx"))
			c := w.condition(bad.Name)
			require.Equal(t, "Failure", c.Type)
			require.Contains(t, c.Message, want)
			require.Equal(t, "Succeeded", w.condition("south-default-nginx-endpoints").Type)
		})
	}
}

// TestServiceThatMembersRefuse: the oldest export does not decide on the ports if no Service can have them.
func TestServiceThatMembersRefuse(t *testing.T) {
	w := newWorld(t)
	w.exportService("east", "default", "nginx", 0, "10.200.7.9")
	w.settle()
	w.api.Now = w.api.Now.Add(time.Minute)
	w.exportService("west", "default", "nginx", 80, "10.100.7.9")
	w.settle()
	require.Equal(t, []string{"10.100.7.9"}, w.addresses("default", "nginx"))
	require.Contains(t, w.condition("east-default-nginx-service").Message, "ports[0].port is 0; allowed: 1 to 65535")
}
