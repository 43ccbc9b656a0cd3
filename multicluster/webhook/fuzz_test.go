// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
)

// FuzzReviewer: each request is answered. An object that cannot be read is refused, and all parts of an export that a member may write are
// its own.
func FuzzReviewer(f *testing.F) {
	for _, kind := range []string{"Service", "Endpoints", "ClusterInfo", "LabelIdentity", "AntreaClusterNetworkPolicy"} {
		good := encoded(f, exportOf(kind))
		f.Add(ExportPath, east, good, "")
		f.Add(ExportPath, east, good, good)
		f.Add(ExportPath, east, "", good)
	}
	f.Add(AnnouncePath, east, encoded(f, announceOf("east")), encoded(f, announceOf("east")))
	f.Add(AnnouncePath, controller, "", encoded(f, announceOf("east")))
	f.Add(ClusterSetPath, admin, `{"spec": {"clusterID": "a", "leaders": [{"clusterID": "a"}]}}`, `{"spec": {"leaders": null}}`)
	f.Add(GatewayPath, "system:serviceaccount:kube-system:antrea-agent", `{"metadata": null}`, `{"gatewayIP": "192.0.2.1"}`)
	f.Add(ExportPath, east, `{"spec": {"kind": "Endpoints", "endpoints": {"subsets": [null, {"addresses": [null]}]}}}`, `null`)
	f.Add(ExportPath, "system:serviceaccount:", `[]`, `{`)
	f.Fuzz(func(t *testing.T, path, user, wanted, former string) {
		s := newState()
		request := &admissionv1.AdmissionRequest{
			Kind: metav1.GroupVersionKind(kindOf(path)), Namespace: namespace, UserInfo: authenticationv1.UserInfo{Username: user},
			Object: runtime.RawExtension{Raw: []byte(wanted)}, OldObject: runtime.RawExtension{Raw: []byte(former)},
		}
		for _, judge := range []webhook.Webhook{s.leader(path), s.member(path)} {
			if judge == nil {
				continue
			}
			for _, operation := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete, "OTHER"} {
				request.Operation = operation
				answer, err := judge(request)
				require.NoError(t, err, "all objects can be read")
				if answer.Refusal != "" {
					continue
				}
				require.NotEqual(t, admissionv1.Operation("OTHER"), operation)
				requireReadable(t, operation, wanted, former)
				if path == ExportPath && user == east {
					requireOwn(t, operation, wanted, former)
				}
			}
		}
	})
}

// requireReadable checks that the objects of an allowed request are objects.
func requireReadable(t *testing.T, operation admissionv1.Operation, wanted, former string) {
	t.Helper()
	if operation != admissionv1.Delete {
		require.Regexp(t, `^\s*\{`, wanted)
	}
	if operation != admissionv1.Create {
		require.Regexp(t, `^\s*\{`, former)
	}
}

// requireOwn checks an export that member east was allowed to write.
func requireOwn(t *testing.T, operation admissionv1.Operation, wanted, former string) {
	t.Helper()
	if operation != admissionv1.Create {
		f, err := decode[v1alpha1.ResourceExport]([]byte(former))
		require.NoError(t, err)
		require.Equal(t, "east", f.Spec.ClusterID)
	}
	if operation == admissionv1.Delete {
		return
	}
	w, err := decode[v1alpha1.ResourceExport]([]byte(wanted))
	require.NoError(t, err)
	require.Equal(t, "east", w.Spec.ClusterID)
	require.Equal(t, "east", w.Labels["sourceClusterID"])
	require.Equal(t, w.Spec.Kind, w.Labels["sourceKind"])
	require.Contains(t, []string{"Service", "Endpoints", "ClusterInfo", "LabelIdentity"}, w.Spec.Kind)
	require.Regexp(t, "^east-", w.Name)
	if operation == admissionv1.Create {
		require.Empty(t, payload(&w.Spec))
	}
}
