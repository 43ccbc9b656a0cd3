// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func agentPod(t *testing.T, all objects) corev1.PodTemplateSpec {
	t.Helper()
	return get[*appsv1.DaemonSet](t, all, "DaemonSet antrea-agent").Spec.Template
}

func controllerPod(t *testing.T, all objects) corev1.PodTemplateSpec {
	t.Helper()
	return get[*appsv1.Deployment](t, all, "Deployment antrea-controller").Spec.Template
}

// plugins are the types of the CNI configuration's plugins.
func plugins(t *testing.T, conflist string) (types []string) {
	t.Helper()
	var list struct {
		CNIVersion, Name string
		Plugins          []struct {
			Type string `json:"type"`
			MTU  int    `json:"mtu"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(conflist), &list), conflist)
	require.Equal(t, "0.3.0", list.CNIVersion)
	require.Equal(t, "antrea", list.Name)
	for _, p := range list.Plugins {
		types = append(types, p.Type)
	}
	return types
}

// TestMatrix renders the chart as different users would, and checks what is particular to each.
func TestMatrix(t *testing.T) {
	defaults := agentPod(t, render(t)).Annotations["checksum/config"]
	require.Len(t, defaults, 64)
	for name, tc := range map[string]struct {
		set   []string
		check func(t *testing.T, all objects, f files)
	}{
		"gate on": {[]string{"featureGates.ONCache=true", "oncache.mode=observe", "oncache.maxFlows=262144", "oncache.leaseSeconds=3"},
			func(t *testing.T, all objects, f files) {
				require.True(t, f.onCache)
				require.Equal(t, "observe", f.agent.ONCache.Mode)
				require.EqualValues(t, 262144, f.agent.ONCache.MaxFlows)
				require.NotEqual(t, defaults, agentPod(t, all).Annotations["checksum/config"], "agents are not restarted")
			}},
		"rewriting": {[]string{"featureGates.ONCache=true", "oncache.tunnel=rewrite", "oncache.rewritePort=590"},
			func(t *testing.T, _ objects, f files) {
				require.True(t, f.agent.ONCache.RewritesPackets())
				require.EqualValues(t, 590, f.agent.ONCache.RewritePort)
			}},
		"mode off": {[]string{"oncache.mode=off"}, func(t *testing.T, _ objects, f files) { require.Equal(t, "off", f.agent.ONCache.Mode) }},
		"VXLAN, gate on, cut": {[]string{"tunnelType=vxlan", "tunnelPort=8472", "featureGates.ONCache=true", "networkPolicy.establishedConnections=cut"},
			func(t *testing.T, _ objects, f files) {
				require.Equal(t, "vxlan", f.agent.TunnelType)
				require.EqualValues(t, 8472, f.agent.TunnelPort)
				require.Equal(t, "cut", f.agent.NetworkPolicy.EstablishedConnections)
			}},
		"IPv6": {[]string{"podCIDRs=10.1.0.0/24\\,fd00:1::/64", "serviceCIDRv6=fd00:96::/112", "transportInterfaceCIDRs={2001:db8::/64}", "defaultMTU=1400"},
			func(t *testing.T, _ objects, f files) {
				require.Equal(t, "10.1.0.0/24,fd00:1::/64", f.agent.PodCIDRs)
				require.Equal(t, []string{"2001:db8::/64"}, f.agent.TransportInterfaceCIDRs)
				require.Equal(t, 1400, f.agent.DefaultMTU)
			}},
		"features without gate": {[]string{"featureGates.NodePortLocal=false", "nodePortLocal.enable=true", "flowExporter.enable=true", "featureGates.AntreaProxy=false"},
			func(t *testing.T, _ objects, f files) { require.True(t, f.agent.NodePortLocal.Enable) }},
		"features that are absent": {[]string{"nodePortLocal.enable=true", "featureGates.FlowExporter=true", "flowExporter.enable=true", "hostNetworkMode=nftables",
			"multicast.enable=true", "nodeIPAM.enable=true", "clientCAFile=/ca", "antreaProxy.defaultLoadBalancerMode=dsr"},
			func(t *testing.T, _ objects, f files) { require.True(t, f.agent.NodePortLocal.Enable) }},
		"all Alpha gates": {[]string{"featureGates.AllAlpha=true"}, func(t *testing.T, _ objects, f files) { require.True(t, f.onCache) }},
		"no chained plugins": {[]string{"cni.plugins.portmap=false", "cni.plugins.bandwidth=false", "cni.skipBinaries={portmap,bandwidth}", "cni.hostBinPath=/home/kubernetes/bin"},
			func(t *testing.T, all objects, f files) {
				require.Equal(t, []string{"antrea"}, plugins(t, f.conflist))
				require.Contains(t, agentPod(t, all).Spec.InitContainers[0].Env, corev1.EnvVar{Name: "SKIP_CNI_BINARIES", Value: "portmap,bandwidth"})
			}},
		"the controller's certificate": {nil, func(t *testing.T, all objects, f files) {
			require.True(t, *f.controller.SelfSignedCert)
			requireCertificateVolume(t, all) // the ConfigMap may be changed later
		}},
		"the user's certificate": {[]string{"controller.selfSignedCert=false", "tlsMinVersion=VersionTLS12"}, func(t *testing.T, all objects, f files) {
			require.False(t, *f.controller.SelfSignedCert)
			requireCertificateVolume(t, all)
		}},
		"other ports": {[]string{"agent.apiPort=11350", "controller.apiPort=11349", "controller.apiNodePort=31349"}, func(t *testing.T, all objects, f files) {
			require.Equal(t, 11350, f.agent.APIPort)
			requireAPIPort(t, agentPod(t, all).Spec.Containers[0], 11350)
			requireAPIPort(t, controllerPod(t, all).Spec.Containers[0], 11349)
			service := get[*corev1.Service](t, all, "Service antrea").Spec
			require.Equal(t, corev1.ServiceTypeNodePort, service.Type)
			require.EqualValues(t, 31349, service.Ports[0].NodePort)
		}},
		"images": {[]string{"agentImage.tag=v9", "controllerImage.repository=other/controller", "agentImage.pullPolicy=Never",
			"imagePullSecrets[0].name=registry"},
			func(t *testing.T, all objects, _ files) {
				secrets := []corev1.LocalObjectReference{{Name: "registry"}}
				require.Equal(t, secrets, agentPod(t, all).Spec.ImagePullSecrets)
				require.Equal(t, secrets, controllerPod(t, all).Spec.ImagePullSecrets)
				for _, container := range agentPod(t, all).Spec.Containers {
					require.Equal(t, "ghcr.io/antrea-oncache/antrea-agent-ubuntu:v9", container.Image)
					require.Equal(t, corev1.PullNever, container.ImagePullPolicy)
				}
				require.Equal(t, "other/controller:latest", controllerPod(t, all).Spec.Containers[0].Image)
			}},
		"agent with capabilities": {[]string{"agent.antreaAgent.securityContext.privileged=false"}, func(t *testing.T, all objects, _ files) {
			context := agentPod(t, all).Spec.Containers[0].SecurityContext
			require.Nil(t, context.Privileged)
			require.Contains(t, context.Capabilities.Add, corev1.Capability("BPF"))
		}},
		"arguments": {[]string{"agent.antreaAgent.extraArgs={--feature-gates=ONCache=true}", "agent.antreaAgent.extraEnv.NUMBER=7", "logVerbosity=4",
			"ovs.hwOffload=true", "agent.dontLoadKernelModules=true", "controller.antreaController.extraEnv.TEXT=a b"}, func(t *testing.T, all objects, _ files) {
			pod, controller := agentPod(t, all).Spec, controllerPod(t, all).Spec
			require.Subset(t, pod.Containers[0].Args, []string{"--feature-gates=ONCache=true", "--v=4", "--log_file_max_num=4"})
			require.Contains(t, pod.Containers[0].Env, corev1.EnvVar{Name: "NUMBER", Value: "7"})
			require.Equal(t, []string{"--hw-offload"}, pod.Containers[1].Args)
			require.Equal(t, []corev1.EnvVar{{Name: "SKIP_LOADING_KERNEL_MODULES", Value: "1"}}, pod.InitContainers[0].Env)
			require.Contains(t, controller.Containers[0].Env, corev1.EnvVar{Name: "TEXT", Value: "a b"})
		}},
		"scheduling": {[]string{"agent.nodeSelector.pool=a", "agent.podLabels.team=net", "agent.podAnnotations.note=x", "controller.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key=pool",
			"controller.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator=Exists"},
			func(t *testing.T, all objects, _ files) {
				pod := agentPod(t, all)
				require.Equal(t, map[string]string{"kubernetes.io/os": "linux", "pool": "a"}, pod.Spec.NodeSelector)
				require.Equal(t, "net", pod.Labels["team"])
				require.Equal(t, "x", pod.Annotations["note"])
				require.NotNil(t, controllerPod(t, all).Spec.Affinity.NodeAffinity)
			}},
	} {
		t.Run(name, func(t *testing.T) {
			var args []string
			for _, set := range tc.set {
				args = append(args, "--set", set)
			}
			all := render(t, args...)
			f := configuration(t, all)
			require.Equal(t, "antrea", plugins(t, f.conflist)[0])
			requireWhole(t, agentPod(t, all).Spec)
			requireWhole(t, controllerPod(t, all).Spec)
			tc.check(t, all, f)
		})
	}
}

// requireCertificateVolume: the controller sees the user's certificate as soon as there is one, and starts without.
func requireCertificateVolume(t *testing.T, all objects) {
	t.Helper()
	pod := controllerPod(t, all)
	require.Contains(t, pod.Spec.Containers[0].VolumeMounts,
		corev1.VolumeMount{Name: "antrea-controller-tls", MountPath: "/var/run/antrea/antrea-controller-tls", ReadOnly: true})
	for _, volume := range pod.Spec.Volumes {
		if volume.Name == "antrea-controller-tls" {
			require.Equal(t, "antrea-controller-tls", volume.Secret.SecretName)
			require.True(t, *volume.Secret.Optional)
			return
		}
	}
	t.Error("there is no volume antrea-controller-tls")
}
