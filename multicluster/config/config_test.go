// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDefaults(t *testing.T) {
	c, err := Parse([]byte("apiVersion: multicluster.crd.antrea.io/v1alpha1\nkind: MultiClusterConfig\npodCIDRs: ['']\n"))
	require.NoError(t, err)
	require.Equal(t, ":8080", c.Health.HealthProbeBindAddress)
	require.Equal(t, 9443, c.Webhook.Port)
	require.Empty(t, c.PodNetworks())
	network, err := c.ServiceNetwork()
	require.NoError(t, err)
	require.False(t, network.IsValid())
	require.False(t, c.ExternalGatewayIP())
}

func TestRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"endpointIPType: PodIP":               "PodIP does not exist yet",
		"enableStretchedNetworkPolicy: true":  "stretched policies do not exist yet",
		"gatewayIPPrecedence: outside":        `gatewayIPPrecedence is "outside", want private`,
		"serviceCIDR: fd00::/112":             `serviceCIDR is "fd00::/112", want a network of IPv4`,
		"serviceCIDR: 10.96.0.1/12":           "serviceCIDR",
		"podCIDRs: [x]":                       `podCIDRs is "x"`,
		"podCIDRs: ['fd00::/64']":             "want networks of IPv4",
		"podCIDRs: [10.0.0.0/7]":              "with 8 to 31 bits",
		"podCIDRs: [10.0.0.1/32]":             "with 8 to 31 bits",
		"webhook: {port: 65536}":              "webhook.port",
		"metrics: {bindAddress: ':8081'}":     "metrics do not exist yet",
		"health: {healthProbeBindAddress: x}": "health.healthProbeBindAddress",
		"webhook: {port: x}":                  "parsing the configuration",
	} {
		_, err := Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}
