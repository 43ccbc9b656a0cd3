// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apis/externalip"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// TestServiceExternalIP: without Egress as well, a Service gets an address in its status, loses it with its annotation, and an Event says why another
// one has none. A new controller leaves addresses as they are, also without the gate.
func TestServiceExternalIP(t *testing.T) {
	f := startKubernetes(t)
	var err error
	f.options.gates, err = features.New(map[string]bool{string(features.ServiceExternalIP): true, string(features.Egress): false})
	require.NoError(t, err)
	createDefinitions(t, f)
	f.startController()
	pool := crd.New(v1beta1.ExternalIPPoolKind, "p")
	require.NoError(t, crd.Fill(pool, &v1beta1.ExternalIPPool{Spec: v1beta1.ExternalIPPoolSpec{IPRanges: []v1beta1.IPRange{{CIDR: "169.254.100.0/29"}}}}))
	_, err = f.admin.Dynamic.Resource(crd.ExternalIPPools).Create(t.Context(), pool, metav1.CreateOptions{})
	require.NoError(t, err)
	services := f.admin.Kube.CoreV1().Services("default")
	create := func(name, asks string) {
		_, err := services.Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{externalip.PoolAnnotation: "p"}},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerIP: asks, Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	has := func(name, want string) {
		t.Helper()
		f.eventually(name+" has "+want, func() error {
			s, err := services.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if addr := externalip.Address(s); addr.IsValid() != (want != "") || want != "" && addr.String() != want {
				return fmt.Errorf("the status is %+v", s.Status.LoadBalancer)
			}
			return nil
		})
	}
	create("old", "169.254.100.1")
	create("web", "")
	has("old", "169.254.100.1")
	has("web", "169.254.100.2")
	create("third", "169.254.100.2")
	f.eventually("an Event", func() error {
		return f.told("third", "AllocationError", "IP 169.254.100.2 is allocated to Service default/web")
	})
	_, err = services.Patch(t.Context(), "old", "application/merge-patch+json", []byte(`{"metadata":{"annotations":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	has("old", "")
	f.stop()
	f.startController()
	has("web", "169.254.100.2")
	has("third", "")
	require.NoError(t, services.Delete(t.Context(), "web", metav1.DeleteOptions{}))
	has("third", "169.254.100.2")
	f.eventually("usage", func() error {
		object, err := f.admin.Dynamic.Resource(crd.ExternalIPPools).Get(t.Context(), "p", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if p, err := crd.Read[v1beta1.ExternalIPPool](object); err != nil || p.Status.Usage != (v1beta1.IPPoolUsage{Total: 6, Used: 1}) {
			return fmt.Errorf("%+v %w", p, err)
		}
		return nil
	})
	f.stop()

	f.options.gates, err = features.New(map[string]bool{string(features.ServiceExternalIP): false})
	require.NoError(t, err)
	f.startController()
	egress := crd.New(v1beta1.EgressKind, "e")
	require.NoError(t, crd.Fill(egress, &v1beta1.Egress{Spec: v1beta1.EgressSpec{EgressIP: "169.254.100.2", ExternalIPPool: "p"}}))
	_, err = f.admin.Dynamic.Resource(crd.Egresses).Create(t.Context(), egress, metav1.CreateOptions{})
	require.NoError(t, err)
	f.eventually("the address is the Service's, although the gate is off", func() error {
		object, err := f.admin.Dynamic.Resource(crd.Egresses).Get(t.Context(), "e", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if e, err := crd.Read[v1beta1.Egress](object); err != nil || !strings.Contains(fmt.Sprint(e.Status.Conditions), "is allocated to Service default/third") {
			return fmt.Errorf("%+v %w", e, err)
		}
		return nil
	})
	has("third", "169.254.100.2")
	f.stop()
}

// told returns an error unless there is an Event about an object with this reason, and this part of its note.
func (f *fixture) told(name, reason, note string) error {
	list, err := f.admin.Kube.EventsV1().Events("default").List(f.t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, e := range list.Items {
		if e.Regarding.Name == name && e.Reason == reason && strings.Contains(e.Note, note) {
			return nil
		}
	}
	return fmt.Errorf("there are %d others", len(list.Items))
}
