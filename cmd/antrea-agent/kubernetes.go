// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
)

const (
	// Reviews are made while a client of the agent's API waits, and their rate bounds that API's.
	reviewQPS     = 200
	reviewBurst   = 400
	reviewTimeout = 10 * time.Second
)

// kubernetesClients are clients of the same API with different limits.
type kubernetesClients struct {
	// kube is for everything but reviews.
	kube kubernetes.Interface
	// reviews is for TokenReviews and SubjectAccessReviews.
	reviews kubernetes.Interface
}

func newKubernetesClients(c *agentconfig.AgentConfig) (*kubernetesClients, error) {
	config, err := kubernetesConfig(c)
	if err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the Kubernetes API %s: %w", config.Host, err)
	}
	reviewConfig := rest.CopyConfig(config)
	reviewConfig.QPS, reviewConfig.Burst, reviewConfig.Timeout = reviewQPS, reviewBurst, reviewTimeout
	reviews, err := kubernetes.NewForConfig(reviewConfig)
	if err != nil {
		return nil, fmt.Errorf("connecting to the Kubernetes API %s: %w", config.Host, err)
	}
	return &kubernetesClients{kube: kube, reviews: reviews}, nil
}

// kubernetesConfig is the kubeconfig of the configuration file, or the Pod's service account, at the overriding address
// if there is one.
func kubernetesConfig(c *agentconfig.AgentConfig) (config *rest.Config, err error) {
	if kubeconfig := c.ClientConnection.Kubeconfig; kubeconfig != "" {
		if config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
			return nil, fmt.Errorf("clientConnection.kubeconfig %s: %w", kubeconfig, err)
		}
	} else if config, err = rest.InClusterConfig(); err != nil {
		return nil, fmt.Errorf("finding the Kubernetes API (clientConnection.kubeconfig is not set): %w", err)
	}
	if c.KubeAPIServerOverride != "" {
		config.Host = c.KubeAPIServerOverride
	}
	config.QPS, config.Burst = c.ClientConnection.QPS, c.ClientConnection.Burst
	return config, nil
}
