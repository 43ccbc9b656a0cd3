// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	clients "github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
)

// kubernetesClients are clients of the same API with different limits.
type kubernetesClients struct {
	// kube is for everything but reviews.
	kube kubernetes.Interface
	// reviews is for TokenReviews and SubjectAccessReviews.
	reviews kubernetes.Interface
	// config is that of kube.
	config *rest.Config
}

func newKubernetesClients(c *agentconfig.AgentConfig) (*kubernetesClients, error) {
	made, err := clients.New(c.ClientConnection, c.KubeAPIServerOverride)
	if err != nil {
		return nil, err
	}
	return &kubernetesClients{kube: made.Kube, reviews: made.Reviews, config: made.Config}, nil
}
