// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/test/policy"
)

// describe prints the world in which answers were wrong.
func describe(world *policy.World) {
	for _, name := range slices.Sorted(maps.Keys(world.Namespaces)) {
		fmt.Println("# Namespace", name, world.Namespaces[name])
	}
	for _, pod := range objects(world) {
		fmt.Println("# Pod", podKey(pod), pod.Node, pod.Labels, pod.ServiceAccount, pod.IPv4, pod.IPv6, pod.Phase)
		describePorts("port", pod.Ports)
		describePorts("port of a sidecar", pod.SidecarPorts)
		describePorts("port of an init container", pod.InitPorts)
	}
	for key, object := range antreaObjects(world) {
		text, err := yaml.Marshal(object)
		if err != nil {
			text = []byte("# " + err.Error())
		}
		fmt.Printf("--- # %s\n%s", kinds[key.resource], text)
	}
	for _, s := range world.Services {
		fmt.Println("# Service", s.Namespace, s.Name, s.Spec.Selector)
	}
	for name, labels := range world.NodeLabels {
		fmt.Println("# Node", name, labels)
	}
	for _, p := range world.Policies {
		object := p.DeepCopy()
		object.APIVersion, object.Kind = "networking.k8s.io/v1", "NetworkPolicy"
		text, err := yaml.Marshal(object)
		if err != nil {
			text = []byte("# " + err.Error())
		}
		fmt.Printf("---\n%s", text)
	}
}

func describePorts(what string, ports []corev1.ContainerPort) {
	for _, port := range ports {
		fmt.Printf("#   %s %s %d/%s\n", what, port.Name, port.ContainerPort, port.Protocol)
	}
}
