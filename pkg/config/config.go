// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config contains the common parts of the configuration files of agent and controller: keys, defaults and checks. The files
// themselves are the packages below it.
package config

import (
	"fmt"
	"os"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	"sigs.k8s.io/yaml"
)

// ClientConnectionConfig describes how a component reaches the Kubernetes API.
type ClientConnectionConfig struct {
	// Kubeconfig is a file name; empty means the in-cluster service account.
	Kubeconfig string `yaml:"kubeconfig,omitempty" json:"kubeconfig,omitempty"`
	// QPS and Burst limit requests; 0 is the client library's default.
	QPS   float32 `yaml:"qps,omitempty" json:"qps,omitempty"`
	Burst int     `yaml:"burst,omitempty" json:"burst,omitempty"`
}

// Read returns the text of a configuration file. Without a name it is empty, and all defaults apply.
func Read(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration file: %w", err)
	}
	return text, nil
}

// Unmarshal reads the text of a configuration file. A key that is given twice is an error: it would not be clear which value counts.
func Unmarshal(text []byte, into any) error {
	if _, err := yaml.YAMLToJSONStrict(text); err != nil {
		return err
	}
	return yaml.Unmarshal(text, into)
}

// SetDefault sets a value that is its type's zero value.
func SetDefault[T comparable](value *T, def T) {
	var zero T
	if *value == zero {
		*value = def
	}
}

// SetDefaultPointer sets a pointer that is nil: to distinguish "not set" from false or 0.
func SetDefaultPointer[T any](value **T, def T) {
	if *value == nil {
		*value = &def
	}
}

// SplitList splits a list whose items are separated by commas, by space, or by both; the empty text is the empty list.
func SplitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// ValidateAPIServer returns the error of the key kubeAPIServerOverride: the client library takes URLs, and hosts with or without a port.
func ValidateAPIServer(override string) []error {
	if override == "" {
		return nil
	}
	if base, _, err := rest.DefaultServerURL(override, "", schema.GroupVersion{}, true); err == nil && base.Hostname() != "" &&
		(base.Scheme == "https" || base.Scheme == "http") {
		return nil
	}
	return []error{fmt.Errorf("kubeAPIServerOverride: %q is not an address; allowed: for example https://10.0.0.1:6443 or 10.0.0.1:6443", override)}
}

// ValidateTLS returns all errors of the keys tlsMinVersion and tlsCipherSuites.
func ValidateTLS(minVersion, cipherSuites string) (errs []error) {
	if _, err := cliflag.TLSVersion(minVersion); err != nil {
		errs = append(errs, fmt.Errorf("tlsMinVersion: %q is not a TLS version; allowed: %s", minVersion, strings.Join(cliflag.TLSPossibleVersions(), ", ")))
	}
	if _, err := cliflag.TLSCipherSuites(SplitList(cipherSuites)); err != nil {
		errs = append(errs, fmt.Errorf("tlsCipherSuites: %q: %w; allowed: %s", cipherSuites, err, strings.Join(cliflag.TLSCipherPossibleValues(), ", ")))
	}
	return errs
}
