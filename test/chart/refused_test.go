// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRefused: Helm refuses a wrong value and names it.
func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"mistyped section":       {[]string{"--set", "onCache.mode=observe"}, []string{"onCache"}},
		"mistyped key":           {[]string{"--set", "oncache.maxFlow=2048"}, []string{"oncache", "maxFlow"}},
		"mistyped gate":          {[]string{"--set", "featureGates.OnCache=true"}, []string{"featureGates", "OnCache"}},
		"gate that is text":      {[]string{"--set-string", "featureGates.ONCache=yes"}, []string{"featureGates/ONCache", "boolean"}},
		"number that is text":    {[]string{"--set-string", "oncache.maxFlows=many"}, []string{"oncache/maxFlows", "integer"}},
		"number out of range":    {[]string{"--set", "oncache.leaseSeconds=11"}, []string{"oncache/leaseSeconds", "10"}},
		"unknown choice":         {[]string{"--set", "tunnelType=gre"}, []string{"tunnelType", "geneve", "vxlan"}},
		"mode off without quote": {[]string{"--set-json", `oncache={"mode":false}`}, []string{"oncache/mode", "string"}},
		"traffic mode":           {[]string{"--set", "trafficEncapMode=networkPolicyOnly"}, []string{"trafficEncapMode", "hybrid"}},
		"feature of Antrea":      {[]string{"--set", "antreaProxy.defaultLoadBalancerMode=tunnel"}, []string{"antreaProxy/defaultLoadBalancerMode", "'nat', 'dsr'"}},
		"health check address":   {[]string{"--set", "antreaProxy.serviceHealthCheckServerBindAddress=10256"}, []string{"antreaProxy/serviceHealthCheckServerBindAddress"}},
		"feature with its gate": {[]string{"--set", "featureGates.Multicluster=true,multicluster.enableStretchedNetworkPolicy=true"},
			[]string{"multicluster/enableStretchedNetworkPolicy", "false"}},
		"locked gate":          {[]string{"--set", "featureGates.EndpointSlice=false"}, []string{"featureGates/EndpointSlice", "true"}},
		"MTU too small":        {[]string{"--set", "defaultMTU=500"}, []string{"defaultMTU", "576"}},
		"bridge name too long": {[]string{"--set", "ovs.bridgeName=a-bridge-with-a-long-name"}, []string{"ovs/bridgeName"}},
		"not a CIDR":           {[]string{"--set", "transportInterfaceCIDRs={10.0.0.1}"}, []string{"transportInterfaceCIDRs"}},
		"privileged port":      {[]string{"--set", "controller.apiPort=443"}, []string{"controller/apiPort", "want 1,024"}},
		"capability by its name in C": {[]string{"--set", "agent.antreaOVS.securityContext.capabilities={CAP_NET_ADMIN}"},
			[]string{"agent/antreaOVS/securityContext/capabilities"}},
		"two agents on a Node":  {[]string{"--set", "agent.updateStrategy.rollingUpdate.maxSurge=1"}, []string{"maxSurge"}},
		"APIs on one port":      {[]string{"--set", "agent.apiPort=10349"}, []string{"controller.apiPort: tcp/10349 is also the port of agent.apiPort"}},
		"health checks and API": {[]string{"--set", "antreaProxy.proxyAll=true,antreaProxy.serviceHealthCheckServerBindAddress=0.0.0.0:10350"}, []string{"tcp/10350 is also the port of agent.apiPort"}},
		"health checks, default": {[]string{"--set", "antreaProxy.proxyAll=true,controller.apiPort=10256"},
			[]string{"antreaProxy.serviceHealthCheckServerBindAddress: tcp/10256 is also the port of controller.apiPort"}},
		"NodePort and API":     {[]string{"--set", "controller.apiNodePort=30000,agent.apiPort=30000"}, []string{"controller.apiNodePort: tcp/30000"}},
		"rewriting and tunnel": {[]string{"--set", "tunnelPort=585"}, []string{"oncache.rewritePort: udp/585 is also the port of tunnelPort"}},
		"rewriting and API":    {[]string{"--set", "agent.apiPort=590,oncache.rewritePort=590"}, []string{"oncache.rewritePort: tcp/590 is also the port of agent.apiPort"}},
		"rewriting, openings and direct hits": {[]string{"--set", "oncache.tunnel=rewrite,oncache.openings=true,oncache.direct=true,trafficEncapMode=hybrid"},
			[]string{"oncache.openings: true cannot be combined with oncache.tunnel rewrite and oncache.direct true"}},
		"API server without host":  {[]string{"--set", "kubeAPIServerOverride=://x"}, []string{"kubeAPIServerOverride"}},
		"label of the selector":    {[]string{"--set", "agent.podLabels.app=x"}, []string{"agent/podLabels", "app"}},
		"annotation of the chart":  {[]string{"--set", `controller.podAnnotations.checksum/config=x`}, []string{"controller/podAnnotations"}},
		"variable of the chart":    {[]string{"--set", "agent.antreaAgent.extraEnv.NODE_NAME=x"}, []string{"agent/antreaAgent/extraEnv", "NODE_NAME"}},
		"gateway with a quote":     {[]string{"--set-json", `hostGateway="a\"b"`}, []string{"hostGateway"}},
		"protocol of flow records": {[]string{"--set", "flowExporter.protocolFilter={icmp}"}, []string{"flowExporter/protocolFilter"}},
		"another Namespace":        {[]string{"--namespace", "antrea"}, []string{"antrea", "kube-system"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := template(t, tc.args...)
			require.Error(t, err, out)
			for _, part := range tc.want {
				require.ErrorContains(t, err, part)
			}
		})
	}
}
