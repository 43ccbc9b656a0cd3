// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config is the configuration file of antrea-mc-controller (controller_manager_config.yaml), with Antrea's keys. Values of parts that are
// not built are refused.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/config"
)

// MultiClusterConfig is the file.
type MultiClusterConfig struct {
	Health struct {
		// HealthProbeBindAddress is the address of the probes. Default :8080.
		HealthProbeBindAddress string `json:"healthProbeBindAddress,omitempty"`
	} `json:"health,omitempty"`
	Metrics struct {
		// BindAddress must be "0": there are no metrics.
		BindAddress string `json:"bindAddress,omitempty"`
	} `json:"metrics,omitempty"`
	Webhook struct {
		// Port is the port of the webhooks. Default 9443.
		Port int `json:"port,omitempty"`
	} `json:"webhook,omitempty"`
	// ServiceCIDR is discovered if it is empty.
	ServiceCIDR string `json:"serviceCIDR,omitempty"`
	// PodCIDRs are told to other clusters, whose agents connect their Pods with enablePodToPodConnectivity.
	PodCIDRs []string `json:"podCIDRs,omitempty"`
	// GatewayIPPrecedence is private or internal (default), public or external.
	GatewayIPPrecedence string `json:"gatewayIPPrecedence,omitempty"`
	// EndpointIPType is ClusterIP.
	EndpointIPType               string `json:"endpointIPType,omitempty"`
	EnableStretchedNetworkPolicy bool   `json:"enableStretchedNetworkPolicy,omitempty"`
}

// Parse reads the file, fills in the defaults and checks the values.
func Parse(text []byte) (*MultiClusterConfig, error) {
	var c MultiClusterConfig
	if err := config.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("parsing the configuration: %w", err)
	}
	c.Health.HealthProbeBindAddress = cmp.Or(c.Health.HealthProbeBindAddress, ":8080")
	c.Webhook.Port = cmp.Or(c.Webhook.Port, 9443)
	return &c, c.validate()
}

func (c *MultiClusterConfig) validate() error {
	var errs []error
	refuse := func(key, value, want string) {
		errs = append(errs, fmt.Errorf("%s is %q, want %s", key, value, want))
	}
	if _, _, err := net.SplitHostPort(c.Health.HealthProbeBindAddress); err != nil {
		refuse("health.healthProbeBindAddress", c.Health.HealthProbeBindAddress, "an address such as :8080")
	}
	if c.Metrics.BindAddress != "" && c.Metrics.BindAddress != "0" {
		refuse("metrics.bindAddress", c.Metrics.BindAddress, `"0": metrics do not exist yet`)
	}
	if c.Webhook.Port < 1 || c.Webhook.Port > 65535 {
		refuse("webhook.port", fmt.Sprint(c.Webhook.Port), "1 to 65535")
	}
	if _, err := c.ServiceNetwork(); err != nil {
		refuse("serviceCIDR", c.ServiceCIDR, "a network of IPv4 such as 10.96.0.0/12")
	}
	if n := len(c.PodNetworks()); n > v1alpha1.MaxPodCIDRs {
		refuse("podCIDRs", fmt.Sprintf("%d networks", n), fmt.Sprintf("at most %d", v1alpha1.MaxPodCIDRs))
	}
	for _, text := range c.PodNetworks() {
		if prefix, err := netip.ParsePrefix(text); err != nil || !prefix.Addr().Is4() || prefix.Bits() < 8 || prefix.Bits() > 31 {
			refuse("podCIDRs", text, "networks of IPv4 with 8 to 31 bits, such as 10.244.0.0/16")
		}
	}
	switch c.GatewayIPPrecedence {
	case "", "private", "internal", "public", "external":
	default:
		refuse("gatewayIPPrecedence", c.GatewayIPPrecedence, "private, internal, public or external")
	}
	switch c.EndpointIPType {
	case "", "ClusterIP":
	default:
		refuse("endpointIPType", c.EndpointIPType, "ClusterIP: PodIP does not exist yet")
	}
	if c.EnableStretchedNetworkPolicy {
		refuse("enableStretchedNetworkPolicy", "true", "false: stretched policies do not exist yet")
	}
	return errors.Join(errs...)
}

// ServiceNetwork returns serviceCIDR, an invalid prefix if it is empty.
func (c *MultiClusterConfig) ServiceNetwork() (netip.Prefix, error) {
	if c.ServiceCIDR == "" {
		return netip.Prefix{}, nil
	}
	prefix, err := netip.ParsePrefix(c.ServiceCIDR)
	if err == nil && (!prefix.Addr().Is4() || prefix != prefix.Masked()) {
		err = errors.New("not a network of IPv4")
	}
	return prefix, err
}

// PodNetworks returns podCIDRs without host bits, and without empty ones, which the file contains by default.
func (c *MultiClusterConfig) PodNetworks() (networks []string) {
	for _, text := range c.PodCIDRs {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			text = prefix.Masked().String()
		}
		if text != "" {
			networks = append(networks, text)
		}
	}
	return networks
}

// ExternalGatewayIP reports whether a Gateway's address is its Node's ExternalIP.
func (c *MultiClusterConfig) ExternalGatewayIP() bool {
	return c.GatewayIPPrecedence == "public" || c.GatewayIPPrecedence == "external"
}
