// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/component-base/featuregate"

	"github.com/antrea-oncache/antrea/pkg/config"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// choice is a setting with a fixed set of values.
type choice struct {
	name  string
	value *string
	// known are the values that Antrea defines, built those that this version supports, withONCache those that can be combined
	// with ONCache (nil: all).
	known, built, withONCache []string
	// instead is the value whose effect a known value has that is not built, if that does no harm; otherwise the value is refused,
	// and remedy says what to do.
	instead, remedy string
}

func choices(c *AgentConfig) []choice {
	encapModes := []string{EncapModeEncap, EncapModeNoEncap, EncapModeHybrid, EncapModeNetworkPolicyOnly}
	builtModes := []string{EncapModeEncap, EncapModeNoEncap, EncapModeHybrid}
	builtEncryption := []string{EncryptionNone, EncryptionWireGuard}
	tunnels := []string{TunnelGeneve, TunnelVXLAN, TunnelGRE, TunnelSTT}
	udp := []string{TunnelGeneve, TunnelVXLAN}
	podInterfaces := []string{PodInterfaceAuto, PodInterfaceVeth, PodInterfaceNetkit}
	connections := []string{ConnectionsKeep, ConnectionsCut}
	oncacheTunnels := []string{ONCacheTunnelEncap, ONCacheTunnelRewrite}
	return []choice{
		{"ovsDatapathType", &c.OVSDatapathType, []string{"system"}, []string{"system"}, nil, "", ""},
		{"trafficEncapMode", &c.TrafficEncapMode, encapModes, builtModes, builtModes, "",
			"another network plugin would have to connect the Pods: set it to one of these on all Nodes at once, or stay with Antrea"},
		{"trafficEncryptionMode", &c.TrafficEncryptionMode, []string{EncryptionNone, EncryptionIPsec, EncryptionWireGuard}, builtEncryption, builtEncryption, "", "traffic between Nodes would not be encrypted: set it to none if that is acceptable"},
		{"tunnelType", &c.TunnelType, tunnels, udp, udp, "", "set it to one of these on all Nodes at once"},
		{"podInterfaceType", &c.PodInterfaceType, podInterfaces, podInterfaces, nil, "", ""},
		{"hostNetworkMode", &c.HostNetworkMode, []string{"iptables", "nftables"}, []string{"iptables"}, nil, "iptables", ""},
		{"antreaProxy.defaultLoadBalancerMode", &c.AntreaProxy.DefaultLoadBalancerMode, []string{"nat", "dsr"}, []string{"nat"}, nil, "nat", ""},
		{"networkPolicy.establishedConnections", &c.NetworkPolicy.EstablishedConnections, connections, connections, nil, "", ""},
		{"oncache.mode", &c.ONCache.Mode, []string{"enforce", "observe", "off"}, []string{"enforce", "observe", "off"}, nil, "", ""},
		{"oncache.tunnel", &c.ONCache.Tunnel, oncacheTunnels, oncacheTunnels, nil, "", ""},
		{"ipsec.authenticationMode", &c.IPsec.AuthenticationMode, []string{"psk", "cert"}, []string{"psk", "cert"}, nil, "", ""},
	}
}

// Validate returns all errors of the configuration. Choices may be written in any case; Validate changes them to the spelling
// that the rest of the agent expects.
func (c *AgentConfig) Validate(gates featuregate.FeatureGate) error {
	errs := validateChoices(c, gates.Enabled(features.ONCache))
	for _, s := range unbuiltSwitches(c) {
		if gate := features.OfKey(s.name); s.on && s.remedy != "" && (gate == "" || gates.Enabled(gate)) {
			errs = append(errs, fmt.Errorf("%s: true is not supported by this version; supported: false; %s", s.name, s.remedy))
		}
	}
	errs = append(errs, validateMode(c, gates)...)
	errs = append(errs, validateRanges(c)...)
	errs = append(errs, validateDevices(c)...)
	errs = append(errs, validateCIDRs(c)...)
	errs = append(errs, validateSkipServices(c)...)
	errs = append(errs, validateHealthAddress(c)...)
	errs = append(errs, validatePorts(c, gates)...)
	errs = append(errs, config.ValidateAPIServer(c.KubeAPIServerOverride)...)
	errs = append(errs, validateFlowExporter(c, gates)...)
	errs = append(errs, validateNodePortLocal(c, gates)...)
	errs = append(errs, validateNames(c)...)
	return errors.Join(append(errs, config.ValidateTLS(c.TLSMinVersion, c.TLSCipherSuites)...)...)
}

