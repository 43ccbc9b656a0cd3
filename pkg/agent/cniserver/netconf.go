// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/utils"
	"github.com/containernetworking/cni/pkg/version"

	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

// hostLocalType is the only IPAM plugin that the server delegates to.
const hostLocalType = "host-local"

// The kernel's limits of a veth's MTU: ETH_MIN_MTU and ETH_MAX_MTU.
const (
	minMTU = 68
	maxMTU = 65535
)

// networkConfig is the plugin's section of the conflist, completed by the runtime.
type networkConfig struct {
	cniVersion string
	name       string
	// mtu is 0 when the configuration leaves it to the agent.
	mtu        int
	dns        types.DNS
	prevResult *current.Result
	// raw has every top-level key, ipam the keys of "ipam", as they were given.
	raw, ipam map[string]json.RawMessage
}

// parseNetworkConfig decodes and checks a network configuration; DEL does not look at prevResult. Its errors carry a CNI code: 6 for bad JSON, 1 for a
// version that is not supported, 7 for a missing or invalid field, 2 for another IPAM plugin than host-local.
func parseNetworkConfig(cmd command, data []byte) (*networkConfig, error) {
	var fields struct {
		types.PluginConf
		MTU int `json:"mtu"`
	}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, errorf(cnipb.ErrorCode_DECODING_FAILURE, "decode network configuration: %w", err)
	}
	conf := &networkConfig{cniVersion: fields.CNIVersion, name: fields.Name, mtu: fields.MTU, dns: fields.DNS}
	if !slices.Contains(cnipb.SupportedCNIVersions, conf.cniVersion) {
		return nil, errorf(cnipb.ErrorCode_INCOMPATIBLE_CNI_VERSION, "cniVersion %q of the network configuration is not supported, want one of %s",
			conf.cniVersion, strings.Join(cnipb.SupportedCNIVersions, ", "))
	}
	if err := utils.ValidateNetworkName(conf.name); err != nil {
		return nil, fromTypesError(err)
	}
	switch fields.IPAM.Type {
	case hostLocalType:
	case "":
		return nil, errorf(cnipb.ErrorCode_INVALID_NETWORK_CONFIG, "ipam.type is missing in network %q, want %q", conf.name, hostLocalType)
	default:
		return nil, errorf(cnipb.ErrorCode_UNSUPPORTED_FIELD, "ipam.type %q of network %q is not supported, want %q", fields.IPAM.Type, conf.name, hostLocalType)
	}
	if conf.mtu != 0 && (conf.mtu < minMTU || conf.mtu > maxMTU) {
		return nil, errorf(cnipb.ErrorCode_INVALID_NETWORK_CONFIG, "mtu %d of network %q is out of range, want 0 (the agent's) or %d to %d", conf.mtu, conf.name, minMTU, maxMTU)
	}
	if fields.RawPrevResult != nil && cmd != cmdDel {
		if err := version.ParsePrevResult(&fields.PluginConf); err != nil {
			return nil, errorf(cnipb.ErrorCode_DECODING_FAILURE, "decode prevResult of network %q: %w", conf.name, err)
		}
		prev, err := current.NewResultFromResult(fields.PrevResult)
		if err != nil {
			return nil, errorf(cnipb.ErrorCode_DECODING_FAILURE, "convert prevResult of network %q from version %q: %w", conf.name, conf.cniVersion, err)
		}
		conf.prevResult = prev
	}
	if err := json.Unmarshal(data, &conf.raw); err != nil {
		return nil, errorf(cnipb.ErrorCode_DECODING_FAILURE, "decode network configuration: %w", err)
	}
	if err := json.Unmarshal(conf.raw["ipam"], &conf.ipam); err != nil {
		return nil, errorf(cnipb.ErrorCode_DECODING_FAILURE, "decode ipam of network %q: %w", conf.name, err)
	}
	return conf, nil
}

type ipamRange struct {
	Subnet  string `json:"subnet"`
	Gateway string `json:"gateway"`
}

// hostLocalConfig returns the configuration for host-local: what the runtime gave, with one range per Pod CIDR in place of
// any address range in it, and with dataDir unless that is empty.
func (c *networkConfig) hostLocalConfig(podCIDRs []netip.Prefix, dataDir string) ([]byte, error) {
	ranges := make([][]ipamRange, 0, len(podCIDRs))
	for _, cidr := range podCIDRs {
		ranges = append(ranges, []ipamRange{{Subnet: cidr.Masked().String(), Gateway: gatewayOf(cidr).String()}})
	}
	ipam := map[string]any{}
	for key, value := range c.ipam {
		ipam[key] = value
	}
	// host-local adds a range from these keys to "ranges".
	for _, key := range []string{"subnet", "rangeStart", "rangeEnd", "gateway"} {
		delete(ipam, key)
	}
	ipam["ranges"] = ranges
	if dataDir != "" {
		ipam["dataDir"] = dataDir
	}
	config := map[string]any{}
	for key, value := range c.raw {
		config[key] = value
	}
	delete(config, "prevResult")
	config["ipam"] = ipam
	return json.Marshal(config)
}

// gatewayOf returns the first address of a Pod CIDR after the network's own.
func gatewayOf(podCIDR netip.Prefix) netip.Addr {
	return podCIDR.Masked().Addr().Next()
}
