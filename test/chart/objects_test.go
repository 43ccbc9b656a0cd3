// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/antrea-oncache/antrea/pkg/apiserver/admission"
	"github.com/antrea-oncache/antrea/pkg/apiserver/certificate"
	"github.com/antrea-oncache/antrea/pkg/controller/externalip"
	"github.com/antrea-oncache/antrea/pkg/controller/traceflow"
)

// names are the objects that the chart makes; with their kinds they are Antrea's.
var names = []string{
	"APIService v1alpha1.stats.antrea.io",
	"APIService v1beta1.system.antrea.io",
	"APIService v1beta2.controlplane.antrea.io",
	"ClusterRole aggregate-antrea-clustergroups-edit",
	"ClusterRole aggregate-antrea-clustergroups-view",
	"ClusterRole aggregate-antrea-networkpolicystats-view",
	"ClusterRole aggregate-antrea-policies-edit",
	"ClusterRole aggregate-antrea-policies-view",
	"ClusterRole aggregate-traceflows-edit",
	"ClusterRole aggregate-traceflows-view",
	"ClusterRole antctl",
	"ClusterRole antrea-agent",
	"ClusterRole antrea-controller",
	"ClusterRoleBinding antctl",
	"ClusterRoleBinding antrea-agent",
	"ClusterRoleBinding antrea-controller",
	"ConfigMap antrea-config",
	"CustomResourceDefinition antreaagentinfos.crd.antrea.io",
	"CustomResourceDefinition antreacontrollerinfos.crd.antrea.io",
	"CustomResourceDefinition clustergroups.crd.antrea.io",
	"CustomResourceDefinition clusternetworkpolicies.crd.antrea.io",
	"CustomResourceDefinition egresses.crd.antrea.io",
	"CustomResourceDefinition externalippools.crd.antrea.io",
	"CustomResourceDefinition groups.crd.antrea.io",
	"CustomResourceDefinition networkpolicies.crd.antrea.io",
	"CustomResourceDefinition tiers.crd.antrea.io",
	"CustomResourceDefinition traceflows.crd.antrea.io",
	"DaemonSet antrea-agent",
	"Deployment antrea-controller",
	"MutatingWebhookConfiguration crdmutator.antrea.io",
	"Role antctl",
	"Role antrea-agent",
	"Role antrea-controller",
	"RoleBinding antctl",
	"RoleBinding antrea-agent",
	"RoleBinding antrea-controller",
	"Secret antctl-service-account-token",
	"Service antrea",
	"ServiceAccount antctl",
	"ServiceAccount antrea-agent",
	"ServiceAccount antrea-controller",
	"ValidatingWebhookConfiguration crdvalidator.antrea.io",
}

// TestObjects checks what tools and tests of Antrea rely on.
func TestObjects(t *testing.T) {
	all := render(t)
	require.Equal(t, names, slices.Sorted(maps.Keys(all)))

	daemonSet := get[*appsv1.DaemonSet](t, all, "DaemonSet antrea-agent")
	deployment := get[*appsv1.Deployment](t, all, "Deployment antrea-controller")
	require.Equal(t, map[string]string{"app": "antrea", "component": "antrea-agent"}, daemonSet.Spec.Template.Labels)
	require.Equal(t, daemonSet.Spec.Template.Labels, daemonSet.Spec.Selector.MatchLabels)
	require.Equal(t, map[string]string{"app": "antrea", "component": "antrea-controller"}, deployment.Spec.Template.Labels)
	require.Equal(t, deployment.Spec.Template.Labels, deployment.Spec.Selector.MatchLabels)
	require.Equal(t, "antrea-agent", daemonSet.Spec.Template.Annotations["kubectl.kubernetes.io/default-container"])
	require.Equal(t, appsv1.RollingUpdateDaemonSetStrategyType, daemonSet.Spec.UpdateStrategy.Type)
	require.Equal(t, 1, daemonSet.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.IntValue())
	require.Equal(t, appsv1.RecreateDeploymentStrategyType, deployment.Spec.Strategy.Type)
	require.EqualValues(t, 1, *deployment.Spec.Replicas)

	agent, controller := daemonSet.Spec.Template.Spec, deployment.Spec.Template.Spec
	require.Equal(t, []string{"install-cni"}, containerNames(agent.InitContainers))
	require.Equal(t, []string{"antrea-agent", "antrea-ovs"}, containerNames(agent.Containers))
	require.Equal(t, []string{"antrea-controller"}, containerNames(controller.Containers))
	require.Equal(t, "system-node-critical", agent.PriorityClassName)
	require.Equal(t, "system-cluster-critical", controller.PriorityClassName)
	configMaps := map[string]string{}
	for _, volume := range controller.Volumes {
		if volume.ConfigMap != nil {
			configMaps[volume.Name] = volume.ConfigMap.Name
		}
	}
	require.Equal(t, map[string]string{"antrea-config": "antrea-config"}, configMaps)
	requireAPIPort(t, agent.Containers[0], 10350)
	requireAPIPort(t, controller.Containers[0], 10349)
	for _, pod := range []corev1.PodSpec{agent, controller} {
		require.True(t, pod.HostNetwork)
		requireWhole(t, pod)
	}
	for _, container := range append(agent.InitContainers, agent.Containers...) {
		require.Equal(t, "ghcr.io/antrea-oncache/antrea-agent-ubuntu:latest", container.Image)
		privileged := container.SecurityContext.Privileged
		require.Equal(t, container.Name == "antrea-agent", privileged != nil && *privileged, container.Name)
	}
	require.Equal(t, "ghcr.io/antrea-oncache/antrea-controller-ubuntu:latest", controller.Containers[0].Image)

	// The controller publishes its CA in all APIServices that there are: one without it is an API that cannot be reached.
	for _, name := range certificate.APIServices {
		service := get[*apiregistrationv1.APIService](t, all, "APIService "+name)
		require.Equal(t, &apiregistrationv1.ServiceReference{Namespace: "kube-system", Name: "antrea"}, service.Spec.Service)
		require.Equal(t, name, service.Spec.Version+"."+service.Spec.Group)
	}
	requireWebhooks(t, all)
	require.NotContains(t, render(t, "--set", "cleanup.enable=true"), "ValidatingWebhookConfiguration crdvalidator.antrea.io", "there would be no answer")
}

