// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/features"
)

// validate parses and validates a configuration file as the agent does.
func validate(text string) (*AgentConfig, error) {
	c, err := Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	gates, err := features.New(c.FeatureGates)
	if err != nil {
		return nil, err
	}
	return c, c.Validate(gates)
}

func TestValidateAccepts(t *testing.T) {
	for name, text := range map[string]string{
		"empty":                         "",
		"unknown keys":                  "noSuchKey: 1\noncache: {noSuchKey: 2}",
		"ONCache on with its defaults":  "featureGates: {ONCache: true}",
		"ONCache on with VXLAN":         "featureGates: {ONCache: true}\ntunnelType: vxlan\ntunnelPort: 4790",
		"ONCache on, all settings":      "featureGates: {ONCache: true}\ntrafficEncapMode: encap\ntrafficEncryptionMode: none\ntunnelType: geneve\noncache: {maxFlows: 1024, leaseSeconds: 10, mode: off}",
		"routed":                        "featureGates: {ONCache: true}\ntrafficEncapMode: NoEncap\nnoSNAT: true",
		"routed in the subnet":          "featureGates: {ONCache: true}\ntrafficEncapMode: HYBRID",
		"choices in another case":       "trafficEncapMode: Encap\ntunnelType: GENEVE",
		"a gate without effect":         "featureGates: {Egress: true, NodeIPAM: true}",
		"gate AllAlpha":                 "featureGates: {AllAlpha: true}",
		"ipsec settings without ipsec":  "ipsec: {authenticationMode: cert}",
		"lists":                         "podCIDRs: 10.10.0.0/24, fd00:10::/64\ntransportInterfaceCIDRs: [192.168.0.0/16]\negress: {exceptCIDRs: [10.0.0.0/8]}",
		"TLS settings":                  "tlsMinVersion: VersionTLS12\ntlsCipherSuites: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
		"Pods with netkit":              "podInterfaceType: Netkit",
		"proxyAll":                      "kubeAPIServerOverride: https://192.0.2.1:6443\nantreaProxy: {proxyAll: true, nodePortAddresses: [192.0.2.0/24], serviceHealthCheckServerBindAddress: '[::]:10256'}",
		"gates that users switch off":   "featureGates: {AntreaProxy: false, NodePortLocal: false}\nnodePortLocal: {enable: true}",
		"lowest MTU":                    "defaultMTU: 576",
		"service CIDR of both families": "serviceCIDR: 10.96.0.0/12\nserviceCIDRv6: fd00:96::/112",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := validate(text)
			require.NoError(t, err)
			require.Contains(t, []string{"encap", "noEncap", "hybrid"}, c.TrafficEncapMode)
			require.Contains(t, []string{"geneve", "vxlan"}, c.TunnelType)
		})
	}
}

