// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
	types040 "github.com/containernetworking/cni/pkg/types/040"
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
	// mtu is 0 when the agent chooses it.
	mtu        int
	dns        types.DNS
	prevResult *current.Result
	// dataDir is ipam.dataDir, where host-local keeps its leases; "" is its default.
	dataDir string
	// raw has every top-level key, ipam the keys of "ipam", unchanged.
	raw, ipam map[string]json.RawMessage
}

// parseNetworkConfig decodes and checks a network configuration; for DEL it ignores prevResult. Its errors carry a CNI
// code: 6 for bad JSON, 1 for an unsupported version, 7 for a missing or invalid field, 2 for an IPAM plugin other than
// host-local.
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
		// The library's conversion fails on elements that are null.
		if err := checkElements(fields.PrevResult); err != nil {
			return nil, errorf(cnipb.ErrorCode_DECODING_FAILURE, "prevResult of network %q: %w", conf.name, err)
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
	var ipam struct {
		DataDir string `json:"dataDir"`
	}
	if err := json.Unmarshal(conf.raw["ipam"], &ipam); err != nil {
		return nil, errorf(cnipb.ErrorCode_DECODING_FAILURE, "decode ipam of network %q: %w", conf.name, err)
	}
	if conf.dataDir = ipam.DataDir; conf.dataDir != "" && !filepath.IsAbs(conf.dataDir) {
		return nil, errorf(cnipb.ErrorCode_INVALID_NETWORK_CONFIG, "ipam.dataDir %q of network %q is not an absolute path", conf.dataDir, conf.name)
	}
	return conf, nil
}

// checkElements refuses a result with an element that is null.
func checkElements(result types.Result) error {
	switch r := result.(type) {
	case *types040.Result: // 0.3.0 to 0.4.0
		return errors.Join(noneIsNull("interfaces", r.Interfaces), noneIsNull("ips", r.IPs), noneIsNull("routes", r.Routes))
	case *current.Result:
		return errors.Join(noneIsNull("interfaces", r.Interfaces), noneIsNull("ips", r.IPs), noneIsNull("routes", r.Routes))
	}
	return fmt.Errorf("unknown kind of result %T", result)
}

func noneIsNull[T any](field string, elements []*T) error {
	if i := slices.Index(elements, nil); i >= 0 {
		return fmt.Errorf("%s[%d] is null, want an object", field, i)
	}
	return nil
}

type ipamRange struct {
	Subnet  string `json:"subnet"`
	Gateway string `json:"gateway"`
}

// hostLocalConfig returns the configuration for host-local: the runtime's configuration, with one range per Pod CIDR in
// place of its address ranges, and with dataDir unless that is empty.
func (c *networkConfig) hostLocalConfig(podCIDRs []netip.Prefix, dataDir string) ([]byte, error) {
	ranges := make([][]ipamRange, 0, len(podCIDRs))
	for _, cidr := range podCIDRs {
		ranges = append(ranges, []ipamRange{{Subnet: cidr.Masked().String(), Gateway: gatewayOf(cidr).String()}})
	}
	// host-local adds a range from subnet, rangeStart, rangeEnd and gateway to "ranges".
	ipam := without(c.ipam, "subnet", "rangeStart", "rangeEnd", "gateway", "ranges", "dataDir")
	ipam["ranges"] = ranges
	if dataDir = cmp.Or(dataDir, c.dataDir); dataDir != "" {
		ipam["dataDir"] = dataDir
	}
	config := without(c.raw, "cniVersion", "name", "prevResult", "ipam")
	config["cniVersion"], config["name"], config["ipam"] = c.cniVersion, c.name, ipam
	return json.Marshal(config)
}

// without copies an object without some keys, regardless of case: the plugin's decoder takes "Name" for "name" too, and
// would otherwise see another value than the server.
func without(object map[string]json.RawMessage, keys ...string) map[string]any {
	rest := map[string]any{}
	for key, value := range object {
		if !slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, key) }) {
			rest[key] = value
		}
	}
	return rest
}

// gatewayOf returns the first address of a Pod CIDR after the network address.
func gatewayOf(podCIDR netip.Prefix) netip.Addr {
	return podCIDR.Masked().Addr().Next()
}
