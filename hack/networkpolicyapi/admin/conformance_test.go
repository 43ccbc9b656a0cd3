// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admin runs the last conformance suite of the Kubernetes network policy API that is about AdminNetworkPolicy and
// BaselineAdminNetworkPolicy.
package admin

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/conformance/tests"
	timeouts "sigs.k8s.io/network-policy-api/conformance/utils/config"
	"sigs.k8s.io/network-policy-api/conformance/utils/flags"
	"sigs.k8s.io/network-policy-api/conformance/utils/suite"
)

// TestConformance is the suite's own test, with more time: a case has one deadline for all that it gets from the API server, and most set it before they
// connect. Both cases of inline CIDRs wait 18 s for six connections that must fail in between, so the suite's 20 s leave 133 ms for each of the 15
// commands that they run in Pods. The suite says that an implementation may have any limit; the next version has one for each request.
func TestConformance(t *testing.T) {
	rest, err := config.GetConfig()
	require.NoError(t, err)
	c, err := client.New(rest, client.Options{})
	require.NoError(t, err)
	require.NoError(t, v1alpha1.Install(c.Scheme()))
	clients, err := kubernetes.NewForConfig(rest)
	require.NoError(t, err)

	s := suite.New(suite.Options{
		Client: c, ClientSet: clients, KubeConfig: *rest, CleanupBaseResources: *flags.CleanupBaseResources,
		EnableAllSupportedFeatures: *flags.EnableAllSupportedFeatures,
		TimeoutConfig:              timeouts.TimeoutConfig{GetTimeout: 5 * time.Minute},
	})
	s.Setup(t)
	s.Run(t, tests.ConformanceTests)
}
