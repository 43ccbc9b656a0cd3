// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	tlsSecret  = "antrea-controller-tls"
	serverName = "antrea.kube-system.svc"
)

func TestSecurity(t *testing.T) {
	c := suite
	c.test(t, "testSelfSignedCert", c.testSelfSigned)
	c.test(t, "testUserProvidedCert", c.testUserCertificate)
}

func (c *cluster) controllerPod(t *testing.T) *corev1.Pod {
	t.Helper()
	list, err := c.client.CoreV1().Pods(systemNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: controllerLabels})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	return &list.Items[0]
}

// trusts checks that the controller's Service, by its name, has a certificate of the CA in ConfigMap antrea-ca.
func (c *cluster) trusts(t *testing.T, client *corev1.Pod, timeout time.Duration, want []byte) {
	t.Helper()
	eventually(t, timeout, func() error {
		published, err := c.client.CoreV1().ConfigMaps(systemNamespace).Get(t.Context(), "antrea-ca", metav1.GetOptions{})
		if err != nil {
			return err
		}
		ca := published.Data["ca.crt"]
		if want != nil && strings.TrimSpace(ca) != strings.TrimSpace(string(want)) {
			return fmt.Errorf("ConfigMap antrea-ca has not got the new CA")
		}
		script := fmt.Sprintf("cat >/tmp/ca.crt <<'END'\n%s\nEND\ncurl -sS --cacert /tmp/ca.crt -o /dev/null https://%s", ca, serverName)
		stdout, stderr, err := c.run(t.Context(), client, "", "sh", "-c", script)
		if err != nil {
			return fmt.Errorf("%w: %s%s", err, stdout, stderr)
		}
		return nil
	})
}

// connectedAgents waits until the controller counts all agents, in its own Pod's answer.
func (c *cluster) connectedAgents(t *testing.T) {
	t.Helper()
	eventually(t, podTimeout, func() error {
		out, stderr, err := c.run(t.Context(), c.controllerPod(t), controller, "antctl", "get", "controllerinfo", "-o", "json")
		if err != nil {
			return fmt.Errorf("%w: %s", err, stderr)
		}
		var info struct {
			Connected int `json:"connectedAgentNum"`
		}
		require.NoError(t, json.Unmarshal([]byte(out), &info), out)
		if info.Connected != len(c.nodes) {
			return fmt.Errorf("connectedAgentNum is %d, want %d", info.Connected, len(c.nodes))
		}
		return nil
	})
}

// testSelfSigned: the controller keeps its own certificate in a Secret, also when it starts again.
func (c *cluster) testSelfSigned(t *testing.T) {
	secret := func() map[string][]byte {
		s, err := c.client.CoreV1().Secrets(systemNamespace).Get(t.Context(), tlsSecret, metav1.GetOptions{})
		require.NoError(t, err)
		return s.Data
	}
	client := c.pod(t, c.namespace(t), "client", c.nodes[1], podOptions{image: agnhostImage})
	before := secret()
	c.trusts(t, client, policyDelay, nil)
	c.connectedAgents(t)
	c.restartController(t)
	require.Equal(t, before, secret())
	c.trusts(t, client, policyDelay, nil)
	c.connectedAgents(t)
}

// testUserCertificate: the controller uses the certificate in the user's Secret, publishes its CA, and follows its change.
func (c *cluster) testUserCertificate(t *testing.T) {
	t.Cleanup(func() { c.deleteSecret(t) }) // runs last
	client := c.pod(t, c.namespace(t), "client", c.nodes[1], podOptions{image: agnhostImage})
	first, second := certificate(t), certificate(t)
	c.putSecret(t, first)
	c.useSecret(t)
	c.restart(t)
	c.trusts(t, client, policyDelay, first["ca.crt"])
	c.connectedAgents(t)
	c.putSecret(t, second)
	c.trusts(t, client, followTimeout, second["ca.crt"])
	c.connectedAgents(t)
}

// useSecret turns selfSignedCert off, and mounts the Secret if the manifest has no volume for it.
func (c *cluster) useSecret(t *testing.T) {
	t.Helper()
	deployments := c.client.AppsV1().Deployments(systemNamespace)
	before, err := deployments.Get(t.Context(), controller, metav1.GetOptions{})
	require.NoError(t, err)
	c.editConfiguration(t, func(files map[string]string) {
		files[controllerConfigKey] = setKey(t, files[controllerConfigKey], "selfSignedCert", "false")
	})
	update := func(change func(*corev1.PodSpec)) {
		require.NoError(t, retryOnConflict(func() error {
			ctx := withoutCancel(t)
			d, err := deployments.Get(ctx, controller, metav1.GetOptions{})
			if err != nil {
				return err
			}
			change(&d.Spec.Template.Spec)
			_, err = deployments.Update(ctx, d, metav1.UpdateOptions{})
			return err
		}))
	}
	if slices.ContainsFunc(before.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == tlsSecret }) {
		return
	}
	t.Cleanup(func() { update(func(spec *corev1.PodSpec) { *spec = before.Spec.Template.Spec }) })
	update(func(spec *corev1.PodSpec) {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: tlsSecret, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: tlsSecret}}})
		spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: tlsSecret, MountPath: "/var/run/antrea/antrea-controller-tls", ReadOnly: true})
	})
}

func (c *cluster) putSecret(t *testing.T, data map[string][]byte) {
	t.Helper()
	secrets := c.client.CoreV1().Secrets(systemNamespace)
	err := retryOnConflict(func() error {
		s, err := secrets.Get(t.Context(), tlsSecret, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: tlsSecret}, Data: data}, metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		s.Data = data
		_, err = secrets.Update(t.Context(), s, metav1.UpdateOptions{})
		return err
	})
	require.NoError(t, err)
}

// deleteSecret also replaces the controller, which makes a certificate of its own.
func (c *cluster) deleteSecret(t *testing.T) {
	t.Helper()
	ctx := withoutCancel(t)
	require.NoError(t, c.client.CoreV1().Secrets(systemNamespace).Delete(ctx, tlsSecret, metav1.DeleteOptions{}))
	err := c.client.CoreV1().Pods(systemNamespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: controllerLabels})
	require.NoError(t, err)
}

// certificate makes a CA and a certificate of the controller.
func certificate(t *testing.T) map[string][]byte {
	t.Helper()
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	newKey := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		return key
	}
	begin := time.Now().Add(-time.Hour)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(begin.UnixNano()), Subject: pkix.Name{CommonName: "acceptance CA"}, NotBefore: begin, NotAfter: begin.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caKey, key := newKey(), newKey()
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	require.NoError(t, err)
	server := &x509.Certificate{
		SerialNumber: big.NewInt(begin.UnixNano() + 1), Subject: pkix.Name{CommonName: serverName}, NotBefore: begin, NotAfter: begin.AddDate(1, 0, 0),
		DNSNames: []string{"antrea", "antrea.kube-system", serverName}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	serverDER, err := x509.CreateCertificate(rand.Reader, server, ca, &key.PublicKey, caKey)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	return map[string][]byte{"ca.crt": block("CERTIFICATE", caDER), "tls.crt": block("CERTIFICATE", serverDER), "tls.key": block("EC PRIVATE KEY", keyDER)}
}
