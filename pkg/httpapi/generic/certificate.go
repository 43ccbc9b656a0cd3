// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// Key is the kind of a certificate's key.
type Key int

const (
	// ECDSA is a key on the curve P-256. Making one takes a thousandth of the time of an RSA key, which would be two thirds of the agent's start.
	ECDSA Key = iota
	// RSA is a key of 2048 bits.
	RSA
)

// KeyFor returns the kind of key with which clients can use cipherSuites, the suites that are allowed (IANA names; empty is Go's default). In TLS
// 1.2 a suite for RSA needs an RSA key. In TLS 1.3 any key will do.
func KeyFor(cipherSuites []string) Key {
	if slices.ContainsFunc(cipherSuites, func(name string) bool { return strings.Contains(name, "_RSA_") }) {
		return RSA
	}
	return ECDSA
}

func (k Key) generate() (crypto.Signer, error) {
	if k == RSA {
		return rsa.GenerateKey(rand.Reader, 2048)
	}
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

// SelfSigned makes a certificate for the given names, which verifies itself, and its key, both in PEM. The first name is
// the subject's.
//
// The certificate is valid from maxAge ago for twice that time. It lives as long as the process and is trusted because it
// was published, so the dates protect nothing. But when the clock is wrong at start and then jumps, even by years, clients
// must not find it expired or not yet valid.
func SelfSigned(kind Key, maxAge time.Duration, dnsNames []string, addresses ...net.IP) (certificate, key []byte, err error) {
	private, err := kind.generate()
	if err != nil {
		return nil, nil, fmt.Errorf("generating a key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: fmt.Sprintf("%s@%d", dnsNames[0], now.Unix())},
		NotBefore:             now.Add(-maxAge),
		NotAfter:              now.Add(maxAge),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              dnsNames,
		IPAddresses:           addresses,
	}
	if kind == RSA {
		template.KeyUsage |= x509.KeyUsageKeyEncipherment
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, fmt.Errorf("making a certificate: %w", err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), nil
}
