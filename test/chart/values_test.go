// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/featuregate"
	"sigs.k8s.io/yaml"

	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	controllerconfig "github.com/antrea-oncache/antrea/pkg/config/controller"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// schema is the part of JSON Schema that values.schema.json uses.
type schema struct {
	Type       any                `json:"type"`
	Properties map[string]*schema `json:"properties"`
	Additional any                `json:"additionalProperties"`
	Const      any                `json:"const"`
	Enum       []any              `json:"enum"`
	Maximum    *float64           `json:"maximum"`
	MaxItems   *int               `json:"maxItems"`
}

// leaf is a value of the chart.
type leaf struct {
	schema *schema
	def    any
}

func readYAML(t *testing.T, text string, into any) {
	t.Helper()
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), into))
}

// leaves returns the values of values.yaml with their schemas, by name. Both must have the same names.
func leaves(t *testing.T) map[string]leaf {
	t.Helper()
	var values map[string]any
	readYAML(t, read(t, chartDir+"/values.yaml"), &values)
	var top schema
	require.NoError(t, json.Unmarshal([]byte(read(t, chartDir+"/values.schema.json")), &top))
	require.Contains(t, top.Properties, "global") // what Helm adds where the chart is a dependency
	delete(top.Properties, "global")
	out := map[string]leaf{}
	collect(t, "", &top, values, out)
	return out
}

func collect(t *testing.T, prefix string, s *schema, values map[string]any, out map[string]leaf) {
	t.Helper()
	require.Equal(t, false, s.Additional, "%q accepts unknown names", prefix)
	require.ElementsMatch(t, slices.Collect(maps.Keys(s.Properties)), slices.Collect(maps.Keys(values)), "schema and values of %q", prefix)
	for name, property := range s.Properties {
		section, ok := values[name].(map[string]any)
		// A section has fixed names and all of them in values.yaml; other objects are values.
		if ok && property.Additional == false && len(property.Properties) == len(section) && prefix+name != "agent.updateStrategy" {
			collect(t, prefix+name+".", property, section, out)
			continue
		}
		out[prefix+name] = leaf{property, values[name]}
	}
}

