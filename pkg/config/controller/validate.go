// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"

	"k8s.io/component-base/featuregate"

	"github.com/antrea-oncache/antrea/pkg/config"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// Validate returns all errors of the configuration.
func (c *ControllerConfig) Validate(gates featuregate.FeatureGate) error {
	errs := append(config.ValidateTLS(c.TLSMinVersion, c.TLSCipherSuites), config.ValidateAPIServer(c.KubeAPIServerOverride)...)
	if c.APIPort < 1 || c.APIPort > 65535 {
		errs = append(errs, fmt.Errorf("apiPort: %d is not a port; allowed: 1 to 65535", c.APIPort))
	}
	if c.Multicluster.EnableStretchedNetworkPolicy && gates.Enabled(features.Multicluster) {
		errs = append(errs, errors.New("multicluster.enableStretchedNetworkPolicy: true is not supported by this version; supported: false; "+
			"rules for Pods of other clusters would not be enforced: leave it out if there are none"))
	}
	for _, gate := range []featuregate.Feature{features.AdminNetworkPolicy, features.ClusterNetworkPolicy} {
		if gates.Enabled(gate) && !gates.Enabled(features.AntreaPolicy) {
			errs = append(errs, fmt.Errorf("featureGates.%s: true needs the feature gate AntreaPolicy; allowed without it: false; "+
				"policies of this kind would not be enforced: switch both on or both off", gate))
		}
	}
	if c.NodeIPAM.EnableNodeIPAM && gates.Enabled(features.NodeIPAM) {
		errs = append(errs, c.NodeIPAM.validate()...)
	}
	return errors.Join(errs...)
}

// WithoutEffect returns a line for each setting that Validate accepts and that asks for something that does not happen.
func (c *ControllerConfig) WithoutEffect(gates featuregate.FeatureGate) []string {
	var lines []string
	if c.NodeIPAM.EnableNodeIPAM && !gates.Enabled(features.NodeIPAM) {
		lines = append(lines, "nodeIPAM.enableNodeIPAM needs the feature gate NodeIPAM")
	} else if c.NodeIPAM.EnableNodeIPAM && len(c.NodeIPAM.ClusterCIDRs) == 0 {
		lines = append(lines, "nodeIPAM.enableNodeIPAM needs nodeIPAM.clusterCIDRs, from which to allocate Pod networks")
	}
	if c.ClientCAFile != "" {
		lines = append(lines, "clientCAFile: this version trusts the cluster's client CA only")
	}
	if c.Multicluster.EnableStretchedNetworkPolicy && !gates.Enabled(features.Multicluster) {
		lines = append(lines, "multicluster.enableStretchedNetworkPolicy needs the feature gate Multicluster")
	}
	return lines
}