func validateChoices(c *AgentConfig, withONCache bool) (errs []error) {
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, ch := range choices(c) {
		i := slices.IndexFunc(ch.known, func(known string) bool { return strings.EqualFold(known, *ch.value) })
		if i < 0 {
			fail("%s: %q is not a valid value; allowed: %s", ch.name, *ch.value, strings.Join(ch.known, ", "))
			continue
		}
		*ch.value = ch.known[i]
		if withONCache && ch.withONCache != nil && !slices.Contains(ch.withONCache, *ch.value) {
			fail("%s: %q cannot be combined with featureGates.ONCache true; allowed: %s", ch.name, *ch.value, strings.Join(ch.withONCache, ", "))
		}
		if !slices.Contains(ch.built, *ch.value) && ch.instead == "" {
			fail("%s: %q is not supported by this version; supported: %s; %s", ch.name, *ch.value, strings.Join(ch.built, ", "), ch.remedy)
		}
	}
	return errs
}

// validateMode checks settings that depend on the traffic mode, as Antrea does.
func validateMode(c *AgentConfig, gates featuregate.FeatureGate) (errs []error) {
	if c.TrafficEncryptionMode != EncryptionNone && c.TrafficEncapMode != EncapModeEncap {
		errs = append(errs, fmt.Errorf("trafficEncryptionMode: %q needs trafficEncapMode encap, but that is %q: set one of them to its default", c.TrafficEncryptionMode, c.TrafficEncapMode))
	}
	errs = append(errs, validateMulticluster(c, gates)...)
	if c.NoSNAT && c.TrafficEncapMode != EncapModeNoEncap {
		errs = append(errs, fmt.Errorf("noSNAT: true needs trafficEncapMode noEncap, but that is %q: leave noSNAT out", c.TrafficEncapMode))
	}
	if c.TrafficEncapMode != EncapModeEncap && !(gates.Enabled(features.AntreaProxy) && *c.AntreaProxy.Enable) {
		// kube-proxy would translate connections behind the bridge, which then sees only the addresses of Services.
		errs = append(errs, fmt.Errorf("trafficEncapMode: %q needs AntreaProxy, or policies about what Pods send would not hold for Services: set antreaProxy.enable and the gate AntreaProxy",
			c.TrafficEncapMode))
	}
	return errs
}

// validateMulticluster refuses a Namespace that cannot exist, and encryption between clusters: Nodes that are not gateways do not refuse packets in clear
// yet, and packets to a cluster that is not connected any more may leave in clear.
func validateMulticluster(c *AgentConfig, gates featuregate.FeatureGate) (errs []error) {
	if !gates.Enabled(features.Multicluster) {
		return nil
	}
	if mode := c.Multicluster.TrafficEncryptionMode; !strings.EqualFold(mode, EncryptionNone) {
		errs = append(errs, fmt.Errorf("multicluster.trafficEncryptionMode: %q is not supported by this version; supported: %s; some traffic between clusters would not be encrypted: set it to %s if that is acceptable",
			mode, EncryptionNone, EncryptionNone))
	}
	if namespace := c.Multicluster.Namespace; namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		errs = append(errs, fmt.Errorf("multicluster.namespace: %q is not the name of a Namespace; allowed: for example kube-system", namespace))
	}
	return errs
}

func validateRanges(c *AgentConfig) (errs []error) {
	inRange := func(name string, value, low, high int64) {
		if value < low || value > high {
			errs = append(errs, fmt.Errorf("%s: %d is out of range; allowed: %d to %d", name, value, low, high))
		}
	}
	inRange("tunnelPort", int64(c.TunnelPort), 0, 65535)
	inRange("apiPort", int64(c.APIPort), 1, 65535)
	inRange("clusterPort", int64(c.ClusterPort), 1, 65535)
	inRange("wireGuard.port", int64(c.WireGuard.Port), 1, 65535)
	inRange("multicluster.wireGuard.port", int64(c.Multicluster.WireGuard.Port), 1, 65535)
	inRange("fqdnCacheMinTTL", int64(c.FQDNCacheMinTTL), 0, 1<<31-1)
	inRange("packetInRate", int64(c.PacketInRate), 1, 1<<31-1)
	inRange("auditLogging.maxSize", int64(c.AuditLogging.MaxSize), 1, 1<<31-1)
	inRange("auditLogging.maxBackups", int64(*c.AuditLogging.MaxBackups), 0, 1<<31-1)
	inRange("auditLogging.maxAge", int64(*c.AuditLogging.MaxAge), 0, 1<<31-1)
	if c.DefaultMTU != 0 {
		// Every IPv4 host can reassemble packets of 576 bytes (RFC 791); 65000 is Antrea's upper limit.
		inRange("defaultMTU", int64(c.DefaultMTU), 576, 65000)
	}
	inRange("oncache.maxFlows", int64(c.ONCache.MaxFlows), 1024, 1<<24)
	// Less than half of the shortest conntrack timeout that a lease must keep alive: 30 s, for UDP that is younger than 2 s.
	inRange("oncache.leaseSeconds", int64(c.ONCache.LeaseSeconds), 1, 10)
	// NAT never gives one of these ports to a connection (nf_nat_l4proto_unique_tuple), so no answer comes to it.
	inRange("oncache.rewritePort", int64(c.ONCache.RewritePort), 512, 599)
	if c.ONCache.Openings && c.ONCache.Direct && c.ONCache.RewritesPackets() {
		errs = append(errs, errors.New("oncache.openings: true cannot be combined with oncache.tunnel rewrite and oncache.direct true, because kernels might not verify "+
			"programs with all three; allowed: two of them"))
	}
	return errs
}

