// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/featuregate"

	"github.com/antrea-oncache/antrea/pkg/config/agent"
	"github.com/antrea-oncache/antrea/pkg/config/controller"
	"github.com/antrea-oncache/antrea/pkg/features"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// check reads settings as a component does. It returns what is said about settings and gates without effect.
func check(component, text string) (withoutEffect, gates []string, err error) {
	var overrides map[string]bool
	var validate func(featuregate.FeatureGate) error
	var explain func(featuregate.FeatureGate) []string
	explainGates := features.AgentGatesWithoutEffect
	if component == "agent" {
		c, err := agent.Parse([]byte(text))
		if err != nil {
			return nil, nil, err
		}
		overrides, validate, explain = c.FeatureGates, c.Validate, c.WithoutEffect
	} else {
		c, err := controller.Parse([]byte(text))
		if err != nil {
			return nil, nil, err
		}
		overrides, validate, explain, explainGates = c.FeatureGates, c.Validate, c.WithoutEffect, features.ControllerGatesWithoutEffect
	}
	enabled, err := features.New(overrides)
	if err != nil {
		return nil, nil, err
	}
	if err := validate(enabled); err != nil {
		return nil, nil, err
	}
	return explain(enabled), explainGates(overrides), nil
}

var setting = regexp.MustCompile(`^(\w+): (?:\{(\w+): .*\}|(.*))$`)

// keyOf is the key that a row is about, and its value if it is a plain one.
func keyOf(text string) string {
	last := text[strings.LastIndex(text, "\n")+1:]
	m := setting.FindStringSubmatch(last)
	if m[2] != "" {
		return m[1] + "." + m[2]
	}
	return m[1]
}

// TestUpstream compares what this version does with settings with what Antrea does. The documents list the differences: where this
// version refuses something, and which keys it does not act on.
func TestUpstream(t *testing.T) {
	documents := map[string]string{"agent": read(t, "../../docs/use/configuration.md"), "controller": read(t, "../../docs/use/antrea-controller.md")}
	gatesDocument := read(t, "../../docs/use/feature-gates.md")
	_, refusals, found := strings.Cut(documents["agent"], "\n## Differences from Antrea\n")
	require.True(t, found)
	refusals, _, _ = strings.Cut(refusals, "\n## ")
	listed := regexp.MustCompile("(?m)^- `([^`]+)`:").FindAllStringSubmatch(refusals, -1)
	var documented, refused []string
	for _, row := range listed {
		documented = append(documented, row[1])
	}
	for line := range strings.Lines(read(t, "testdata/upstream.tsv")) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimRight(line, "\n")+"\t", "\t")
		component, text, upstream, ours := fields[0], strings.ReplaceAll(fields[1], `\n`, "\n"), fields[2], fields[3]
		t.Run(component+" "+text, func(t *testing.T) {
			withoutEffect, gates, err := check(component, text)
			key := keyOf(text)
			switch ours {
			case "accepted":
				require.NoError(t, err)
				require.Empty(t, withoutEffect)
			case "gate": // a gate without effect, unless it has become a feature
				require.NoError(t, err)
				gate := strings.TrimPrefix(key, "featureGates.")
				documentedNone := regexp.MustCompile("(?m)^\\| `" + gate + "` \\|.*\\| none \\|$").MatchString(gatesDocument)
				require.Equal(t, documentedNone, slices.Contains(gates, gate))
			case "checked":
				require.NoError(t, err)
				require.Empty(t, withoutEffect)
				require.Regexp(t, "(?m)^\\| `"+regexp.QuoteMeta(key)+"` \\|[^|]*\\| (none|checked|acts) \\|", documents[component])
			case "ignored":
				require.NoError(t, err)
				require.Len(t, withoutEffect, 1, "the log says so")
				require.Contains(t, withoutEffect[0], key)
			case "refused":
				require.Error(t, err)
				if upstream == "accepted" {
					require.ErrorContains(t, err, key)
					require.Regexp(t, "supported: [^;]+; .+", err.Error(), "what to do")
				}
			default:
				t.Errorf("%q is not a treatment", ours)
			}
		})
		if upstream == "accepted" && ours == "refused" && !slices.Contains(refused, keyOf(text)) {
			refused = append(refused, keyOf(text))
		}
	}
	slices.Sort(documented)
	slices.Sort(refused)
	require.Empty(t, cmp.Diff(refused, documented), "the section Differences from Antrea of docs/use/configuration.md lists what this version refuses and Antrea does not")
}

// TestRewrittenByAntreasTools: all fields have zero values, which means the defaults.
func TestRewrittenByAntreasTools(t *testing.T) {
	a, err := agent.Parse([]byte(read(t, "testdata/antrea-agent-rewritten.conf")))
	require.NoError(t, err)
	defaults, err := agent.Parse(nil)
	require.NoError(t, err)
	a.FeatureGates = nil
	for _, list := range []*[]string{&a.Egress.ExceptCIDRs, &a.FlowExporter.ProtocolFilter, &a.TransportInterfaceCIDRs, &a.Multicast.MulticastInterfaces,
		&a.AntreaProxy.NodePortAddresses, &a.AntreaProxy.SkipServices} {
		require.Empty(t, *list)
		*list = nil
	}
	require.Empty(t, a.SecondaryNetwork.OVSBridges)
	a.SecondaryNetwork.OVSBridges = nil
	require.Empty(t, cmp.Diff(defaults, a))
	for _, component := range []string{"agent", "controller"} {
		withoutEffect, gates, err := check(component, read(t, "testdata/antrea-"+component+"-rewritten.conf"))
		require.NoError(t, err)
		require.Empty(t, withoutEffect)
		require.Empty(t, gates)
	}
	c, err := controller.Parse([]byte(read(t, "testdata/antrea-controller-rewritten.conf")))
	require.NoError(t, err)
	controllerDefaults, err := controller.Parse(nil)
	require.NoError(t, err)
	c.FeatureGates, c.NodeIPAM.ClusterCIDRs = nil, nil
	require.Empty(t, cmp.Diff(controllerDefaults, c))
	require.NoError(t, controller.UnknownKeys([]byte(strings.NewReplacer("  acceptcontenttypes: \"\"\n", "", "  contenttype: \"\"\n", "").
		Replace(read(t, "testdata/antrea-controller-rewritten.conf")))))
}
