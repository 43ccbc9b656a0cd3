// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubernetes makes clients of the Kubernetes API as the configuration files of agent and controller ask for them.
package kubernetes

import (
	"fmt"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"

	"github.com/antrea-oncache/antrea/pkg/config"
)

const (
	// Reviews are made while a client of the component's own API waits, and their rate bounds that API's.
	reviewQPS     = 200
	reviewBurst   = 400
	reviewTimeout = 10 * time.Second

	// Statuses change in bursts: of all policies, when a Node reports everything.
	statusQPS   = 200
	statusBurst = 400
)

// Clients are clients of the same API with different limits.
type Clients struct {
	// Config is the configuration of Kube.
	Config *rest.Config
	// Kube is for everything but reviews.
	Kube kubernetes.Interface
	// Dynamic is for objects of types unknown to Kubernetes' client. It has the limits of Kube, for itself.
	Dynamic dynamic.Interface
	// Statuses is for the status of such objects.
	Statuses dynamic.Interface
	// Reviews is for TokenReviews and SubjectAccessReviews.
	Reviews kubernetes.Interface
}

// New returns clients of the API that connection and the configuration key kubeAPIServerOverride say. All their requests pass the wrappers.
func New(connection config.ClientConnectionConfig, override string, wrappers ...transport.WrapperFunc) (*Clients, error) {
	config, err := configOf(connection, override)
	if err != nil {
		return nil, err
	}
	wrapped := rest.CopyConfig(config)
	for _, wrap := range wrappers {
		wrapped.Wrap(wrap)
	}
	kube, err := kubernetes.NewForConfig(wrapped)
	if err != nil {
		return nil, fmt.Errorf("connecting to the Kubernetes API %s: %w", config.Host, err)
	}
	dynamicClient, err := dynamic.NewForConfig(wrapped)
	if err != nil {
		return nil, fmt.Errorf("connecting to the Kubernetes API %s: %w", config.Host, err)
	}
	statusConfig := rest.CopyConfig(wrapped)
	statusConfig.QPS, statusConfig.Burst = statusQPS, statusBurst
	statuses, err := dynamic.NewForConfig(statusConfig)
	if err != nil {
		return nil, fmt.Errorf("connecting to the Kubernetes API %s: %w", config.Host, err)
	}
	reviewConfig := rest.CopyConfig(wrapped)
	reviewConfig.QPS, reviewConfig.Burst, reviewConfig.Timeout = reviewQPS, reviewBurst, reviewTimeout
	reviews, err := kubernetes.NewForConfig(reviewConfig)
	if err != nil {
		return nil, fmt.Errorf("connecting to the Kubernetes API %s: %w", config.Host, err)
	}
	return &Clients{Config: config, Kube: kube, Dynamic: dynamicClient, Statuses: statuses, Reviews: reviews}, nil
}

// configOf is the kubeconfig of the configuration file, or the Pod's service account, at the overriding address if there is
// one.
func configOf(connection config.ClientConnectionConfig, override string) (config *rest.Config, err error) {
	if kubeconfig := connection.Kubeconfig; kubeconfig != "" {
		if config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
			return nil, fmt.Errorf("clientConnection.kubeconfig %s: %w", kubeconfig, err)
		}
	} else if config, err = rest.InClusterConfig(); err != nil {
		return nil, fmt.Errorf("finding the Kubernetes API (clientConnection.kubeconfig is not set): %w", err)
	}
	if override != "" {
		config.Host = override
	}
	config.QPS, config.Burst = connection.QPS, connection.Burst
	return config, nil
}
