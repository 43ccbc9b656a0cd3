// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/test/policy"
)

// describe prints a world: what wrong answers were about.
func describe(world *policy.World) {
	for _, name := range slices.Sorted(maps.Keys(world.Namespaces)) {
		fmt.Println("# Namespace", name, world.Namespaces[name])
	}
	for _, pod := range world.Pods {
		fmt.Println("# Pod", podKey(pod), pod.Node, pod.Labels, pod.IPv4, pod.IPv6)
		for _, port := range pod.Ports {
			fmt.Printf("#   port %s %d/%s\n", port.Name, port.ContainerPort, port.Protocol)
		}
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
