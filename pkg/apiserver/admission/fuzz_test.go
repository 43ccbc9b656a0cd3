// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// FuzzSpec: every spec is answered, whatever it is, since anyone can ask.
func FuzzSpec(f *testing.F) {
	f.Add("ClusterNetworkPolicy", `{"priority": 5, "appliedTo": [{"podSelector": {}}], "ingress": [{"action": "Allow", "from": [{"namespaces": {"match": "Self"}}], "ports": [{"port": 80, "endPort": 90}]}]}`)
	f.Add("NetworkPolicy", `{"egress": [{"action": "Drop", "appliedTo": [{"group": "g"}], "to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}, {"fqdn": "*.x"}], "protocols": [{"icmp": {}}, null]}]}`)
	f.Add("NetworkPolicy", `{"appliedTo": [null], "ingress": [{"protocols": [{"igmp": {}}], "l7Protocols": [{"http": null}]}, null]}`)
	f.Add("ClusterGroup", `{"ipBlocks": [{"cidr": "224.0.0.0/4", "except": ["::/0"]}], "childGroups": ["a"]}`)
	f.Add("Group", `[]`)
	f.Add("Tier", `{"priority": 1e300}`)
	webhooks := start(f, Config{Enabled: true, L7: true}, existing(f)...)
	f.Fuzz(func(t *testing.T, kind, spec string) {
		if resourceOf[kind].path == "" || !json.Valid([]byte(spec)) {
			return
		}
		request := &admissionv1.AdmissionRequest{
			Operation: admissionv1.Create, Name: "x", Namespace: "ns",
			Kind:   metav1.GroupVersionKind(v1beta1.SchemeGroupVersion.WithKind(kind)),
			Object: runtime.RawExtension{Raw: []byte(`{"apiVersion": "crd.antrea.io/v1beta1", "kind": "` + kind + `", "metadata": {"name": "x"}, "spec": ` + spec + `}`)},
		}
		for _, verb := range []string{"/validate/", "/mutate/"} {
			judge := webhooks[verb+resourceOf[kind].path]
			if judge == nil {
				continue
			}
			answer, err := judge(request)
			require.NoError(t, err)
			require.True(t, answer.Refusal == "" || answer.Patch == nil)
		}
	})
}
