// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// dynamic are the resources of the dynamic clients, separated by spaces, by file.
var dynamic = map[string]string{
	"pkg/agent/monitor/monitor.go":                 "antreaagentinfos.crd.antrea.io",
	"pkg/controller/monitor/agents.go":             "antreaagentinfos.crd.antrea.io",
	"pkg/controller/monitor/monitor.go":            "antreacontrollerinfos.crd.antrea.io",
	"pkg/agent/controller/traceflow/status.go":     "traceflows.crd.antrea.io",
	"pkg/agent/controller/multicluster/encrypt.go": "gateways.multicluster.crd.antrea.io",
	"pkg/agent/controller/egress/status.go":        "egresses.crd.antrea.io",
	"pkg/controller/traceflow/controller.go":       "traceflows.crd.antrea.io",
	"pkg/controller/externalip/controller.go":      "egresses.crd.antrea.io",
	"pkg/controller/externalip/egress.go":          "egresses.crd.antrea.io",
	"pkg/controller/externalip/write.go":           "egresses.crd.antrea.io externalippools.crd.antrea.io services",
	"pkg/controller/tiers/tiers.go":                "tiers.crd.antrea.io",
	"pkg/apiserver/certificate/publish.go":         "apiservices.apiregistration.k8s.io",
	"pkg/controller/networkpolicy/statuscontroller.go": "clusternetworkpolicies.crd.antrea.io networkpolicies.crd.antrea.io clustergroups.crd.antrea.io groups.crd.antrea.io " +
		"adminnetworkpolicies.policy.networking.k8s.io baselineadminnetworkpolicies.policy.networking.k8s.io clusternetworkpolicies.policy.networking.k8s.io",
}

// library is the use of the Kubernetes API by a function that the program calls, beyond what the types of the call say.
type library struct {
	function string
	rights   []string
}

// client is a function of the client of antrea-controller.
func client(function, right string) library {
	return library{"(*" + module + "pkg/client/controlplane.Client)." + function, []string{right}}
}

var (
	// Both programs serve an API.
	serving = library{"(k8s.io/apiserver/pkg/authorization/authorizerfactory.DelegatingAuthorizerConfig).New", []string{"subjectaccessreviews.authorization.k8s.io create"}}

	eventsOfObjects = library{
		"(k8s.io/client-go/tools/events.EventBroadcaster).StartRecordingToSinkWithContext", []string{"events.events.k8s.io create", "events.events.k8s.io patch"},
	}

	libraries = map[string][]library{
		"antrea-agent": {
			serving,
			traceflowInformer,
			{"(k8s.io/client-go/tools/record.EventBroadcaster).StartRecordingToSink", []string{"events create", "events patch"}},
			eventsOfObjects,
			client("NetworkPolicies", "networkpolicies.controlplane.antrea.io watch"),
			client("AppliedToGroups", "appliedtogroups.controlplane.antrea.io watch"),
			client("AddressGroups", "addressgroups.controlplane.antrea.io watch"),
			client("EgressGroups", "egressgroups.controlplane.antrea.io watch"),
			egressInformers,
			clusterInformers,
			client("ReportStats", "nodestatssummaries.controlplane.antrea.io create"),
			client("ReportPolicyStatus", "networkpolicies/status.controlplane.antrea.io create"),
		},
		"antrea-controller": {serving, eventsOfObjects, traceflowInformer, policyInformers, adminPolicyInformers, egressInformers},
	}

	// elsewhere are calls whose rights the chart does not give by default: the collector's Namespace grants them (docs/use/network-flow-visibility.md),
	// or the chart with nodeIPAM.enable only.
	elsewhere = map[string][]string{"antrea-agent": {"secrets get"}, "antrea-controller": {"nodes patch"}}

	// forAntctl are rights of what antctl does in the program's Pod.
	forAntctl = map[string][]string{"antrea-agent": {"traceflows.crd.antrea.io create", "traceflows.crd.antrea.io delete"}}

	policyInformers = library{module + "pkg/client/crd.NewPolicies", []string{
		"clusternetworkpolicies.crd.antrea.io list", "clusternetworkpolicies.crd.antrea.io watch", "networkpolicies.crd.antrea.io list",
		"networkpolicies.crd.antrea.io watch", "tiers.crd.antrea.io list", "tiers.crd.antrea.io watch", "clustergroups.crd.antrea.io list",
		"clustergroups.crd.antrea.io watch", "groups.crd.antrea.io list", "groups.crd.antrea.io watch",
	}}

	adminPolicyInformers = library{module + "pkg/client/crd.NewAdminPolicies", []string{
		"adminnetworkpolicies.policy.networking.k8s.io list", "adminnetworkpolicies.policy.networking.k8s.io watch",
		"baselineadminnetworkpolicies.policy.networking.k8s.io list", "baselineadminnetworkpolicies.policy.networking.k8s.io watch",
		"clusternetworkpolicies.policy.networking.k8s.io list", "clusternetworkpolicies.policy.networking.k8s.io watch",
	}}

	egressInformers = library{module + "pkg/client/crd.NewEgressObjects", []string{
		"egresses.crd.antrea.io list", "egresses.crd.antrea.io watch", "externalippools.crd.antrea.io list", "externalippools.crd.antrea.io watch",
	}}

	clusterInformers = library{module + "pkg/agent/controller/multicluster.New", []string{
		"gateways.multicluster.crd.antrea.io list", "gateways.multicluster.crd.antrea.io watch",
		"clusterinfoimports.multicluster.crd.antrea.io list", "clusterinfoimports.multicluster.crd.antrea.io watch",
	}}

	traceflowInformer = library{module + "pkg/client/crd.Informer", []string{"traceflows.crd.antrea.io list", "traceflows.crd.antrea.io watch"}}
)