func TestValidateRefuses(t *testing.T) {
	const gate = "featureGates: {ONCache: true}\n"
	for _, tc := range []struct {
		name, text string
		errs       []string
	}{
		{"unknown gate", "featureGates: {OnCache: true}", []string{`unknown feature gate "OnCache"`, "valid feature gates: ", "ONCache", "TrafficControl"}},
		{"locked gate", "featureGates: {EndpointSlice: false}", []string{"EndpointSlice"}},

		{"ONCache with networkPolicyOnly", gate + "trafficEncapMode: networkPolicyOnly", []string{`"networkPolicyOnly" cannot be combined with featureGates.ONCache true; allowed: encap, noEncap, hybrid`}},
		{"ONCache with ipsec", gate + "trafficEncryptionMode: ipsec", []string{`trafficEncryptionMode: "ipsec" cannot be combined with featureGates.ONCache true; allowed: none, wireGuard`}},
		{"ONCache with gre", gate + "tunnelType: gre", []string{`tunnelType: "gre" cannot be combined with featureGates.ONCache true; allowed: geneve, vxlan`}},
		{"ONCache with stt", gate + "tunnelType: stt", []string{`tunnelType: "stt" cannot be combined with featureGates.ONCache true; allowed: geneve, vxlan`}},
		{"ONCache by AllAlpha", "featureGates: {AllAlpha: true}\ntrafficEncapMode: networkPolicyOnly", []string{"cannot be combined with featureGates.ONCache"}},
		{"ONCache, too few flows", gate + "oncache: {maxFlows: 10}", []string{"oncache.maxFlows: 10 is out of range; allowed: 1024 to 16777216"}},
		{"ONCache, unknown mode", "oncache: {mode: faster}", []string{"oncache.mode", "faster", "enforce", "observe", "off"}},
		{"ONCache, unknown tunnel", "oncache: {tunnel: direct}", []string{"oncache.tunnel", "direct", "encap, rewrite"}},
		{"ONCache, all that adds code", "oncache: {tunnel: rewrite, openings: true, direct: true}",
			[]string{"oncache.openings: true cannot be combined with oncache.tunnel rewrite and oncache.direct true", "allowed: two of them"}},
		{"ONCache, port out of range", "oncache: {rewritePort: 600}", []string{"oncache.rewritePort: 600 is out of range; allowed: 512 to 599"}},
		{"ONCache, the tunnel's port", "tunnelPort: 590\noncache: {tunnel: rewrite, rewritePort: 590}", []string{"oncache.rewritePort: 590 is the port of tunnelPort"}},
		{"ONCache that encapsulates, the API's port", "featureGates: {ONCache: true}\napiPort: 590\noncache: {rewritePort: 590}", []string{"oncache.rewritePort: 590 is the port of apiPort"}},
		{"API and health checks on one port", "apiPort: 10256\nantreaProxy: {proxyAll: true}",
			[]string{"antreaProxy.serviceHealthCheckServerBindAddress: 10256 is the port of apiPort; allowed: a port that nothing else on any Node uses"}},
		{"API and memberlist on one port", "apiPort: 10351", []string{"clusterPort: 10351 is the port of apiPort"}},
		{"wireGuard, the tunnel's port", "trafficEncryptionMode: wireGuard\nwireGuard: {port: 6081}", []string{"wireGuard.port: 6081 is the port of tunnelPort"}},
		{"API that is no address", "kubeAPIServerOverride: '://x'", []string{`kubeAPIServerOverride: "://x" is not an address; allowed: for example https://10.0.0.1:6443`}},
		{"API of another scheme", "kubeAPIServerOverride: 'ftp://x'", []string{"kubeAPIServerOverride"}},
		{"ONCache, the API's port", "apiPort: 590\noncache: {tunnel: rewrite, rewritePort: 590}", []string{"oncache.rewritePort: 590 is the port of apiPort"}},
		{"ONCache, lease too long", "oncache: {leaseSeconds: 120}", []string{"oncache.leaseSeconds: 120 is out of range; allowed: 1 to 10"}},

		{"networkPolicyOnly", "trafficEncapMode: networkpolicyonly", []string{`trafficEncapMode: "networkPolicyOnly" is not supported by this version; supported: encap, noEncap, hybrid; another network plugin`}},
		{"routed without AntreaProxy", "trafficEncapMode: noEncap\nantreaProxy: {enable: false}", []string{`trafficEncapMode: "noEncap" needs AntreaProxy`}},
		{"routed without the gate AntreaProxy", "trafficEncapMode: hybrid\nfeatureGates: {AntreaProxy: false}", []string{`trafficEncapMode: "hybrid" needs AntreaProxy`}},
		{"noSNAT with a tunnel", "trafficEncapMode: hybrid\nnoSNAT: true", []string{`noSNAT: true needs trafficEncapMode noEncap, but that is "hybrid"`}},
		{"ipsec", "trafficEncryptionMode: IPsec", []string{`trafficEncryptionMode: "ipsec" is not supported by this version; supported: none, wireGuard; traffic between Nodes would not be encrypted`}},
		{"wireGuard without the tunnel", "trafficEncryptionMode: wireGuard\ntrafficEncapMode: noEncap", []string{`trafficEncryptionMode: "wireGuard" needs trafficEncapMode encap, but that is "noEncap"`}},
		{"gre", "tunnelType: gre", []string{`tunnelType: "gre" is not supported by this version; supported: geneve, vxlan`}},
		{"bridging", "enableBridgingMode: true", []string{"enableBridgingMode: true is not supported by this version; supported: false"}},
		{"health check address", "antreaProxy: {serviceHealthCheckServerBindAddress: 10256}", []string{`antreaProxy.serviceHealthCheckServerBindAddress: "10256" is not an address with a port`}},
		{"encryption between clusters", "featureGates: {Multicluster: true}\nmulticluster: {trafficEncryptionMode: wireGuard}",
			[]string{`multicluster.trafficEncryptionMode: "wireGuard" is not supported`, "would not be encrypted"}},
		{"port of encryption between clusters", "featureGates: {Multicluster: true}\nmulticluster: {enableGateway: true, trafficEncryptionMode: wireGuard, wireGuard: {port: 6081}}",
			[]string{"multicluster.wireGuard.port: 6081 is the port of tunnelPort"}},
		{"port of encryption between clusters, too large", "multicluster: {wireGuard: {port: 70000}}", []string{"multicluster.wireGuard.port: 70000 is out of range; allowed: 1 to 65535"}},
		{"Namespace of multi-cluster", "featureGates: {Multicluster: true}\nmulticluster: {namespace: a/b}", []string{`multicluster.namespace: "a/b" is not the name of a Namespace`}},
		{"stretched policies with rewritten packets", "featureGates: {Multicluster: true}\nmulticluster: {enableStretchedNetworkPolicy: true}\noncache: {tunnel: rewrite}",
			[]string{"multicluster.enableStretchedNetworkPolicy: true is not supported", "no version can combine it with oncache.tunnel rewrite"}},
		{"stretched policies", "featureGates: {Multicluster: true}\nmulticluster: {enableStretchedNetworkPolicy: true}", []string{"multicluster.enableStretchedNetworkPolicy: true is not supported", "would not be enforced"}},
		{"noSNAT", "noSNAT: true", []string{`noSNAT: true needs trafficEncapMode noEncap, but that is "encap"`}},

		{"unknown Pod interface", "podInterfaceType: ipvlan", []string{`podInterfaceType: "ipvlan" is not a valid value; allowed: auto, veth, netkit`}},
		{"unknown mode", "trafficEncapMode: tunnel", []string{`trafficEncapMode: "tunnel" is not a valid value; allowed: encap, noEncap, hybrid, networkPolicyOnly`}},
		{"unknown datapath", "ovsDatapathType: netdev", []string{`ovsDatapathType: "netdev" is not a valid value; allowed: system`}},
		{"tunnel port", "tunnelPort: 70000", []string{"tunnelPort: 70000 is out of range; allowed: 0 to 65535"}},
		{"API port", "apiPort: -1", []string{"apiPort: -1 is out of range"}},
		{"MTU", "defaultMTU: 100", []string{"defaultMTU: 100 is out of range; allowed: 576 to 65000"}},
		{"audit log, size", "auditLogging: {maxSize: -1}", []string{"auditLogging.maxSize: -1 is out of range; allowed: 1 to 2147483647"}},
		{"audit log, files", "auditLogging: {maxBackups: -1, maxAge: -1}", []string{"auditLogging.maxBackups: -1 is out of range", "auditLogging.maxAge: -1 is out of range"}},
		{"gateway name", "hostGateway: a-very-long-gateway-name", []string{"hostGateway", "at most 15 characters"}},
		{"Pod CIDR", "podCIDRs: 10.10.0.0", []string{`podCIDRs: "10.10.0.0" is not a CIDR`}},
		{"skipped Service", "antreaProxy: {skipServices: [kube-system/kube-dns, 10.96.0.10, 'fd00::1', kube-dns]}", []string{`antreaProxy.skipServices: "kube-dns" is not a Service; allowed: namespace/name`}},
		{"NodePort address", "antreaProxy: {nodePortAddresses: [192.168.0.0]}", []string{`antreaProxy.nodePortAddresses: "192.168.0.0" is not a CIDR`}},
		{"transport CIDR", "transportInterfaceCIDRs: [eth0]", []string{`transportInterfaceCIDRs: "eth0" is not a CIDR`}},
		{"TLS version", "tlsMinVersion: TLS12", []string{"tlsMinVersion", "VersionTLS12"}},
		{"TLS cipher suite", "tlsCipherSuites: NONE", []string{"tlsCipherSuites", "NONE", "allowed: "}},
		{"shortest time for names", "fqdnCacheMinTTL: -1", []string{"fqdnCacheMinTTL: -1 is out of range; allowed: 0 to 2147483647"}},
		{"DNS server", "dnsServerOverride: 'fd00::a:x'", []string{`dnsServerOverride: "fd00::a:x" is not a DNS server; allowed: host or host:port`}},
		{"ports for Pods", "nodePortLocal: {enable: true, portRange: 62000-61000}", []string{`nodePortLocal.portRange: "62000-61000" is not a range of ports`, "61000-62000"}},
		{"port 0 for Pods", "nodePortLocal: {enable: true, portRange: 0-61000}", []string{`"0-61000" is not a range`}},
		{"one port for Pods", "nodePortLocal: {enable: true, portRange: '61000'}", []string{`"61000" is not a range`}},
		{"several at once", gate + "trafficEncapMode: networkPolicyOnly\ntunnelType: stt\napiPort: 100000", []string{"trafficEncapMode", "tunnelType", "apiPort"}},
		{"not YAML", "a: b: c", []string{"parsing agent configuration", "yaml"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := validate(tc.text)
			require.Error(t, err)
			for _, part := range tc.errs {
				require.ErrorContains(t, err, part)
			}
		})
	}
}

