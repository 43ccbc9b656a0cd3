// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

const upstreamValues = "testdata/upstream-values.yaml"

// TestUpstreamValues: a values file of Antrea's chart can be used, and agents take what comes of it.
func TestUpstreamValues(t *testing.T) {
	all := render(t, "--values", upstreamValues)
	f := configuration(t, all)
	require.Equal(t, "0.0.0.0:10256", f.agent.AntreaProxy.ServiceHealthCheckServerBindAddress, "the default, as there")
	require.Equal(t, 10351, f.agent.ClusterPort)
	require.Contains(t, agentPod(t, all).Spec.InitContainers[0].Env, corev1.EnvVar{Name: "CONFIG_FILE_MODE", Value: "644"})

	// Agents do not speak gRPC: with the exporter on, they would not start.
	_, err := template(t, "--values", upstreamValues, "--set", "featureGates.FlowExporter=true,flowExporter.enable=true")
	require.ErrorContains(t, err, `flowExporter.flowCollectorAddr: "flow-aggregator/flow-aggregator:14739:grpc" has the protocol grpc; allowed: tls, tcp and udp`)
	_, err = template(t, "--values", upstreamValues, "--set", "featureGates.AllAlpha=true,flowExporter.enable=true")
	require.ErrorContains(t, err, "has the protocol grpc")
	configuration(t, render(t, "--values", upstreamValues, "--set", "flowExporter.enable=true"))
	configuration(t, render(t, "--values", upstreamValues, "--set", "featureGates.AllAlpha=true,featureGates.FlowExporter=false,flowExporter.enable=true"))
	configuration(t, render(t, "--values", upstreamValues, "--set",
		"featureGates.FlowExporter=true,flowExporter.enable=true,flowExporter.flowCollectorAddr=flow-aggregator/flow-aggregator:4739:tls"))
}

// TestNotesNameUnusedValues: what a values file says and nothing obeys.
func TestNotesNameUnusedValues(t *testing.T) {
	notes := func(args ...string) string {
		out, err := helm(t, append([]string{"install", "antrea", chartDir, "--namespace", "kube-system", "--dry-run=client"}, args...)...)
		require.NoError(t, err)
		_, notes, found := strings.Cut(out, "\nNOTES:\n")
		require.True(t, found)
		return notes
	}
	require.NotContains(t, notes(), "without effect")
	got := notes("--values", upstreamValues, "--set", "agent.kubeletRootDir=/data/kubelet,agent.antreaOVS.logFileMaxNum=9")
	require.Contains(t, got, "Values without effect:")
	for _, name := range []string{"image:", "agent.kubeletRootDir:", "agent.antreaIPsec:", "agent.antreaSysctlInit:", "agent.antreaOVS.logFileMaxSize, logFileMaxNum:"} {
		require.Contains(t, got, "\n  "+name, got)
	}
}

// TestValuesAreQuoted: no value can become something else than text where text is meant.
func TestValuesAreQuoted(t *testing.T) {
	for _, text := range []string{`a: b`, `true`, `1`, `a #b`, `"`, `'`, `{a}`, `- a`} {
		args := []string{"--set-json", "agent.priorityClassName=" + compact(t, text), "--set-json", "controller.priorityClassName=" + compact(t, text),
			"--set-json", "cni.hostBinPath=" + compact(t, "/"+text), "--set-json", "hostProcPathPrefix=" + compact(t, "/"+text),
			"--set-json", "agent.antreaAgent.extraArgs=" + compact(t, []string{text}), "--set-json", "agent.podLabels=" + compact(t, map[string]string{"x": text}),
			"--set-json", "kubeAPIServerOverride=" + compact(t, "https://x/"+strings.ReplaceAll(text, " ", "_")), "--set-json", "agentImage.repository=" + compact(t, text)}
		all := render(t, args...)
		require.Equal(t, text, agentPod(t, all).Spec.PriorityClassName)
		require.Equal(t, text, controllerPod(t, all).Spec.PriorityClassName)
		require.Equal(t, text, agentPod(t, all).Labels["x"])
		require.Contains(t, agentPod(t, all).Spec.Containers[0].Args, text)
		configuration(t, all)
		render(t, append(args, "--set", "cleanup.enable=true")...)
	}
}
