// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
)

func ca(t *testing.T, c *Certificate, err error) string {
	t.Helper()
	require.NoError(t, err)
	return string(c.CA())
}

func TestSharedSurvivesRestarts(t *testing.T) {
	kube := fake.NewClientset()
	first, err := Shared(t.Context(), kube, generic.ECDSA, "kube-system")
	want := ca(t, first, err)
	second, err := Shared(t.Context(), kube, generic.ECDSA, "kube-system")
	require.Equal(t, want, ca(t, second, err))
	crt, key := first.CurrentCertKeyContent()
	again, sameKey := second.CurrentCertKeyContent()
	require.Equal(t, string(crt), string(again))
	require.Equal(t, string(key), string(sameKey))
	kept, err := kube.CoreV1().Secrets("kube-system").Get(t.Context(), Secret, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, corev1.SecretTypeTLS, kept.Type)
	require.Equal(t, want, string(kept.Data[apis.ControllerCAKey]))
}

func TestUnusableSecretIsReplaced(t *testing.T) {
	good, err := Generate(generic.ECDSA, "kube-system")
	require.NoError(t, err)
	crt, key := good.CurrentCertKeyContent()
	elsewhere, err := Generate(generic.ECDSA, "elsewhere")
	require.NoError(t, err)
	otherCrt, otherKey := elsewhere.CurrentCertKeyContent()
	for _, tc := range []struct {
		name         string
		crt, key, ca []byte
	}{
		{"empty", nil, nil, nil},
		{"nonsense", []byte("a"), []byte("b"), []byte("c")},
		{"another's key", crt, otherKey, crt},
		{"another's CA", crt, key, otherCrt},
		{"no CA", crt, key, nil},
		{"for another Namespace", otherCrt, otherKey, otherCrt},
	} {
		t.Run(tc.name, func(t *testing.T) {
			secret := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: Secret, Labels: map[string]string{"kept": "yes"}},
				Data:       map[string][]byte{corev1.TLSCertKey: tc.crt, corev1.TLSPrivateKeyKey: tc.key, apis.ControllerCAKey: tc.ca},
			}
			_, err := fromSecret(secret, generic.ECDSA, "kube-system", time.Now())
			require.Error(t, err)
			kube := fake.NewClientset(secret)
			cert, err := Shared(t.Context(), kube, generic.ECDSA, "kube-system")
			made := ca(t, cert, err)
			kept, err := kube.CoreV1().Secrets("kube-system").Get(t.Context(), Secret, metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, made, string(kept.Data[apis.ControllerCAKey]))
			require.Equal(t, "yes", kept.Labels["kept"])
			_, err = fromSecret(kept, generic.ECDSA, "kube-system", time.Now())
			require.NoError(t, err)
			_, err = fromSecret(kept, generic.ECDSA, "kube-system", time.Now().Add(maxAge-renewBefore+time.Hour))
			require.ErrorContains(t, err, "it ends on")
		})
	}
}

// TestKeyThatCipherSuitesNeed: tlsCipherSuites with suites for RSA replaces only a certificate that these cannot use.
func TestKeyThatCipherSuitesNeed(t *testing.T) {
	kube := fake.NewClientset()
	first, err := Shared(t.Context(), kube, generic.ECDSA, "kube-system")
	elliptic := ca(t, first, err)
	second, err := Shared(t.Context(), kube, generic.RSA, "kube-system")
	rsa := ca(t, second, err)
	require.NotEqual(t, elliptic, rsa)
	for _, key := range []generic.Key{generic.RSA, generic.ECDSA} {
		later, err := Shared(t.Context(), kube, key, "kube-system")
		require.Equal(t, rsa, ca(t, later, err))
	}
}

func TestTwoControllersStartAtOnce(t *testing.T) {
	kube := fake.NewClientset()
	other, err := Generate(generic.ECDSA, "kube-system")
	faster := ca(t, other, err)
	crt, key := other.CurrentCertKeyContent()
	kube.PrependReactor("create", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return false, nil, kube.Tracker().Create(action.GetResource(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: Secret},
			Data:       map[string][]byte{corev1.TLSCertKey: crt, corev1.TLSPrivateKeyKey: key, apis.ControllerCAKey: crt},
		}, "kube-system")
	})
	cert, err := Shared(t.Context(), kube, generic.ECDSA, "kube-system")
	require.Equal(t, ca(t, cert, err), faster, "the one that was first counts for both")
}

func TestNoRightToSecrets(t *testing.T) {
	for _, verb := range []string{"get", "create"} {
		kube := fake.NewClientset()
		kube.PrependReactor(verb, "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), Secret, errors.New("no"))
		})
		cert, err := Shared(t.Context(), kube, generic.ECDSA, "kube-system")
		require.NotEmpty(t, ca(t, cert, err), "as before: a certificate of its own")
	}
}

// An immutable Secret, or a Secret of a type that needs other keys, cannot be written. The controller starts anyway.
func TestSecretThatCannotBeReplaced(t *testing.T) {
	kube := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: Secret}, Immutable: new(true)})
	kube.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Secret").GroupKind(), Secret, nil)
	})
	cert, err := Shared(t.Context(), kube, generic.ECDSA, "kube-system")
	require.NotEmpty(t, ca(t, cert, err))
}

// On a Node that has just started, the Kubernetes API is reachable only when kube-proxy has installed the Service's rules.
func TestAPIThatIsNotReachableAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		kube := fake.NewClientset()
		kube.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			if time.Since(begun) >= 10*time.Second {
				return false, nil, nil
			}
			time.Sleep(attemptTimeout)
			return true, nil, context.DeadlineExceeded
		})
		cert, err := Shared(t.Context(), kube, generic.ECDSA, "kube-system")
		require.NotEmpty(t, ca(t, cert, err))

		kube.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			time.Sleep(attemptTimeout)
			return true, nil, context.DeadlineExceeded
		})
		begun = time.Now()
		_, err = Shared(t.Context(), kube, generic.ECDSA, "kube-system")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.InDelta(t, timeout, time.Since(begun), float64(attemptTimeout+time.Second), "it does not try for ever")
	})
}

// Of two controllers, only the one that serves writes its CA.
func TestOnlyTheServingControllerPublishes(t *testing.T) {
	kube, dynamic := fake.NewClientset(), dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	publisher := func(ca string, serving error) *Publisher {
		return &Publisher{
			CA: func() []byte { return []byte(ca) }, Targets: Controller(), Namespace: "kube-system", Client: kube, Dynamic: dynamic,
			Serving: func() error { return serving },
		}
	}
	standby, leader := publisher("standby", errors.New("another one serves")), publisher("leader", nil)
	go standby.Run(t.Context())
	go leader.Run(t.Context())
	published := func() string {
		got, err := kube.CoreV1().ConfigMaps("kube-system").Get(t.Context(), apis.ControllerCA, metav1.GetOptions{})
		if err != nil {
			return ""
		}
		return got.Data[apis.ControllerCAKey]
	}
	require.Eventually(t, func() bool { return published() == "leader" }, patience, 10*time.Millisecond)
	for _, action := range kube.Actions() {
		if write, ok := action.(clienttesting.CreateAction); ok {
			require.Equal(t, "leader", write.GetObject().(*corev1.ConfigMap).Data[apis.ControllerCAKey])
		}
	}
}
