// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// discovery is the part of the configuration that Debian's promtool does not know, since Debian builds it without Kubernetes' libraries.
const discovery = `    kubernetes_sd_configs:
      - role: pod
        namespaces:
          names: [kube-system]
`

// scrape is the part of a Prometheus configuration that tests read.
type scrape struct {
	ScrapeConfigs []struct {
		Scheme      string
		Relabelings []relabeling `json:"relabel_configs"`
	} `json:"scrape_configs"`
}

type relabeling struct {
	From   []string `json:"source_labels"`
	Regex  string
	Action string
	To     string `json:"target_label"`
}

// relabel does what Prometheus does with a target: it returns the target's labels, and whether it is kept.
func relabel(rules []relabeling, found map[string]string) (labels map[string]string, kept bool) {
	labels = map[string]string{}
	for _, rule := range rules {
		var values []string
		for _, name := range rule.From {
			values = append(values, found[name])
		}
		value := strings.Join(values, ";")
		if rule.Action == "keep" {
			if !regexp.MustCompile("^(?:" + rule.Regex + ")$").MatchString(value) {
				return nil, false
			}
			continue
		}
		labels[rule.To] = value
	}
	return labels, true
}

// TestScrape: Prometheus takes the configuration, finds with it one port of agents and of the controller and no other, and gives the jobs the names that
// alerts expect.
func TestScrape(t *testing.T) {
	text := read(t, scrapeFile)
	checked := strings.NewReplacer(discovery, "    static_configs: [{targets: [localhost]}]\n", "/var/run/secrets/kubernetes.io/serviceaccount/token", "token").Replace(text)
	require.Contains(t, checked, "static_configs", "the way in which Pods are found is another one")
	out, err := promtool(t, map[string]string{"prometheus.yaml": checked, "token": "x"}, "check", "config", "prometheus.yaml")
	require.NoError(t, err, out)
	wrong := strings.ReplaceAll(checked, "relabel_configs", "relabelings")
	out, err = promtool(t, map[string]string{"prometheus.yaml": wrong, "token": "x"}, "check", "config", "prometheus.yaml")
	require.Error(t, err)
	require.Contains(t, out, "field relabelings not found")

	var s scrape
	require.NoError(t, yaml.Unmarshal([]byte(text), &s))
	require.Len(t, s.ScrapeConfigs, 1)
	require.Equal(t, "https", s.ScrapeConfigs[0].Scheme)
	all, rules := render(t), read(t, alertsFile)
	for _, pod := range []corev1.PodTemplateSpec{agentPod(t, all), controllerPod(t, all)} {
		kept := 0
		for _, container := range pod.Spec.Containers {
			for _, port := range container.Ports {
				labels, is := relabel(s.ScrapeConfigs[0].Relabelings, map[string]string{
					"__meta_kubernetes_pod_label_app": pod.Labels["app"], "__meta_kubernetes_pod_label_component": pod.Labels["component"],
					"__meta_kubernetes_pod_container_port_name": port.Name, "__meta_kubernetes_pod_node_name": "node-1",
				})
				if !is {
					continue
				}
				kept++
				require.Equal(t, map[string]string{"job": pod.Labels["component"], "instance": "node-1"}, labels)
				require.Contains(t, rules, fmt.Sprintf("up{job=~%q}", labels["job"]+"s?"))
			}
		}
		require.Equal(t, 1, kept, pod.Labels)
	}
	_, is := relabel(s.ScrapeConfigs[0].Relabelings, map[string]string{
		"__meta_kubernetes_pod_label_app": "antrea", "__meta_kubernetes_pod_label_component": "other", "__meta_kubernetes_pod_container_port_name": "api",
	})
	require.False(t, is)
}
