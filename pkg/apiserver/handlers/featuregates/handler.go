// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package featuregates serves the controller's /featuregates: a list of apis.FeatureGate, first the agent's as configured
// in the cluster's ConfigMap, then the controller's.
package featuregates

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/featuregate"

	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/featuregates"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// HandleFunc lists the gates of both components. The agents' gates come from the key antrea-agent.conf of the ConfigMap
// with that namespace and name, which is read for each request.
func HandleFunc(controller featuregate.FeatureGate, client kubernetes.Interface, namespace, configMap string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		agent, err := agentGates(r.Context(), client, namespace, configMap)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		list := featuregates.List("agent", features.AgentGates(), agent)
		handlers.WriteJSON(w, append(list, featuregates.List("controller", features.ControllerGates(), controller)...))
	}
}

func agentGates(ctx context.Context, client kubernetes.Interface, namespace, name string) (featuregate.FeatureGate, error) {
	configMap, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the agents' configuration, ConfigMap %s/%s: %w", namespace, name, err)
	}
	config, err := agentconfig.Parse([]byte(configMap.Data["antrea-agent.conf"]))
	if err != nil {
		return nil, fmt.Errorf("antrea-agent.conf in ConfigMap %s/%s: %w", namespace, name, err)
	}
	gates, err := features.New(config.FeatureGates)
	if err != nil {
		return nil, fmt.Errorf("antrea-agent.conf in ConfigMap %s/%s: %w", namespace, name, err)
	}
	return gates, nil
}