func TestSettingsWithoutEffect(t *testing.T) {
	c, err := validate("featureGates: {NodePortLocal: false, Multicast: false}\nflowExporter: {enable: true}\nnodePortLocal: {enable: true}\n" +
		"multicast: {enable: true}\nmulticluster: {enableGateway: true}\nsecondaryNetwork: {ovsBridges: [{bridgeName: br-ext}]}\n" +
		"hostNetworkAcceleration: {enable: true}\noncache: {direct: true}")
	require.NoError(t, err, "Antrea accepts all of this")
	gates, err := features.New(c.FeatureGates)
	require.NoError(t, err)
	require.Equal(t, []string{
		"flowExporter.enable needs the feature gate FlowExporter",
		"nodePortLocal.enable needs the feature gate NodePortLocal",
		"multicluster.enableGateway needs the feature gate Multicluster",
		"multicast.enable needs the feature gate Multicast",
		"secondaryNetwork.ovsBridges needs the feature gate SecondaryNetwork",
		"hostNetworkAcceleration.enable: true is for trafficEncapMode noEncap and hybrid",
		"oncache.direct: true is for trafficEncapMode noEncap and hybrid",
	}, c.WithoutEffect(gates))

	c, err = validate("trafficEncapMode: noEncap\nhostNetworkAcceleration: {enable: true}\noncache: {direct: true}")
	require.NoError(t, err)
	gates, err = features.New(nil)
	require.NoError(t, err)
	require.Equal(t, []string{
		"hostNetworkAcceleration.enable: this version does not have the feature",
		"featureGates.Egress: Egresses need trafficEncapMode encap, without it Pods keep their Node's address outside",
	}, c.WithoutEffect(gates))

	c, err = validate("trafficEncapMode: noEncap\nfeatureGates: {Multicluster: true, Egress: false}\nmulticluster: {enableGateway: true, enablePodToPodConnectivity: true}")
	require.NoError(t, err)
	gates, err = features.New(c.FeatureGates)
	require.NoError(t, err)
	require.Equal(t, []string{
		"multicluster.enableGateway: other clusters are not connected, which needs trafficEncapMode encap, trafficEncryptionMode none and AntreaProxy",
	}, c.WithoutEffect(gates))

	c, err = validate("featureGates: {Multicluster: true}\nmulticluster: {enablePodToPodConnectivity: true}")
	require.NoError(t, err)
	gates, err = features.New(c.FeatureGates)
	require.NoError(t, err)
	require.Equal(t, []string{"multicluster.enablePodToPodConnectivity needs multicluster.enableGateway"}, c.WithoutEffect(gates))
	require.False(t, c.EncryptsClusters(gates))

	c, err = validate("featureGates: {Multicluster: true}")
	require.NoError(t, err)
	c.Multicluster.TrafficEncryptionMode = EncryptionWireGuard
	require.Equal(t, []string{"multicluster.trafficEncryptionMode needs multicluster.enableGateway"}, c.WithoutEffect(gates))
	require.False(t, c.EncryptsClusters(gates))
	c.Multicluster.EnableGateway = true
	require.Empty(t, c.WithoutEffect(gates))
	require.True(t, c.EncryptsClusters(gates))

	c, err = validate("hostNetworkMode: nftables\nantreaProxy: {defaultLoadBalancerMode: dsr}")
	require.NoError(t, err, "without these features the Node works, without an agent it does not")
	gates, err = features.New(nil)
	require.NoError(t, err)
	require.Equal(t, []string{
		`hostNetworkMode: this version does not have "nftables"; it does as with "iptables"`,
		`antreaProxy.defaultLoadBalancerMode: this version does not have "dsr"; it does as with "nat"`,
	}, c.WithoutEffect(gates))

	c, err = validate("")
	require.NoError(t, err)
	gates, err = features.New(nil)
	require.NoError(t, err)
	require.Empty(t, c.WithoutEffect(gates))
}
