// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package featuregates serves /featuregates of both components: a list of apis.FeatureGate, sorted by name for each of them.
package featuregates

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/featuregate"

	"github.com/antrea-oncache/antrea/pkg/config"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	"github.com/antrea-oncache/antrea/pkg/features"
	"github.com/antrea-oncache/antrea/pkg/httpapi/apis"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
)

// HandleAgent lists the gates of an agent.
func HandleAgent(gates featuregate.FeatureGate) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		handlers.WriteJSON(w, list("agent", features.AgentGates(), gates))
	}
}

// HandleController lists the gates of the agents, then the controller's. The agents' gates come from the key
// antrea-agent.conf of that ConfigMap, which is read for each request, and from flags: the gates of the command line,
// which agents and controller are assumed to share.
func HandleController(controller featuregate.FeatureGate, flags map[string]bool, client kubernetes.Interface, namespace, configMap string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		agent, err := agentGates(r.Context(), flags, client, namespace, configMap)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		gates := list("agent", features.AgentGates(), agent)
		handlers.WriteJSON(w, append(gates, list("controller", features.ControllerGates(), controller)...))
	}
}

// list says for each of the features that a component displays what gates make of it.
func list(component string, displayed []featuregate.Feature, gates featuregate.FeatureGate) []apis.FeatureGate {
	list := []apis.FeatureGate{}
	for _, feature := range displayed {
		status := "Disabled"
		if gates.Enabled(feature) {
			status = "Enabled"
		}
		list = append(list, apis.FeatureGate{
			Component: component, Name: string(feature), Status: status, Version: features.Stage(feature),
		})
	}
	return list
}

func agentGates(ctx context.Context, flags map[string]bool, client kubernetes.Interface, namespace, name string) (featuregate.FeatureGate, error) {
	configMap, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the agents' configuration, ConfigMap %s/%s: %w", namespace, name, err)
	}
	agent, err := agentconfig.Parse([]byte(configMap.Data["antrea-agent.conf"]))
	if err != nil {
		return nil, fmt.Errorf("antrea-agent.conf in ConfigMap %s/%s: %w", namespace, name, err)
	}
	gates, err := features.New(config.Merge(agent.FeatureGates, flags))
	if err != nil {
		return nil, fmt.Errorf("antrea-agent.conf in ConfigMap %s/%s: %w", namespace, name, err)
	}
	return gates, nil
}
