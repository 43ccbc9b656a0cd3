// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

const (
	alertsFile    = chartDir + "/monitoring/alerts.yaml"
	dashboardFile = chartDir + "/monitoring/dashboard.json"
	scrapeFile    = chartDir + "/monitoring/scrape.yaml"
	alertsTest    = "testdata/alerts.test.yaml"
)

// promtool runs the program that make deps has unpacked, in a directory with the files.
func promtool(t *testing.T, files map[string]string, args ...string) (string, error) {
	t.Helper()
	program := os.Getenv("PROMTOOL")
	require.NotEmpty(t, program, "the environment variable PROMTOOL has the path of promtool: run make chart-test")
	require.FileExists(t, program, "run make deps")
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// alerts are the rules of a rule file.
type alerts struct {
	Groups []struct {
		Name  string
		Rules []alert
	}
}

type alert struct {
	Alert       string
	Expr        string
	Labels      map[string]string
	Annotations map[string]string
}

func (a alerts) rules() (all []alert) {
	for _, g := range a.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

func readAlerts(t *testing.T, text string) alerts {
	t.Helper()
	var a alerts
	require.NoError(t, yaml.Unmarshal([]byte(text), &a))
	require.NotEmpty(t, a.rules())
	return a
}

// TestAlerts: Prometheus accepts the rules, and each one fires for a Node in trouble and not for a healthy one.
func TestAlerts(t *testing.T) {
	rules, cases := read(t, alertsFile), read(t, alertsTest)
	out, err := promtool(t, map[string]string{"alerts.yaml": rules}, "check", "rules", "alerts.yaml")
	require.NoError(t, err, out)
	out, err = promtool(t, map[string]string{"alerts.yaml": rules, "test.yaml": cases}, "test", "rules", "test.yaml")
	require.NoError(t, err, out)
	for _, rule := range readAlerts(t, rules).rules() {
		require.True(t, strings.Contains(cases, "alertname: "+rule.Alert+"\n"), "%s never fires in %s", rule.Alert, alertsTest)
		require.True(t, strings.Contains(cases, "alertname: "+rule.Alert+", eval_time: 45m, exp_alerts: []"), "%s is never silent in %s", rule.Alert, alertsTest)
	}
}

// TestAlertsCanFail: a rule that never fires, and one that always does, are noticed.
func TestAlertsCanFail(t *testing.T) {
	for _, change := range [][2]string{{"> 0.25 *", "> 0.50 *"}, {"> 0.25 *", "> 0.01 *"}, {"[15m])) > 10", "[15m])) > 20"}, {`state="Suspended"`, `state="Active"`},
		{`up{job=~"antrea-agents?"} == 0`, "up == 0"}, {`absent(up{job=~"antrea-agents?"})`, `absent(up{job="antrea-agent"})`}, {`controllers?"} == 1)`, `controllers?"})`}} {
		rules := strings.Replace(read(t, alertsFile), change[0], change[1], 1)
		require.NotEqual(t, read(t, alertsFile), rules)
		out, err := promtool(t, map[string]string{"alerts.yaml": rules, "test.yaml": read(t, alertsTest)}, "test", "rules", "test.yaml")
		require.Error(t, err, "%v: %s", change, out)
	}
}

// TestAlertsSayWhatToDo: every alert has a command that antctl has, and a section to read.
func TestAlertsSayWhatToDo(t *testing.T) {
	manual := read(t, root+"/docs/use/antctl.md")
	for _, rule := range readAlerts(t, read(t, alertsFile)).rules() {
		require.Contains(t, []string{"warning", "critical"}, rule.Labels["severity"], rule.Alert)
		for _, name := range []string{"summary", "description", "command", "runbook_url"} {
			require.NotEmpty(t, rule.Annotations[name], "%s of %s", name, rule.Alert)
		}
		command := regexp.MustCompile(`^antctl (status|(get|oncache) \w+)`).FindString(rule.Annotations["command"])
		require.NotEmpty(t, command, rule.Alert)
		require.True(t, strings.Contains(manual, "### "+command+"\n"), "%s: docs/use/antctl.md has no %s", rule.Alert, command)
		path, found := strings.CutPrefix(rule.Annotations["runbook_url"], "https://github.com/antrea-oncache/antrea/blob/main/")
		require.True(t, found, rule.Annotations["runbook_url"])
		page, fragment, _ := strings.Cut(path, "#")
		var anchors []string
		for _, m := range regexp.MustCompile("(?m)^#+ (.*)$").FindAllStringSubmatch(read(t, root+"/"+page), -1) {
			anchors = append(anchors, strings.ReplaceAll(strings.ToLower(strings.Trim(strings.ReplaceAll(m[1], "`", ""), " ")), " ", "-"))
		}
		require.True(t, fragment == "" || slices.Contains(anchors, fragment), "%s: %s has no section %s", rule.Alert, page, fragment)
	}
}

// dashboard is the part of the dashboard that tests read.
type dashboard struct {
	Title  string
	Panels []struct {
		Title   string
		Type    string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
}

// TestDashboard: Prometheus understands each query of the dashboard, and no panel covers another one.
func TestDashboard(t *testing.T) {
	var d dashboard
	require.NoError(t, json.Unmarshal([]byte(read(t, dashboardFile)), &d))
	rules := "groups:\n- name: queries\n  rules:\n"
	taken := map[[2]int]string{}
	for i, p := range d.Panels {
		require.NotEmpty(t, p.Title)
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				require.Less(t, x, 24, p.Title)
				require.Empty(t, taken[[2]int{x, y}], p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
		require.Equal(t, p.Type != "row", len(p.Targets) > 0, p.Title)
		for j, target := range p.Targets {
			query := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(target.Expr)
			require.NotContains(t, query, "$", p.Title)
			rules += fmt.Sprintf("  - record: panel:%d:%d\n    expr: %q\n", i, j, query)
		}
	}
	out, err := promtool(t, map[string]string{"queries.yaml": rules}, "check", "rules", "queries.yaml")
	require.NoError(t, err, out+rules)
}

// TestMonitoring: nothing by default, and each object with its labels and with what the chart's file says.
func TestMonitoring(t *testing.T) {
	manifest, err := template(t)
	require.NoError(t, err)
	require.False(t, strings.Contains(manifest, "PrometheusRule") || strings.Contains(manifest, "PodMonitor") || strings.Contains(manifest, "grafana_dashboard"), "monitoring is not off by default")

	all := render(t, "--set", "monitoring.dashboard.enable=true", "--set", "monitoring.dashboard.labels.team=net")
	object := get[*corev1.ConfigMap](t, all, "ConfigMap antrea-oncache-dashboard")
	require.Equal(t, map[string]string{"app": "antrea", "grafana_dashboard": "1", "team": "net"}, object.Labels)
	require.Equal(t, map[string]string{"antrea-oncache.json": read(t, dashboardFile)}, object.Data)

	text, err := helm(t, "template", "antrea", chartDir, "--namespace", "kube-system", "--set", "monitoring.rules.enable=true",
		"--set", "monitoring.rules.labels.release=prom", "--show-only", "templates/monitoring/rules.yaml")
	require.NoError(t, err)
	var rule struct {
		APIVersion, Kind string
		Metadata         struct {
			Name, Namespace string
			Labels          map[string]string
		}
		Spec alerts
	}
	require.NoError(t, yaml.Unmarshal([]byte(text), &rule))
	require.Equal(t, "monitoring.coreos.com/v1", rule.APIVersion)
	require.Equal(t, "PrometheusRule", rule.Kind)
	require.Equal(t, "kube-system", rule.Metadata.Namespace)
	require.Equal(t, map[string]string{"app": "antrea", "release": "prom"}, rule.Metadata.Labels)
	require.Equal(t, readAlerts(t, read(t, alertsFile)), rule.Spec, "templates of Prometheus must not be taken for Helm's")

	requirePodMonitor(t)
	removal, err := template(t, "--set", "cleanup.enable=true", "--set", "monitoring.rules.enable=true", "--set", "monitoring.dashboard.enable=true",
		"--set", "monitoring.podMonitor.enable=true")
	require.NoError(t, err)
	require.False(t, strings.Contains(removal, "antrea-oncache-dashboard") || strings.Contains(removal, "antrea-metrics") || strings.Contains(removal, "PrometheusRule"), "left by the removal")
}

// requirePodMonitor: Prometheus finds the ports of agents and controller, and its token reads nothing but metrics.
func requirePodMonitor(t *testing.T) {
	text, err := helm(t, "template", "antrea", chartDir, "--namespace", "kube-system", "--set", "monitoring.podMonitor.enable=true",
		"--set", "monitoring.podMonitor.labels.release=prom", "--show-only", "templates/monitoring/podmonitor.yaml")
	require.NoError(t, err)
	documents := map[string]string{} // by kind
	for _, document := range strings.Split(text, "\n---\n") {
		documents[regexp.MustCompile(`(?m)^kind: (\w+)$`).FindStringSubmatch(document)[1]] = document
	}
	require.Len(t, documents, 5)
	var monitor struct {
		Metadata struct{ Labels map[string]string }
		Spec     struct {
			JobLabel            string
			Selector            metav1.LabelSelector
			PodMetricsEndpoints []struct {
				Port, Scheme  string
				Authorization struct{ Credentials corev1.SecretKeySelector }
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(documents["PodMonitor"]), &monitor))
	require.Equal(t, map[string]string{"app": "antrea", "release": "prom"}, monitor.Metadata.Labels)
	selector, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
	require.NoError(t, err)
	rules := read(t, alertsFile)
	endpoint, all := monitor.Spec.PodMetricsEndpoints[0], render(t)
	require.Equal(t, "https", endpoint.Scheme)
	for _, pod := range []corev1.PodTemplateSpec{agentPod(t, all), controllerPod(t, all)} {
		require.True(t, selector.Matches(labels.Set(pod.Labels)), pod.Labels)
		require.Contains(t, rules, fmt.Sprintf("up{job=~%q}", pod.Labels[monitor.Spec.JobLabel]+"s?"))
		require.True(t, slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
			return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == endpoint.Port })
		}), "no container has a port %s", endpoint.Port)
	}
	var secret corev1.Secret
	require.NoError(t, yaml.Unmarshal([]byte(documents["Secret"]), &secret))
	require.Equal(t, secret.Name, endpoint.Authorization.Credentials.Name)
	var role rbacv1.ClusterRole
	require.NoError(t, yaml.Unmarshal([]byte(documents["ClusterRole"]), &role))
	require.Equal(t, []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}, role.Rules)
}
