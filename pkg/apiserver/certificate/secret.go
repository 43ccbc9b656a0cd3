// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// Secret stores the self-signed certificate in the controller's Namespace, so that a restart does not change the CA and
	// two controllers have the same one.
	Secret = "antrea-controller-tls"
	// renewBefore is the time before its expiry at which a stored certificate is replaced.
	renewBefore = 365 * 24 * time.Hour
	// attemptTimeout is for each of the attempts at start, which together may take timeout.
	attemptTimeout = 5 * time.Second
)

// errNoAccess means that the controller cannot read or cannot write the Secret, and that another attempt would not help.
var errNoAccess = errors.New("the Secret cannot be used")

// shared is the certificate in the Secret. It follows the Secret while it runs.
type shared struct {
	client    kubernetes.Interface
	key       generic.Key
	namespace string
	changed   signal

	mu        sync.Mutex
	current   material
	listeners []dynamiccertificates.Listener
}

// Shared returns the certificate stored in the Secret, and stores a new one when the present one is not usable: also when key is RSA and its
// key is another one. While Run runs it does so again and again. A controller that cannot read or write the Secret at start uses a certificate of its own,
// in memory.
func Shared(ctx context.Context, client kubernetes.Interface, key generic.Key, namespace string) (*Certificate, error) {
	s := &shared{client: client, key: key, namespace: namespace, changed: make(signal, 1)}
	var err error
	if s.current, err = s.first(ctx); errors.Is(err, errNoAccess) {
		klog.InfoS("Each start of the controller makes a new CA", "secret", Secret, "reason", err.Error())
		return Generate(key, namespace)
	}
	if err != nil {
		return nil, err
	}
	return &Certificate{CertKeyContentProvider: s, CA: s.ca, Changed: s.changed, Run: s.run}, nil
}

// first is load at start, when the Kubernetes API may not be reachable yet. Each attempt makes a connection of its own: the packets of one that
// was begun before kube-proxy had installed the Service's rules would never follow them.
func (s *shared) first(ctx context.Context) (material, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		attempt, end := context.WithTimeout(ctx, attemptTimeout)
		m, err := s.load(attempt)
		end()
		if err == nil || errors.Is(err, errNoAccess) || retry.Sleep(ctx, time.Second) != nil {
			return m, err
		}
		klog.InfoS("The API server's certificate cannot be read yet, trying again", "err", err)
	}
}

// Name implements dynamiccertificates.CertKeyContentProvider.
func (s *shared) Name() string { return "Secret " + Secret }

// AddListener implements dynamiccertificates.Notifier.
func (s *shared) AddListener(l dynamiccertificates.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, l)
}

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider.
func (s *shared) CurrentCertKeyContent() (crt, key []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.crt, s.current.key
}

func (s *shared) ca() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.ca
}

// run compares the certificate with the Secret until ctx ends. If reading or writing fails, nothing changes.
func (s *shared) run(ctx context.Context) {
	task := retry.NewTask("The check of the API server's certificate", checkInterval, retry.Backoff{Min: retryInterval, Max: checkInterval}, "secret", Secret)
	for wait := checkInterval; retry.Sleep(ctx, wait) == nil; {
		m, err := s.load(ctx)
		if err == nil {
			s.adopt(m)
		}
		if ctx.Err() == nil {
			wait = task.Done(err)
		}
	}
}

// adopt makes m the certificate.
func (s *shared) adopt(m material) {
	s.mu.Lock()
	if bytes.Equal(m.crt, s.current.crt) && bytes.Equal(m.key, s.current.key) && bytes.Equal(m.ca, s.current.ca) {
		s.mu.Unlock()
		return
	}
	s.current = m
	listeners := slices.Clone(s.listeners)
	s.mu.Unlock()
	klog.InfoS("The API server has a new certificate", "secret", Secret)
	for _, l := range listeners {
		l.Enqueue()
	}
	s.changed.Enqueue()
}

// load returns the certificate in the Secret. If there is none, or none that is usable, it stores a new one.
func (s *shared) load(ctx context.Context) (material, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	secrets := s.client.CoreV1().Secrets(s.namespace)
	for {
		var unusable error
		stored, err := secrets.Get(ctx, Secret, metav1.GetOptions{})
		switch {
		case apierrors.IsForbidden(err):
			return material{}, fmt.Errorf("%w: %w", errNoAccess, err)
		case apierrors.IsNotFound(err):
			stored = nil
		case err != nil:
			return material{}, fmt.Errorf("reading the API server's certificate in Secret %s/%s: %w", s.namespace, Secret, err)
		default:
			var m material
			if m, unusable = fromSecret(stored, s.key, s.namespace, time.Now()); unusable == nil {
				return m, nil
			}
		}
		m, err := s.replace(ctx, stored)
		// Another controller may have been faster. In that case its certificate counts.
		if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
			continue
		}
		// The error Invalid means that the Secret cannot be changed in this way: it is immutable, or its type needs other
		// keys.
		if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
			return material{}, fmt.Errorf("%w: %w", errNoAccess, err)
		}
		if err != nil {
			return material{}, fmt.Errorf("keeping the API server's certificate in Secret %s/%s: %w", s.namespace, Secret, err)
		}
		if unusable != nil {
			klog.InfoS("Replaced the API server's certificate", "secret", Secret, "reason", unusable.Error())
		}
		return m, nil
	}
}

// replace makes a certificate and writes it into the Secret; old is the present Secret, nil if there is none.
func (s *shared) replace(ctx context.Context, old *corev1.Secret) (material, error) {
	m, err := generate(s.key, apis.ControllerService, s.namespace)
	if err != nil {
		return material{}, err
	}
	secrets := s.client.CoreV1().Secrets(s.namespace)
	data := map[string][]byte{corev1.TLSCertKey: m.crt, corev1.TLSPrivateKeyKey: m.key, apis.ControllerCAKey: m.ca}
	if old == nil {
		_, err = secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: Secret, Labels: map[string]string{"app": "antrea"}},
			Type:       corev1.SecretTypeTLS, Data: data,
		}, metav1.CreateOptions{})
		return m, err
	}
	replaced := old.DeepCopy()
	replaced.Data = data
	_, err = secrets.Update(ctx, replaced, metav1.UpdateOptions{})
	return m, err
}

// fromSecret reads the certificate in the Secret; the error says why it is not usable.
func fromSecret(secret *corev1.Secret, key generic.Key, namespace string, now time.Time) (material, error) {
	m := material{crt: secret.Data[corev1.TLSCertKey], key: secret.Data[corev1.TLSPrivateKeyKey], ca: secret.Data[apis.ControllerCAKey]}
	pair, err := tls.X509KeyPair(m.crt, m.key)
	if err != nil {
		return material{}, fmt.Errorf("%s and %s: %w", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, err)
	}
	if pair.Leaf.PublicKeyAlgorithm != x509.RSA && key == generic.RSA {
		return material{}, fmt.Errorf("its key is %s, and tlsCipherSuites needs RSA", pair.Leaf.PublicKeyAlgorithm)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(m.ca) {
		return material{}, fmt.Errorf("%s has no certificate in PEM", apis.ControllerCAKey)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: apis.ControllerServerName(namespace), CurrentTime: now}); err != nil {
		return material{}, err
	}
	if left := pair.Leaf.NotAfter.Sub(now); left < renewBefore {
		return material{}, fmt.Errorf("it ends on %s", pair.Leaf.NotAfter.UTC().Format(time.DateOnly))
	}
	return m, nil
}
