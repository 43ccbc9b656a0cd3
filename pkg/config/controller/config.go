// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller is the configuration file of antrea-controller (antrea-controller.conf): the keys, defaults and meaning
// that Antrea users know. Parse reads the file, Validate decides which values are acceptable.
package controller

import (
	"errors"
	"fmt"

	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/config"
)

// ControllerConfig is antrea-controller.conf. Pointers distinguish "not set" from false where the default is true.
type ControllerConfig struct {
	// ClientConnection says how to reach the Kubernetes API; without a kubeconfig the Pod's service account is used.
	ClientConnection config.ClientConnectionConfig `json:"clientConnection,omitempty"`
	// FeatureGates overrides the defaults of pkg/features.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// APIPort is the port of the controller's HTTPS API. Default 10349.
	APIPort int `json:"apiPort,omitempty"`
	// EnablePrometheusMetrics serves /metrics on APIPort. Default true.
	EnablePrometheusMetrics *bool `json:"enablePrometheusMetrics,omitempty"`
	// SelfSignedCert makes the controller use its own certificate, which it stores in a Secret; otherwise it reads tls.crt, tls.key
	// and ca.crt in /var/run/antrea/antrea-controller-tls. Default true.
	SelfSignedCert *bool `json:"selfSignedCert,omitempty"`
	// TLSCipherSuites is a comma-separated list of IANA names for the API server; empty is Go's default.
	TLSCipherSuites string `json:"tlsCipherSuites,omitempty"`
	// TLSMinVersion is the lowest TLS version of the API server, for example VersionTLS12; empty is Go's default.
	TLSMinVersion string `json:"tlsMinVersion,omitempty"`
	// ClientCAFile contains CA certificates for clients, in addition to the cluster's.
	ClientCAFile string `json:"clientCAFile,omitempty"`
	// KubeAPIServerOverride is the address of the Kubernetes API used instead of the one in the kubeconfig or service
	// account.
	KubeAPIServerOverride string `json:"kubeAPIServerOverride,omitempty"`

	NodeIPAM       NodeIPAMConfig       `json:"nodeIPAM,omitempty"`
	IPsecCSRSigner IPsecCSRSignerConfig `json:"ipsecCSRSigner,omitempty"`
	Multicluster   MulticlusterConfig   `json:"multicluster,omitempty"`
}

// NodeIPAMConfig is for Pod CIDRs that the controller allocates.
type NodeIPAMConfig struct {
	EnableNodeIPAM       bool     `json:"enableNodeIPAM,omitempty"`
	ClusterCIDRs         []string `json:"clusterCIDRs,omitempty"`
	ServiceCIDR          string   `json:"serviceCIDR,omitempty"`
	ServiceCIDRv6        string   `json:"serviceCIDRv6,omitempty"`
	NodeCIDRMaskSizeIPv4 int      `json:"nodeCIDRMaskSizeIPv4,omitempty"`
	NodeCIDRMaskSizeIPv6 int      `json:"nodeCIDRMaskSizeIPv6,omitempty"`
}

// IPsecCSRSignerConfig is for certificates of IPsec tunnels.
type IPsecCSRSignerConfig struct {
	SelfSignedCA *bool `json:"selfSignedCA,omitempty"`
	AutoApprove  *bool `json:"autoApprove,omitempty"`
}

// MulticlusterConfig is for policies that span clusters.
type MulticlusterConfig struct {
	EnableStretchedNetworkPolicy bool `json:"enableStretchedNetworkPolicy,omitempty"`
}

// Parse reads the text of antrea-controller.conf and fills in the defaults. Unknown keys are ignored, as Antrea does, so
// that one ConfigMap can serve several versions; UnknownKeys finds them. An error says that the text is not YAML, or which
// value has the wrong type.
func Parse(text []byte) (*ControllerConfig, error) {
	var c ControllerConfig
	if err := config.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("parsing controller configuration: %w", err)
	}
	c.setDefaults()
	return &c, nil
}

// Override applies the settings of the command line, which win over the file.
func (c *ControllerConfig) Override(flags *config.Flags) error {
	err := flags.Apply(c, &c.FeatureGates)
	c.setDefaults()
	return err
}

func (c *ControllerConfig) setDefaults() {
	config.SetDefault(&c.APIPort, apis.ControllerPort)
	config.SetDefaultPointer(&c.EnablePrometheusMetrics, true)
	config.SetDefaultPointer(&c.SelfSignedCert, true)
	config.SetDefault(&c.NodeIPAM.NodeCIDRMaskSizeIPv4, 24)
	config.SetDefault(&c.NodeIPAM.NodeCIDRMaskSizeIPv6, 64)
	config.SetDefaultPointer(&c.IPsecCSRSigner.SelfSignedCA, true)
	config.SetDefaultPointer(&c.IPsecCSRSigner.AutoApprove, true)
}

// UnknownKeys returns an error that names the unknown keys of a text that Parse can read.
func UnknownKeys(text []byte) error {
	var c ControllerConfig
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	unknown, err := json.UnmarshalStrict(data, &c)
	return errors.Join(append(unknown, err)...)
}
