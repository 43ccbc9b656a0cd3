// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const frontProxyName = "front-proxy-client"

// pki is a certificate authority for one control plane.
type pki struct {
	dir   string
	ca    *x509.Certificate
	key   *ecdsa.PrivateKey
	caPEM []byte
}

// writePKI writes into dir: ca.{crt,key}; serving.{crt,key} for the given IP addresses; front-proxy.{crt,key}, the
// client certificate of the API aggregator; apiserver-kubelet-client.{crt,key}, the client certificate of
// kube-apiserver for kubelets; service-account.key.
func writePKI(dir string, addresses []string) (*pki, error) {
	p := &pki{dir: dir}
	var err error
	if p.key, err = p.newKey("ca"); err != nil {
		return nil, err
	}
	template := certificate("testbed-ca")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, p.key.Public(), p.key)
	if err != nil {
		return nil, err
	}
	if p.ca, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	p.caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(filepath.Join(dir, "ca.crt"), p.caPEM, 0o644); err != nil {
		return nil, err
	}
	serving := certificate("kube-apiserver")
	serving.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	serving.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	for _, address := range addresses {
		ip := net.ParseIP(address)
		if ip == nil {
			return nil, fmt.Errorf("API address %q is not an IP address", address)
		}
		serving.IPAddresses = append(serving.IPAddresses, ip)
	}
	if err := p.issue("serving", serving); err != nil {
		return nil, err
	}
	if err := p.issue("front-proxy", clientCertificate(frontProxyName, "")); err != nil {
		return nil, err
	}
	if err := p.issue("apiserver-kubelet-client", clientCertificate("kube-apiserver-kubelet-client", "system:masters")); err != nil {
		return nil, err
	}
	_, err = p.newKey("service-account")
	return p, err
}

// certificate has the fields that all certificates share. A guest's clock may lag behind by the duration of its boot.
func certificate(name string) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-24 * time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

// clientCertificate has a user's name, and a group's unless that is "".
func clientCertificate(user, group string) *x509.Certificate {
	c := certificate(user)
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if group != "" {
		c.Subject.Organization = []string{group}
	}
	return c
}

// client returns a certificate of a user, and its key.
func (p *pki) client(user, group string) (certificate, key []byte, err error) {
	private, key, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	certificate, err = p.sign(clientCertificate(user, group), private)
	return certificate, key, err
}

func (p *pki) issue(name string, template *x509.Certificate) error {
	key, err := p.newKey(name)
	if err != nil {
		return err
	}
	data, err := p.sign(template, key)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.dir, name+".crt"), data, 0o644)
}

func (p *pki) sign(template *x509.Certificate, key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, p.ca, key.Public(), p.key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

func (p *pki) newKey(name string) (*ecdsa.PrivateKey, error) {
	key, data, err := newKey()
	if err != nil {
		return nil, err
	}
	return key, os.WriteFile(filepath.Join(p.dir, name+".key"), data, 0o600)
}

func newKey() (key *ecdsa.PrivateKey, data []byte, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// writeTokens writes a static token file with one user, a cluster administrator, and returns its token.
func writeTokens(path string) (string, error) {
	token := rand.Text()
	return token, os.WriteFile(path, []byte(token+",testbed-admin,testbed-admin,system:masters\n"), 0o600)
}

func clientCredentials(certificate, key []byte) string {
	return fmt.Sprintf("{client-certificate-data: %s, client-key-data: %s}", base64.StdEncoding.EncodeToString(certificate), base64.StdEncoding.EncodeToString(key))
}

// kubeconfig has credentials as a flow mapping of YAML.
func kubeconfig(server string, caPEM []byte, credentials string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: testbed
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: admin
  user: %s
contexts:
- name: testbed
  context:
    cluster: testbed
    user: admin
current-context: testbed
`, server, base64.StdEncoding.EncodeToString(caPEM), credentials)
}
