// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/config"
)

// maxNodeBits is the number of bits by which a Node's network may be longer than the cluster's, as in kube-controller-manager.
const maxNodeBits = 16

// ClusterNetworks returns clusterCIDRs of which all is valid.
func (c *NodeIPAMConfig) ClusterNetworks() []netip.Prefix { return readable(c.ClusterCIDRs) }

// ServiceNetworks returns serviceCIDR and serviceCIDRv6 of which all is valid.
func (c *NodeIPAMConfig) ServiceNetworks() []netip.Prefix {
	return append(readable(config.SplitList(c.ServiceCIDR)), readable(config.SplitList(c.ServiceCIDRv6))...)
}

func readable(texts []string) (networks []netip.Prefix) {
	for _, text := range texts {
		if network, err := netip.ParsePrefix(text); err == nil {
			networks = append(networks, network.Masked())
		}
	}
	return networks
}

// validate returns all errors of what the allocation of Pod networks needs.
func (c *NodeIPAMConfig) validate() (errs []error) {
	versions := map[bool]string{}
	for _, text := range c.ClusterCIDRs {
		network, err := netip.ParsePrefix(text)
		if err != nil || network != network.Masked() || network.Addr().Is4In6() {
			errs = append(errs, fmt.Errorf("nodeIPAM.clusterCIDRs: %q is not a network; allowed: for example 10.10.0.0/16 or fd00:10:10::/56", text))
			continue
		}
		is4 := network.Addr().Is4()
		if other, found := versions[is4]; found {
			errs = append(errs, fmt.Errorf("nodeIPAM.clusterCIDRs: %s and %s have the same IP version; allowed: one network of each version", other, text))
		}
		versions[is4] = text
		key, bits, most := "nodeCIDRMaskSizeIPv6", c.NodeCIDRMaskSizeIPv6, 126
		if is4 {
			key, bits, most = "nodeCIDRMaskSizeIPv4", c.NodeCIDRMaskSizeIPv4, 30
		}
		if least, most := network.Bits(), min(most, network.Bits()+maxNodeBits); bits < least || bits > most {
			errs = append(errs, fmt.Errorf("nodeIPAM.%s: %d is not a prefix length of a part of %s; allowed: %d to %d", key, bits, text, least, most))
		}
	}
	for key, value := range map[string]string{"serviceCIDR": c.ServiceCIDR, "serviceCIDRv6": c.ServiceCIDRv6} {
		for _, text := range config.SplitList(value) {
			if _, err := netip.ParsePrefix(text); err != nil {
				errs = append(errs, fmt.Errorf("nodeIPAM.%s: %q is not a network; allowed: for example 10.96.0.0/12 or fd00:96::/112", key, text))
			}
		}
	}
	return errs
}