// longestDeviceName is IFNAMSIZ of linux/if.h without the zero at the end. antctl validates settings on other systems also.
const longestDeviceName = 15

func validateDevices(c *AgentConfig) (errs []error) {
	for _, device := range []struct{ name, value string }{
		{"ovsBridge", c.OVSBridge}, {"hostGateway", c.HostGateway}, {"transportInterface", c.TransportInterface},
	} {
		if len(device.value) > longestDeviceName || strings.ContainsAny(device.value, "/ \t\n:") {
			errs = append(errs, fmt.Errorf("%s: %q is not a network device name; allowed: at most %d characters without space, slash or colon",
				device.name, device.value, longestDeviceName))
		}
	}
	return errs
}

func validateCIDRs(c *AgentConfig) (errs []error) {
	for _, list := range []struct {
		name  string
		cidrs []string
	}{
		{"podCIDRs", config.SplitList(c.PodCIDRs)},
		{"serviceCIDR", config.SplitList(c.ServiceCIDR)},
		{"serviceCIDRv6", config.SplitList(c.ServiceCIDRv6)},
		{"transportInterfaceCIDRs", c.TransportInterfaceCIDRs},
		{"egress.exceptCIDRs", c.Egress.ExceptCIDRs},
		{"antreaProxy.nodePortAddresses", c.AntreaProxy.NodePortAddresses},
	} {
		for _, cidr := range list.cidrs {
			if _, err := netip.ParsePrefix(cidr); err != nil {
				errs = append(errs, fmt.Errorf("%s: %q is not a CIDR; allowed: address/length, for example 10.10.0.0/24", list.name, cidr))
			}
		}
	}
	return errs
}

// validateHealthAddress checks where load balancers ask about the Node.
func validateHealthAddress(c *AgentConfig) []error {
	address := c.AntreaProxy.ServiceHealthCheckServerBindAddress
	if a, err := netip.ParseAddrPort(address); err != nil || a.Port() == 0 {
		return []error{fmt.Errorf("antreaProxy.serviceHealthCheckServerBindAddress: %q is not an address with a port; allowed: for example 0.0.0.0:10256 or [::]:10256", address)}
	}
	return nil
}

// ServiceHealthPort is the port of antreaProxy.serviceHealthCheckServerBindAddress, 0 if health checks are disabled.
func (c *AgentConfig) ServiceHealthPort() uint16 {
	address, err := netip.ParseAddrPort(c.AntreaProxy.ServiceHealthCheckServerBindAddress)
	if err != nil || c.AntreaProxy.DisableServiceHealthCheckServer {
		return 0
	}
	return address.Port()
}

// NodePortNetworks returns the networks of antreaProxy.nodePortAddresses, after Validate.
func (c *AgentConfig) NodePortNetworks() (networks []netip.Prefix) {
	for _, text := range c.AntreaProxy.NodePortAddresses {
		if network, err := netip.ParsePrefix(text); err == nil {
			networks = append(networks, network.Masked())
		}
	}
	return networks
}

// validateSkipServices checks the Services to leave alone: each is an address, or a Namespace and a name.
func validateSkipServices(c *AgentConfig) (errs []error) {
	for _, service := range c.AntreaProxy.SkipServices {
		namespace, name, ok := strings.Cut(service, "/")
		if _, err := netip.ParseAddr(service); err == nil || ok && namespace != "" && name != "" && !strings.Contains(name, "/") {
			continue
		}
		errs = append(errs, fmt.Errorf("antreaProxy.skipServices: %q is not a Service; allowed: namespace/name or a cluster IP, for example kube-system/kube-dns or 10.96.0.10", service))
	}
	return errs
}