// requireWebhooks: the controller answers at the path of each webhook, and publishes its CA there.
func requireWebhooks(t *testing.T, all objects) {
	t.Helper()
	clients := map[string]admissionregistrationv1.WebhookClientConfig{}
	for _, name := range certificate.ValidatingWebhooks {
		for _, webhook := range get[*admissionregistrationv1.ValidatingWebhookConfiguration](t, all, "ValidatingWebhookConfiguration "+name).Webhooks {
			clients[*webhook.ClientConfig.Service.Path] = webhook.ClientConfig
		}
	}
	for _, name := range certificate.MutatingWebhooks {
		for _, webhook := range get[*admissionregistrationv1.MutatingWebhookConfiguration](t, all, "MutatingWebhookConfiguration "+name).Webhooks {
			clients[*webhook.ClientConfig.Service.Path] = webhook.ClientConfig
		}
	}
	paths := append(slices.Collect(maps.Keys(admission.Webhooks(admission.Config{}))), traceflow.WebhookPath, externalip.EgressPath, externalip.PoolPath)
	require.ElementsMatch(t, paths, slices.Collect(maps.Keys(clients)))
	for _, client := range clients {
		require.Equal(t, []string{"kube-system", "antrea"}, []string{client.Service.Namespace, client.Service.Name})
		require.Nil(t, client.CABundle)
	}
}

// TestEqualSchemas: the two kinds of policies have one schema, and so have the two kinds of groups; admission knows the differences.
func TestEqualSchemas(t *testing.T) {
	all := render(t)
	schema := func(plural string) *apiextensionsv1.CustomResourceValidation {
		return get[*apiextensionsv1.CustomResourceDefinition](t, all, "CustomResourceDefinition "+plural+".crd.antrea.io").Spec.Versions[0].Schema
	}
	require.Equal(t, schema("clusternetworkpolicies"), schema("networkpolicies"))
	require.Equal(t, schema("clustergroups"), schema("groups"))
}

func containerNames(containers []corev1.Container) (names []string) {
	for _, c := range containers {
		names = append(names, c.Name)
	}
	return names
}

func requireAPIPort(t *testing.T, container corev1.Container, port int32) {
	t.Helper()
	require.Equal(t, []corev1.ContainerPort{{Name: "api", ContainerPort: port, HostPort: port, Protocol: corev1.ProtocolTCP}}, container.Ports)
	require.Equal(t, "api", container.LivenessProbe.HTTPGet.Port.String())
	require.Equal(t, "api", container.ReadinessProbe.HTTPGet.Port.String())
}

// requireWhole fails if a container mounts a volume that the Pod does not have, or the Pod has one that no container mounts.
func requireWhole(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	var volumes []string
	for _, volume := range pod.Volumes {
		volumes = append(volumes, volume.Name)
	}
	mounted := map[string]bool{}
	for _, container := range append(slices.Clone(pod.InitContainers), pod.Containers...) {
		paths := map[string]bool{}
		for _, mount := range container.VolumeMounts {
			mounted[mount.Name] = true
			require.False(t, paths[mount.MountPath], "%s mounts two volumes at %s", container.Name, mount.MountPath)
			paths[mount.MountPath] = true
		}
	}
	require.ElementsMatch(t, volumes, slices.Collect(maps.Keys(mounted)))
}
