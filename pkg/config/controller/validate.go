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
	errs := config.ValidateTLS(c.TLSMinVersion, c.TLSCipherSuites)
	if c.APIPort < 1 || c.APIPort > 65535 {
		errs = append(errs, fmt.Errorf("apiPort: %d is not a port; allowed: 1 to 65535", c.APIPort))
	}
	for _, key := range []struct {
		name string
		set  bool
	}{
		{"nodeIPAM.enableNodeIPAM", c.NodeIPAM.EnableNodeIPAM && gates.Enabled(features.NodeIPAM)},
		{"clientCAFile", c.ClientCAFile != ""},
		{"multicluster.enableStretchedNetworkPolicy", c.Multicluster.EnableStretchedNetworkPolicy && gates.Enabled(features.Multicluster)},
	} {
		if key.set {
			errs = append(errs, fmt.Errorf("%s: not supported by this version; leave it out", key.name))
		}
	}
	return errors.Join(errs...)
}
