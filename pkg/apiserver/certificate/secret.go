// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis"
)

const (
	// Secret stores the self-signed certificate in the controller's Namespace, so that a restart does not change the CA and
	// two controllers have the same one.
	Secret = "antrea-controller-tls"
	// renewBefore is how long before its expiry a stored certificate is replaced, when the controller starts.
	renewBefore = 365 * 24 * time.Hour
)

// Shared returns the certificate stored in the Secret, and stores a new one when the present one is not usable. A
// controller that cannot read or write the Secret uses a certificate of its own, in memory.
func Shared(ctx context.Context, client kubernetes.Interface, namespace string) (*Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	secrets := client.CoreV1().Secrets(namespace)
	for {
		kept, err := secrets.Get(ctx, Secret, metav1.GetOptions{})
		switch {
		case apierrors.IsForbidden(err):
			klog.InfoS("The controller is not permitted to use Secrets: each start makes a new CA", "secret", Secret, "reason", err.Error())
			return Generate(namespace)
		case apierrors.IsNotFound(err):
			kept = nil
		case err != nil:
			return nil, fmt.Errorf("reading the API server's certificate in Secret %s/%s: %w", namespace, Secret, err)
		default:
			cert, unusable := fromSecret(kept, namespace, time.Now())
			if unusable == nil {
				return cert, nil
			}
			klog.InfoS("Replacing the API server's certificate", "secret", Secret, "reason", unusable.Error())
		}
		cert, err := keep(ctx, client, namespace, kept)
		// Another controller may have been faster. In that case its certificate counts.
		if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
			continue
		}
		// The error Invalid means that the Secret cannot be changed in this way: it is immutable, or its type needs other
		// keys.
		if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
			klog.InfoS("The controller cannot write the Secret: each start makes a new CA", "secret", Secret, "reason", err.Error())
			return Generate(namespace)
		}
		if err != nil {
			return nil, fmt.Errorf("keeping the API server's certificate in Secret %s/%s: %w", namespace, Secret, err)
		}
		return cert, nil
	}
}

// keep makes a certificate and writes it into the Secret; old is the present Secret, nil if there is none.
func keep(ctx context.Context, client kubernetes.Interface, namespace string, old *corev1.Secret) (*Certificate, error) {
	cert, err := Generate(namespace)
	if err != nil {
		return nil, err
	}
	secrets := client.CoreV1().Secrets(namespace)
	crt, key := cert.CurrentCertKeyContent()
	data := map[string][]byte{corev1.TLSCertKey: crt, corev1.TLSPrivateKeyKey: key, apis.ControllerCAKey: crt}
	if old == nil {
		_, err = secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Secret, Labels: map[string]string{"app": "antrea"}},
			Type:       corev1.SecretTypeTLS, Data: data,
		}, metav1.CreateOptions{})
		return cert, err
	}
	replaced := old.DeepCopy()
	replaced.Data = data
	_, err = secrets.Update(ctx, replaced, metav1.UpdateOptions{})
	return cert, err
}

// fromSecret reads the certificate in the Secret; the error says why it is not usable.
func fromSecret(secret *corev1.Secret, namespace string, now time.Time) (*Certificate, error) {
	crt, key, ca := secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey], secret.Data[apis.ControllerCAKey]
	pair, err := tls.X509KeyPair(crt, key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s has no certificate in PEM", apis.ControllerCAKey)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: apis.ControllerServerName(namespace), CurrentTime: now}); err != nil {
		return nil, err
	}
	if left := pair.Leaf.NotAfter.Sub(now); left < renewBefore {
		return nil, fmt.Errorf("it ends on %s", pair.Leaf.NotAfter.UTC().Format(time.DateOnly))
	}
	return static(crt, key, ca)
}