func TestEveryValueIsDescribed(t *testing.T) {
	want := map[string]string{}
	for name, l := range leaves(t) {
		text, err := json.Marshal(l.def)
		require.NoError(t, err)
		want[name] = string(text)
	}
	got := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([\\w.]+)` \\| `([^`]+)` \\| .+ \\|$").FindAllStringSubmatch(read(t, chartDir+"/README.md"), -1) {
		require.NotContains(t, got, row[1])
		var value any
		require.NoError(t, json.Unmarshal([]byte(row[2]), &value), row[0])
		text, err := json.Marshal(value) // sorted keys
		require.NoError(t, err)
		got[row[1]] = string(text)
	}
	require.Empty(t, gocmp.Diff(want, got), "- values.yaml, + README.md")
}

func TestVersion(t *testing.T) {
	var chart struct{ Version, AppVersion string }
	require.NoError(t, yaml.Unmarshal([]byte(read(t, chartDir+"/Chart.yaml")), &chart))
	version := strings.TrimSpace(read(t, root+"/VERSION"))
	require.Equal(t, version, chart.Version)
	require.Equal(t, version, chart.AppVersion)
}

// TestDefaults: the chart's defaults equal the defaults of agent and controller.
func TestDefaults(t *testing.T) {
	f := configuration(t, render(t))
	agent, err := agentconfig.Parse(nil)
	require.NoError(t, err)
	require.Empty(t, gocmp.Diff(agent, f.agent, cmpopts.EquateEmpty()))
	controller, err := controllerconfig.Parse(nil)
	require.NoError(t, err)
	require.Empty(t, gocmp.Diff(controller, f.controller, cmpopts.EquateEmpty()))
	require.False(t, f.onCache)
}

// gateLine is a gate in a configuration file, set or in a comment.
var gateLine = regexp.MustCompile(`(?m)^(#?)  (\w+): (true|false)$`)

func gatesOf(text string) map[string]string {
	section, _, _ := strings.Cut(text, "\n\n")
	out := map[string]string{}
	for _, m := range gateLine.FindAllStringSubmatch(section, -1) {
		out[m[2]] += m[1] + m[3]
	}
	return out
}

// TestGates: each configuration file lists the gates of its component in comments with their defaults, the schema knows all
// gates, and a gate that is set is set in each file that lists it.
func TestGates(t *testing.T) {
	defaults, err := features.New(nil)
	require.NoError(t, err)
	known := map[string]bool{}
	want := func(list []featuregate.Feature, set map[string]any) map[string]string {
		out := map[string]string{}
		for _, gate := range append([]featuregate.Feature{"AllAlpha", "AllBeta"}, list...) {
			known[string(gate)] = true
			out[string(gate)] = fmt.Sprintf("#%t", defaults.Enabled(gate))
			if value, found := set[string(gate)]; found {
				out[string(gate)] = fmt.Sprint(value)
			}
		}
		return out
	}
	f := configuration(t, render(t))
	require.Empty(t, gocmp.Diff(want(features.AgentGates(), nil), gatesOf(f.agentText)))
	require.Empty(t, gocmp.Diff(want(features.ControllerGates(), nil), gatesOf(f.controllerText)))
	require.ElementsMatch(t, slices.Collect(maps.Keys(known)), slices.Collect(maps.Keys(leaves(t)["featureGates"].schema.Properties)))

	// ONCache is a flag: Antrea's programs do not know it, and refuse a file that names it.
	set := map[string]any{"Egress": false, "NodeIPAM": false}
	all := render(t, "--set", "featureGates.ONCache=true,featureGates.Egress=false,featureGates.NodeIPAM=false")
	f = configuration(t, all)
	// The controller tells users the gates of agents, and takes its own flags for theirs.
	require.Equal(t, map[string]bool{"ONCache": true}, gateFlags(t, controllerPod(t, all).Spec.Containers[0].Args))
	require.Equal(t, map[string]bool{"ONCache": true}, gateFlags(t, agentPod(t, all).Spec.InitContainers[0].Args), "it checks the configuration")
	require.True(t, f.onCache)
	require.Empty(t, gocmp.Diff(want(features.AgentGates(), set), gatesOf(f.agentText)))
	require.Empty(t, gocmp.Diff(want(features.ControllerGates(), set), gatesOf(f.controllerText)))
	require.Equal(t, map[string]bool{"Egress": false}, f.agent.FeatureGates)
	require.Equal(t, map[string]bool{"NodeIPAM": false, "Egress": false}, f.controller.FeatureGates)
}

// valueOf are the values that have another name than their configuration key, by component and key, because Antrea's chart
// names them so. Keys that both components have are not in the table: they have one value.
var valueOf = map[string]map[string]string{
	"agent": {
		"ovsBridge": "ovs.bridgeName", "apiPort": "agent.apiPort", "clusterPort": "agent.clusterPort",
		"memberlist.gossipVerifyIncoming": "agent.memberlist.gossipVerifyIncoming", "memberlist.gossipVerifyOutgoing": "agent.memberlist.gossipVerifyOutgoing",
		"enablePrometheusMetrics":     "agent.enablePrometheusMetrics",
		"clientConnection.kubeconfig": "agent.clientConnection.kubeconfig", "clientConnection.qps": "agent.clientConnection.qps",
		"clientConnection.burst": "agent.clientConnection.burst",
	},
	"controller": {
		"apiPort": "controller.apiPort", "enablePrometheusMetrics": "controller.enablePrometheusMetrics",
		"clientConnection.kubeconfig": "controller.clientConnection.kubeconfig", "clientConnection.qps": "controller.clientConnection.qps",
		"clientConnection.burst": "controller.clientConnection.burst", "selfSignedCert": "controller.selfSignedCert",
		"nodeIPAM.enableNodeIPAM": "nodeIPAM.enable", "ipsecCSRSigner.selfSignedCA": "ipsec.csrSigner.selfSignedCA",
		"ipsecCSRSigner.autoApprove": "ipsec.csrSigner.autoApprove",
	},
}

// others are valid values for keys whose type does not define valid values.
var others = map[string]any{
	"defaultMTU": 1400, "podCIDRs": "10.77.0.0/24", "serviceCIDR": "10.96.7.0/24", "serviceCIDRv6": "fd00:7::/112",
	"nodeIPAM.serviceCIDR": "10.96.8.0/24", "nodeIPAM.serviceCIDRv6": "fd00:8::/112", "transportInterface": "eth7",
	"transportInterfaceCIDRs": []any{"192.0.2.0/24"}, "egress.exceptCIDRs": []any{"198.51.100.0/24"},
	"antreaProxy.nodePortAddresses":                   []any{"192.0.2.0/24"},
	"antreaProxy.serviceHealthCheckServerBindAddress": "127.0.0.1:10257",
	"antreaProxy.skipServices":                        []any{"ns/other", "10.96.0.7"}, "hostGateway": "gw7",
	"flowExporter.protocolFilter": []any{"udp"}, "nodeIPAM.clusterCIDRs": []any{"10.78.0.0/16"}, "multicast.igmpQueryVersions": []any{2, 3},
	"ovs.bridgeName": "br-7", "flowExporter.flowPollInterval": "6s", "flowExporter.activeFlowExportTimeout": "7s",
	"flowExporter.idleFlowExportTimeout": "8s", "multicast.igmpQueryInterval": "9s", "nodePortLocal.portRange": "62000-63000",
	"tlsCipherSuites": "TLS_AES_128_GCM_SHA256", "hostProcPathPrefix": "/other",
	"secondaryNetwork.ovsBridges": []any{map[string]any{"bridgeName": "br7"}},
}

// another returns a valid value that is not the default, or the default if there is no other.
func another(name string, l leaf) any {
	if other, found := others[name]; found {
		return other
	}
	for _, allowed := range l.schema.Enum {
		if allowed != l.def {
			return allowed
		}
	}
	if l.schema.Const != nil || l.schema.MaxItems != nil || len(l.schema.Enum) > 0 {
		return l.def
	}
	switch l.schema.Type {
	case "boolean":
		return l.def == false
	case "string":
		return "other-" + strings.ToLower(strings.ReplaceAll(name, ".", "-"))
	case "array":
		return []any{"other-" + name}
	}
	number := l.def.(float64)
	if l.schema.Maximum != nil && number >= *l.schema.Maximum {
		return number - 1
	}
	return number + 1
}

// TestEveryKeyIsAValue renders the chart with all values changed that have a configuration key, and looks for them in the
// configuration files, which must have all keys and no others. An agent without AntreaProxy accepts no other traffic mode, and WireGuard needs encap.
// oncache.tunnel, openings and direct are not accepted together.
func TestEveryKeyIsAValue(t *testing.T) {
	t.Run("without AntreaProxy", func(t *testing.T) { testKeys(t, "trafficEncapMode", "noSNAT", "oncache.openings") })
	t.Run("without a tunnel", func(t *testing.T) { testKeys(t, "antreaProxy.enable", "trafficEncryptionMode", "oncache.direct") })
}

// testKeys leaves some keys as they are.
func testKeys(t *testing.T, unchanged ...string) {
	t.Helper()
	values := leaves(t)
	changed := map[string]any{}
	want := map[string]map[string]string{"agent": {}, "controller": {}}
	agent, err := agentconfig.Parse(nil)
	require.NoError(t, err)
	controller, err := controllerconfig.Parse(nil)
	require.NoError(t, err)
	for component, config := range map[string]any{"agent": *agent, "controller": *controller} {
		for _, key := range keys(reflect.TypeOf(config), "") {
			if key == "featureGates" {
				continue // TestGates
			}
			name := cmp.Or(valueOf[component][key], key)
			require.Contains(t, values, name, "%s key %s has no value", component, key)
			value := values[name].def
			if !slices.Contains(unchanged, key) {
				value = another(name, values[name])
			}
			set(changed, name, value)
			want[component][key] = compact(t, value)
		}
	}
	text, err := yaml.Marshal(changed)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))

	f := configuration(t, render(t, "--values", file))
	for component, text := range map[string]string{"agent": f.agentText, "controller": f.controllerText} {
		var tree map[string]any
		readYAML(t, text, &tree)
		delete(tree, "featureGates")
		got := map[string]string{}
		flatten(t, "", tree, want[component], got)
		require.Empty(t, gocmp.Diff(want[component], got), "- wanted of %s, + rendered", component)
	}
}

// keys are the configuration keys of a struct type, with the names of their sections.
func keys(section reflect.Type, prefix string) (out []string) {
	for i := range section.NumField() {
		name, _, _ := strings.Cut(section.Field(i).Tag.Get("json"), ",")
		if field := section.Field(i).Type; field.Kind() == reflect.Struct {
			out = append(out, keys(field, prefix+name+".")...)
		} else {
			out = append(out, prefix+name)
		}
	}
	return out
}

func set(tree map[string]any, name string, value any) {
	section, rest, nested := strings.Cut(name, ".")
	if !nested {
		tree[name] = value
		return
	}
	if tree[section] == nil {
		tree[section] = map[string]any{}
	}
	set(tree[section].(map[string]any), rest, value)
}

// flatten collects the values of a tree. Unknown keys are sections.
func flatten(t *testing.T, prefix string, tree map[string]any, known map[string]string, out map[string]string) {
	t.Helper()
	for name, value := range tree {
		if section, ok := value.(map[string]any); ok && known[prefix+name] == "" {
			flatten(t, prefix+name+".", section, known, out)
		} else {
			out[prefix+name] = compact(t, value)
		}
	}
}

func compact(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}
