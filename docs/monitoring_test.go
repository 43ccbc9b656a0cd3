// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// monitoring are the files of the chart that name metrics.
var monitoring = []string{"build/charts/antrea/monitoring/alerts.yaml", "build/charts/antrea/monitoring/dashboard.json", "test/chart/testdata/alerts.test.yaml"}

// metricsOf are the metrics that collectors describe, with their labels.
func metricsOf(collectors ...prometheus.Collector) map[string]string {
	descriptions := make(chan *prometheus.Desc, 100)
	for _, c := range collectors {
		c.Describe(descriptions)
	}
	close(descriptions)
	found := map[string]string{}
	for d := range descriptions {
		m := regexp.MustCompile(`fqName: "(\w+)".*variableLabels: \{([\w,]*)\}`).FindStringSubmatch(d.String())
		found[m[1]] = m[2]
	}
	return found
}

// TestMonitoringNamesMetrics: every metric that the alerts and the dashboard name exists, every metric of the cache is on the dashboard, and
// selections name labels and values that exist.
func TestMonitoringNamesMetrics(t *testing.T) {
	metrics := metricsOf(oncache.New(oncache.Config{}, nil, nil, nil), problem.NewRecorder())
	require.Contains(t, metrics, "antrea_agent_problem_count")
	reasons, err := datapath.Reasons()
	require.NoError(t, err)
	values := map[string][]string{
		"antrea_agent_oncache_packet_count reason":          reasons,
		"antrea_agent_oncache_packet_count program":         {"egress", "egress_init", "ingress", "ingress_init"},
		"antrea_agent_oncache_eviction_count scope":         {"endpoint", "node", "all"},
		"antrea_agent_oncache_conntrack_update_count cause": {"segment", "idle", "failed"},
		"antrea_agent_oncache_state_info state":             {"Active", "Observing", "Off", "Suspended", "Unavailable"},
		"antrea_agent_oncache_state_info mode":              {"enforce", "observe", "off"},
		"antrea_agent_oncache_error_count operation":        {"marks", "pod", "node", "service", "uplink", "shares", "counters"},
	}
	selector := regexp.MustCompile(`(antrea_agent_\w+)\{([^}]*)\}`)
	matcher := regexp.MustCompile(`(\w+)=~?\\*"([^"\\]*)\\*"`)
	for _, file := range monitoring {
		text := read(t, file)
		names := regexp.MustCompile(`antrea_(?:agent|controller|proxy)_\w+`).FindAllString(text, -1)
		require.NotEmpty(t, names, file)
		for _, name := range names {
			_, plain := metrics[name]
			_, histogram := metrics[strings.TrimSuffix(name, "_bucket")]
			require.True(t, plain || histogram, "%s: the agent has no metric %s", file, name)
		}
		for _, use := range selector.FindAllStringSubmatch(text, -1) {
			name := strings.TrimSuffix(use[1], "_bucket")
			for _, m := range matcher.FindAllStringSubmatch(use[2], -1) {
				if m[1] == "instance" || m[1] == "map" {
					continue
				}
				require.Contains(t, strings.Split(metrics[name], ","), m[1], "%s: %s", file, use[0])
				allowed, restricted := values[name+" "+m[1]]
				for _, value := range strings.Split(m[2], "|") {
					require.True(t, !restricted || slices.Contains(allowed, value), "%s: %s has no %s %s", file, name, m[1], value)
				}
			}
		}
	}
	dashboard := read(t, monitoring[1])
	for name := range metrics {
		require.True(t, strings.Contains(dashboard, name), "the dashboard does not show %s", name)
	}
}

// TestMonitoringCountsAllHits: a query that counts packets of the fast path also counts packets within the Node.
func TestMonitoringCountsAllHits(t *testing.T) {
	reasons, err := datapath.Reasons()
	require.NoError(t, err)
	hits := slices.DeleteFunc(reasons, func(reason string) bool { return !strings.HasPrefix(reason, "hit") })
	require.Equal(t, []string{"hit", "hit_local", "hit_rewritten", "hit_untracked"}, hits)
	for _, file := range monitoring[:2] {
		queries := regexp.MustCompile(`reason=~?\\*"(hit[^"\\]*)\\*"`).FindAllStringSubmatch(read(t, file), -1)
		require.NotEmpty(t, queries, file)
		for _, query := range queries {
			require.Subset(t, strings.Split(query[1], "|"), hits, "%s: %s", file, query[0])
		}
	}
}

// TestOperationsAndPodReasons: the page explains each value of the labels of two metrics.
func TestOperationsAndPodReasons(t *testing.T) {
	table := rows(t, section(t, read(t, "docs/operate/oncache-output.md"), "## Metrics"))
	source := sources(t, "pkg/agent/oncache", func(name string) bool { return name == "failures.go" || name == "reasons.go" })
	list := regexp.MustCompile(`operationNames = .*\{(.*)\}`).FindStringSubmatch(source)
	require.Len(t, list, 2)
	for _, m := range regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(list[1], -1) {
		require.Contains(t, table["antrea_agent_oncache_error_count"][3], "(`"+m[1]+"`)")
	}
	reasons := regexp.MustCompile(`stayReason = "(\w+)"`).FindAllStringSubmatch(source, -1)
	require.Len(t, reasons, 7)
	for _, m := range reasons {
		require.Contains(t, table["antrea_agent_oncache_pods_on_ovs"][3], "(`"+m[1]+"`)")
	}
}

// TestAlertsAreListed: docs/operate/prometheus.md has each alert.
func TestAlertsAreListed(t *testing.T) {
	var alerts []string
	for _, m := range regexp.MustCompile(`(?m)^      - alert: (\w+)$`).FindAllStringSubmatch(read(t, monitoring[0]), -1) {
		alerts = append(alerts, m[1])
	}
	require.NotEmpty(t, alerts)
	requireSameNames(t, alerts, names(rows(t, section(t, read(t, "docs/operate/prometheus.md"), "## Alerts"))))
}
