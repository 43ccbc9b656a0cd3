// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
)

const patience = 60 * time.Second

func TestGenerate(t *testing.T) {
	cert, err := Generate(generic.ECDSA, "antrea-system")
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(cert.CurrentCertKeyContent())
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(cert.CA()))
	for _, name := range []string{"antrea", "antrea.antrea-system.svc", "antrea.antrea-system.svc.cluster.local", "localhost"} {
		_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name, CurrentTime: time.Now().AddDate(5, 0, 0)})
		require.NoError(t, err, name)
	}
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "antrea.kube-system.svc"})
	require.Error(t, err)
}

// TestOtherComponent: a certificate for another Service, whose CA is published in its own places only.
func TestOtherComponent(t *testing.T) {
	cert, err := GenerateFor(generic.ECDSA, "antrea-mc-webhook-service", "mc")
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(cert.CurrentCertKeyContent())
	require.NoError(t, err)
	require.NoError(t, pair.Leaf.VerifyHostname("antrea-mc-webhook-service.mc.svc"))
	require.Error(t, pair.Leaf.VerifyHostname("antrea.mc.svc"))
	hook := func(service string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "mc", Name: service}}
	}
	configuration := func(name string) *admissionregistrationv1.ValidatingWebhookConfiguration {
		return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionregistrationv1.ValidatingWebhook{
			{Name: "ours", ClientConfig: hook("antrea-mc-webhook-service")}, {Name: "antrea's", ClientConfig: hook("antrea")},
		}}
	}
	kube := fake.NewClientset(configuration("mc-validator"), configuration("crdvalidator.antrea.io"))
	p := &Publisher{
		CA: cert.CA, Targets: Targets{ConfigMap: "antrea-mc-ca", Service: "antrea-mc-webhook-service", ValidatingWebhooks: []string{"mc-validator"}},
		Namespace: "mc", Client: kube, Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()),
	}
	require.NoError(t, p.publish(t.Context()))
	published, err := kube.CoreV1().ConfigMaps("mc").Get(t.Context(), "antrea-mc-ca", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, string(cert.CA()), published.Data[apis.ControllerCAKey])
	for name, want := range map[string][][]byte{"mc-validator": {cert.CA(), nil}, "crdvalidator.antrea.io": {nil, nil}} {
		got, err := kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, want, [][]byte{got.Webhooks[0].ClientConfig.CABundle, got.Webhooks[1].ClientConfig.CABundle}, name)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	_, err := Read(dir)
	require.ErrorContains(t, err, filepath.Join(dir, "tls.crt"))
	generated, err := Generate(generic.ECDSA, "kube-system")
	require.NoError(t, err)
	crt, key := generated.CurrentCertKeyContent()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.crt"), crt, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600))
	_, err = Read(dir)
	require.ErrorContains(t, err, filepath.Join(dir, "ca.crt"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ca.crt"), []byte("nonsense"), 0o600))
	_, err = Read(dir)
	require.ErrorContains(t, err, "CA")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ca.crt"), crt, 0o600))
	cert, err := Read(dir)
	require.NoError(t, err)
	require.Equal(t, crt, cert.CA())
}

func apiService(name, caBundle string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"group": "g", "caBundle": caBundle},
	}}
}

func TestPublish(t *testing.T) {
	for _, tc := range []struct {
		name string
		old  map[string]string // of the ConfigMap; nil if there is none
	}{
		{"no ConfigMap", nil},
		{"the CA of an earlier start", map[string]string{apis.ControllerCAKey: "old", "other": "kept"}},
		{"up to date", map[string]string{apis.ControllerCAKey: "new CA"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			kube := fake.NewClientset()
			if tc.old != nil {
				kube = fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: apis.ControllerCA}, Data: tc.old})
			}
			// The second APIService does not exist.
			services := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), apiService(APIServices[0], "b2xk"))
			p := &Publisher{CA: func() []byte { return []byte("new CA") }, Targets: Controller(), Namespace: "kube-system", Client: kube, Dynamic: services}
			require.NoError(t, p.publish(t.Context()))
			got, err := kube.CoreV1().ConfigMaps("kube-system").Get(t.Context(), apis.ControllerCA, metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, "new CA", got.Data[apis.ControllerCAKey])
			require.Equal(t, tc.old["other"], got.Data["other"])
			service, err := services.Resource(apiServiceResource).Get(t.Context(), APIServices[0], metav1.GetOptions{})
			require.NoError(t, err)
			spec := service.Object["spec"].(map[string]any)
			require.Equal(t, base64.StdEncoding.EncodeToString([]byte("new CA")), spec["caBundle"])
			require.Equal(t, "g", spec["group"])

			kube.ClearActions()
			services.ClearActions()
			require.NoError(t, p.publish(t.Context()))
			for _, action := range append(kube.Actions(), services.Actions()...) {
				require.Equal(t, "get", action.GetVerb(), "what is right already is not written")
			}
		})
	}
}

// TestPublishToWebhooks: webhooks that lead to the controller get the CA, others keep theirs.
func TestPublishToWebhooks(t *testing.T) {
	lead := func(name, service string) admissionregistrationv1.ValidatingWebhook {
		return admissionregistrationv1.ValidatingWebhook{Name: name, ClientConfig: admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: "kube-system", Name: service}, CABundle: []byte("old"),
		}}
	}
	kube := fake.NewClientset(&admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ValidatingWebhooks[0]},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{
			lead("ours", "antrea"), lead("others", "other"), {Name: "url", ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: []byte("old")}},
		},
	}, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: MutatingWebhooks[0]},
		Webhooks: []admissionregistrationv1.MutatingWebhook{
			{Name: "ours", ClientConfig: lead("", "antrea").ClientConfig}, {Name: "others", ClientConfig: lead("", "other").ClientConfig},
		},
	})
	p := &Publisher{
		CA: func() []byte { return []byte("new CA") }, Targets: Controller(), Namespace: "kube-system", Client: kube,
		Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()),
	}
	require.NoError(t, p.publish(t.Context()))
	got, err := kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), ValidatingWebhooks[0], metav1.GetOptions{})
	require.NoError(t, err)
	var bundles []string
	for _, webhook := range got.Webhooks {
		bundles = append(bundles, string(webhook.ClientConfig.CABundle))
	}
	require.Equal(t, []string{"new CA", "old", "old"}, bundles)
	mutating, err := kube.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), MutatingWebhooks[0], metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "new CA", string(mutating.Webhooks[0].ClientConfig.CABundle))
	require.Equal(t, "old", string(mutating.Webhooks[1].ClientConfig.CABundle))
	kube.ClearActions()
	require.NoError(t, p.publish(t.Context()))
	for _, action := range kube.Actions() {
		require.Equal(t, "get", action.GetVerb(), "what is right already is not written")
	}
}

func TestPublishingIsTriedAgain(t *testing.T) {
	kube := fake.NewClientset()
	failures := 1
	kube.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		failures--
		return failures >= 0, nil, errors.New("not now")
	})
	p := &Publisher{
		CA: func() []byte { return []byte("CA") }, Targets: Controller(), Namespace: "kube-system", Client: kube,
		Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()),
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.Run(ctx); close(done) }()
	require.Eventually(t, func() bool {
		got, err := kube.CoreV1().ConfigMaps("kube-system").Get(t.Context(), apis.ControllerCA, metav1.GetOptions{})
		return err == nil && got.Data[apis.ControllerCAKey] == "CA"
	}, patience, 50*time.Millisecond)
	cancel()
	<-done
}
