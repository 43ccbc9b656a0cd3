// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"fmt"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apis/externalip"
)

// SubnetOf returns the subnet of a pool's addresses, or why no Node can have them: separate is the feature gate. The webhook has refused most errors.
func SubnetOf(pool *v1beta1.ExternalIPPool, separate bool) (subnet config.EgressSubnet, err error) {
	info := pool.Spec.SubnetInfo
	if info == nil {
		return subnet, nil
	}
	if !separate {
		return subnet, fmt.Errorf("ExternalIPPool %s has subnetInfo, but the feature gate EgressSeparateSubnet is off", pool.Name)
	}
	gateway, err := externalip.ParseAddr(info.Gateway)
	if err != nil {
		return subnet, fmt.Errorf("ExternalIPPool %s: subnetInfo.gateway %q is not an address", pool.Name, info.Gateway)
	}
	length, vlan := int(info.PrefixLength), int(info.VLAN)
	if length < 1 || length >= gateway.BitLen() {
		return subnet, fmt.Errorf("ExternalIPPool %s: subnetInfo.prefixLength %d must be 1 to %d", pool.Name, length, gateway.BitLen()-1)
	}
	if vlan < 0 || vlan > config.MaxVLAN {
		return subnet, fmt.Errorf("ExternalIPPool %s: subnetInfo.vlan %d must be 0 to %d", pool.Name, vlan, config.MaxVLAN)
	}
	return config.EgressSubnet{Gateway: netip.PrefixFrom(gateway, length), VLAN: vlan}, nil
}
