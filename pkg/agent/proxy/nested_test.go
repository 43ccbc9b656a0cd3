// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// A Service from other clusters may lead to a Service of this one, while it is annotated and the gate is on; its port then has another number.
func TestNestedService(t *testing.T) {
	annotated := func(s *corev1.Service) {
		s.Annotations = map[string]string{v1alpha1.ImportedServiceAnnotation: "true"}
	}
	own, imported, ordinary := testService("own", "10.96.0.2", "443"), testService("web", "10.96.0.1", "80", annotated), testService("web", "10.96.0.1", "80")
	leads := testSlice("web-1", "web", "443", "10.96.0.2")
	const port = "ns/web:80/TCP"
	for name, gate := range map[string]bool{"gate on": true, "gate off": false} {
		t.Run(name, func(t *testing.T) {
			config := testConfig
			config.Multicluster = gate
			b := newBench(t, config)
			for _, object := range []any{own, leads, imported} {
				b.set(object)
			}
			b.settle()
			require.Equal(t, gate, b.core.evaluate(key{Namespace: "ns", Name: "web"}).ports[port].Nested)
			require.Equal(t, gate, len(b.findings()) == 0)
			b.set(ordinary)
			b.settle()
			require.False(t, b.core.evaluate(key{Namespace: "ns", Name: "web"}).ports[port].Nested)
			require.Len(t, b.findings(), 1)
			b.set(imported)
			if gate {
				require.Contains(t, b.settle()[0], "10.96.0.2:443")
			}
		})
	}
}
