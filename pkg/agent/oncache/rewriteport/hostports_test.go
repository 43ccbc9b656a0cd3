// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rewriteport

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

func TestHostPorts(t *testing.T) {
	pod := func(edit func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "side"}, {Name: "main", Ports: []corev1.ContainerPort{{HostPort: 80}, {HostPort: 585}}}}},
		}
		if edit != nil {
			edit(p)
		}
		return p
	}
	for _, tc := range []struct {
		name string
		edit func(*corev1.Pod)
		want bool
	}{
		{"the port, protocol TCP by default", nil, true},
		{"UDP", func(p *corev1.Pod) { p.Spec.Containers[1].Ports[1].Protocol = corev1.ProtocolUDP }, true},
		{"SCTP is not rewritten", func(p *corev1.Pod) { p.Spec.Containers[1].Ports[1].Protocol = corev1.ProtocolSCTP }, false},
		{"another hostPort", func(p *corev1.Pod) { p.Spec.Containers[1].Ports[1].HostPort = 586 }, false},
		{"only a containerPort", func(p *corev1.Pod) { p.Spec.Containers[1].Ports[1] = corev1.ContainerPort{ContainerPort: 585} }, false},
		{"an init container", func(p *corev1.Pod) {
			p.Spec.InitContainers, p.Spec.Containers = p.Spec.Containers, []corev1.Container{{Name: "only"}}
		}, true},
		{"has ended", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			recorder := problem.NewRecorder()
			handler := HostPortHandler(recorder, 585)
			messages := func() (all []string) {
				problems, _ := recorder.List()
				for _, p := range problems {
					all = append(all, p.Message)
				}
				return all
			}
			handler.OnAdd(pod(tc.edit), false)
			if tc.want {
				require.Equal(t, []string{"Pod ns/web: hostPort 585 of container main is the port of rewritten packets, so that connections to it fail: use another one, " +
					"or another oncache.rewritePort on all Nodes"}, messages())
			} else {
				require.Empty(t, messages())
			}
			handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/web", Obj: pod(tc.edit)})
			require.Empty(t, messages())
		})
	}
}