var row = regexp.MustCompile("(?m)^\\| (?:cluster|Namespace) \\| `([^|]+)` \\|[^|]*\\| ([^|]+) \\| [^|]+ \\|$")

// documented returns the rights that docs/operate/rbac.md gives an account.
func documented(t *testing.T, account string) (rights []string) {
	text, err := os.ReadFile(root + "/docs/operate/rbac.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## "+account+"\n")
	require.True(t, found, account)
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range row.FindAllStringSubmatch(section, -1) {
		for _, resource := range strings.Split(m[1], "`, `") {
			for _, verb := range strings.Split(m[2], ", ") {
				rights = append(rights, resource+" "+verb)
			}
		}
	}
	slices.Sort(rights)
	return slices.Compact(rights)
}

// TestRightsAreThoseOfTheCalls: no call is denied, and no right is for nothing.
func TestRightsAreThoseOfTheCalls(t *testing.T) {
	for account, byLibraries := range libraries {
		t.Run(account, func(t *testing.T) {
			p, err := callsOf(root, "./cmd/"+account)
			require.NoError(t, err)
			for _, l := range byLibraries {
				require.True(t, p.functions[l.function], "%s is not called any more", l.function)
				for _, right := range l.rights {
					p.rights[right] = append(p.rights[right], l.function)
				}
			}
			granted := documented(t, account)
			for call, places := range p.dynamic {
				from, verb, _ := strings.Cut(call, " ")
				require.Contains(t, dynamic, from, "which resource is that? %v", places)
				for resource := range strings.FieldsSeq(dynamic[from]) {
					right := rightTo(resource, verb)
					p.rights[right] = append(p.rights[right], places...)
				}
			}
			for _, right := range elsewhere[account] {
				require.Contains(t, p.rights, right, "not called any more")
				require.NotContains(t, granted, right)
				delete(p.rights, right)
			}
			for right, places := range p.rights {
				require.Contains(t, granted, right, "denied: %v", places)
			}
			for _, right := range forAntctl[account] {
				require.NotContains(t, p.rights, right)
				p.rights[right] = nil
			}
			for _, right := range granted {
				require.Contains(t, p.rights, right, "nothing in the sources of %s needs it", account)
			}
		})
	}
}
