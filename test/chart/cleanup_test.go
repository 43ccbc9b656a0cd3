// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestCleanup: the DaemonSet that cleans the Nodes up takes the place of agents and controller, and reaches all that the agent's Pods reach.
func TestCleanup(t *testing.T) {
	require.NotContains(t, render(t), "DaemonSet antrea-cleanup")
	all := render(t, "--set", "cleanup.enable=true,cleanup.dryRun=true,cleanup.keepLogs=true", "--set", "ovs.bridgeName=br-x,hostGateway=gw-x,cni.hostBinPath=/opt/x",
		"--set", "imagePullSecrets[0].name=registry")
	for _, gone := range []string{"DaemonSet antrea-agent", "Deployment antrea-controller", "ConfigMap antrea-config"} {
		require.NotContains(t, all, gone)
	}
	pod := get[*appsv1.DaemonSet](t, all, "DaemonSet antrea-cleanup").Spec.Template.Spec
	requireWhole(t, pod)
	require.True(t, pod.HostNetwork)
	require.False(t, *pod.AutomountServiceAccountToken, "it has no rights in the API")
	require.Equal(t, []string{
		"--root=/host", "--unless-exists=/etc/antrea/antrea-agent.conf", "--cni-bin-dir=/opt/cni/bin", "--ovs-bridge=br-x", "--host-gateway=gw-x", "--keep-logs", "--dry-run",
	}, pod.InitContainers[0].Args)
	agent := agentPod(t, render(t)).Spec
	require.Equal(t, agent.Tolerations, pod.Tolerations)
	require.Equal(t, agent.NodeSelector, pod.NodeSelector)
	require.Equal(t, []corev1.LocalObjectReference{{Name: "registry"}}, pod.ImagePullSecrets)

	have := map[string]bool{}
	for _, v := range pod.Volumes {
		if v.HostPath != nil {
			have[v.HostPath.Path] = true
		}
	}
	// Of the agent's, it removes nothing in these.
	never := map[string]bool{"/lib/modules": true, "/proc": true, "/var/run/netns": true}
	inside := map[string]string{"/var/run/antrea": "/var/run", "/var/log/antrea": "/var/log", "/opt/cni/bin": "/opt/x"}
	for _, v := range agent.Volumes {
		if v.HostPath == nil || never[v.HostPath.Path] {
			continue
		}
		path := v.HostPath.Path
		if other, ok := inside[path]; ok {
			path = other
		}
		require.True(t, have[path], "the agent writes to %s of the Node", v.HostPath.Path)
	}
	require.Contains(t, pod.Volumes, corev1.Volume{Name: "antrea-config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: "antrea-config"}, Optional: &[]bool{true}[0],
	}}})
}
