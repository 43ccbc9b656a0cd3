// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
	"github.com/antrea-oncache/antrea/pkg/log/logtest"
)

func secretOf(m material) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: Secret},
		Data:       map[string][]byte{corev1.TLSCertKey: m.crt, corev1.TLSPrivateKeyKey: m.key, apis.ControllerCAKey: m.ca},
	}
}

func made(t *testing.T) material {
	t.Helper()
	m, err := generate(generic.ECDSA, apis.ControllerService, "kube-system")
	require.NoError(t, err)
	return m
}

func storedCA(t *testing.T, kube *fake.Clientset) string {
	t.Helper()
	secret, err := kube.CoreV1().Secrets("kube-system").Get(t.Context(), Secret, metav1.GetOptions{})
	require.NoError(t, err)
	return string(secret.Data[apis.ControllerCAKey])
}

// TestTheSecretIsFollowed: what happens to the Secret while the controller runs takes effect within checkInterval, and the API
// server and the publisher are told.
func TestTheSecretIsFollowed(t *testing.T) {
	theirs := made(t)
	for _, tc := range []struct {
		name   string
		change func(t *testing.T, kube *fake.Clientset)
		// same is set when the certificate must stay, want is the one that must be used; neither means a new one.
		same bool
		want *material
	}{
		{name: "nothing", change: func(*testing.T, *fake.Clientset) {}, same: true},
		{name: "another controller has replaced it", change: func(t *testing.T, kube *fake.Clientset) {
			_, err := kube.CoreV1().Secrets("kube-system").Update(t.Context(), secretOf(theirs), metav1.UpdateOptions{})
			require.NoError(t, err)
		}, want: &theirs},
		{name: "a user has deleted it", change: func(t *testing.T, kube *fake.Clientset) {
			require.NoError(t, kube.CoreV1().Secrets("kube-system").Delete(t.Context(), Secret, metav1.DeleteOptions{}))
		}},
		{name: "a user has emptied it", change: func(t *testing.T, kube *fake.Clientset) {
			_, err := kube.CoreV1().Secrets("kube-system").Update(t.Context(), secretOf(material{}), metav1.UpdateOptions{})
			require.NoError(t, err)
		}},
		{name: "the API is away", change: func(_ *testing.T, kube *fake.Clientset) {
			kube.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("away") })
		}, same: true},
		{name: "the right to it is gone", change: func(_ *testing.T, kube *fake.Clientset) {
			kube.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), Secret, errors.New("no"))
			})
		}, same: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kube := fake.NewClientset()
				cert, err := Shared(t.Context(), kube, generic.ECDSA, "kube-system")
				before := ca(t, cert, err)
				server := make(signal, 1)
				cert.AddListener(server)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				tc.change(t, kube)
				go cert.Run(ctx)
				time.Sleep(checkInterval + time.Second)
				synctest.Wait()
				if tc.same {
					require.Equal(t, before, string(cert.CA()))
					require.Empty(t, server)
					require.Empty(t, cert.Changed)
					return
				}
				require.NotEqual(t, before, string(cert.CA()))
				require.Len(t, server, 1)
				require.Len(t, cert.Changed, 1)
				require.Equal(t, storedCA(t, kube), string(cert.CA()))
				crt, _ := cert.CurrentCertKeyContent()
				require.Equal(t, string(cert.CA()), string(crt))
				if tc.want != nil {
					require.Equal(t, string(tc.want.ca), string(cert.CA()))
				}
			})
		})
	}
}

// TestRenewalWhileRunning: a stored certificate that comes close to its end is replaced without a restart.
func TestRenewalWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const left = time.Hour
		crt, key, err := generic.SelfSigned(generic.ECDSA, renewBefore+left, []string{apis.ControllerServerName("kube-system")})
		require.NoError(t, err)
		kube := fake.NewClientset(secretOf(material{crt, key, crt}))
		cert, err := Shared(t.Context(), kube, generic.ECDSA, "kube-system")
		require.Equal(t, string(crt), ca(t, cert, err))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go cert.Run(ctx)
		time.Sleep(left - checkInterval)
		synctest.Wait()
		require.Equal(t, string(crt), string(cert.CA()), "not yet")
		time.Sleep(3 * checkInterval)
		synctest.Wait()
		require.NotEqual(t, string(crt), string(cert.CA()))
		require.Equal(t, storedCA(t, kube), string(cert.CA()))
	})
}

// TestOneLineWhileTheSecretCannotBeRead: an outage fills no log.
func TestOneLineWhileTheSecretCannotBeRead(t *testing.T) {
	lines := logtest.Capture(t)
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset()
		cert, err := Shared(t.Context(), kube, generic.ECDSA, "kube-system")
		require.NoError(t, err)
		kube.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("away") })
		ctx, cancel := context.WithTimeout(t.Context(), 10*checkInterval)
		defer cancel()
		cert.Run(ctx)
	})
	require.Len(t, lines("The check of the API server's certificate has failed"), 1)
}

// TestGivenCertificateIsFollowed: a CA that the user replaces is published without a restart, and without waiting for the next
// check of what was published.
func TestGivenCertificateIsFollowed(t *testing.T) {
	dir := t.TempDir()
	write := func(m material) {
		for file, content := range map[string][]byte{"tls.crt": m.crt, "tls.key": m.key, "ca.crt": m.ca} {
			// A Secret's files in a Pod are also replaced at once.
			next := filepath.Join(dir, "next")
			require.NoError(t, os.WriteFile(next, content, 0o600))
			require.NoError(t, os.Rename(next, filepath.Join(dir, file)))
		}
	}
	first, second := made(t), made(t)
	write(first)
	cert, err := Read(dir)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	kube := fake.NewClientset()
	publisher := &Publisher{
		CA: cert.CA, Changed: cert.Changed, Targets: Controller(), Namespace: "kube-system", Client: kube,
		Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()),
	}
	done := make(chan struct{}, 2)
	for _, run := range []func(context.Context){cert.Run, publisher.Run} {
		go func() { run(ctx); done <- struct{}{} }()
	}
	published := func(m material) func() bool {
		return func() bool {
			got, err := kube.CoreV1().ConfigMaps("kube-system").Get(ctx, apis.ControllerCA, metav1.GetOptions{})
			return err == nil && got.Data[apis.ControllerCAKey] == string(m.ca)
		}
	}
	require.Eventually(t, published(first), patience, 10*time.Millisecond)
	write(second)
	require.Eventually(t, published(second), checkInterval/2, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		crt, _ := cert.CurrentCertKeyContent()
		return string(crt) == string(second.crt)
	}, patience, 10*time.Millisecond)
	cancel()
	<-done
	<-done
}
