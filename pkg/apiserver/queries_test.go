// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	internal "github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/httpapi/apiservertest"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
	"github.com/antrea-oncache/antrea/pkg/log/logtest"
)

// groupsOfTest has the ClusterGroups cg, with the Pods p0 to p4 of the Namespaces odd and even, and deep, which is nested too
// deep, and the Group ns/g.
type groupsOfTest struct{}

func (groupsOfTest) GroupMembers(namespace, name string) ([]internal.GroupMember, []internal.IPNet, error) {
	switch namespace + "/" + name {
	case "/cg":
		var members []internal.GroupMember
		for i := range 5 {
			members = append(members, internal.GroupMember{
				Pod: &internal.PodReference{Name: fmt.Sprint("p", i), Namespace: []string{"even", "odd"}[i%2]}, IPs: []internal.IPAddress{{10, 0, 0, byte(i)}},
			})
		}
		return members, []internal.IPNet{{IP: internal.IPAddress{10, 1, 0, 0}, PrefixLength: 16}}, nil
	case "/deep":
		return nil, nil, fmt.Errorf("group deep: %w", networkpolicy.ErrNested)
	case "ns/g":
		return nil, nil, nil
	}
	return nil, nil, networkpolicy.ErrNoGroup
}

func (groupsOfTest) GroupsOfPod(pod types.NamespacedName) []internal.GroupReference {
	if pod.String() != "ns/pod" {
		return nil
	}
	return []internal.GroupReference{{Name: "cg", UID: "u1"}, {Namespace: "ns", Name: "g", UID: "u2"}}
}

func (groupsOfTest) GroupsOfIP(ip netip.Addr) []internal.GroupReference {
	if ip.Unmap() != netip.MustParseAddr("10.1.2.3") {
		return nil
	}
	return []internal.GroupReference{{Name: "cg", UID: "u1"}}
}

func startQueries(t *testing.T) *fixture {
	t.Helper()
	f := startFull(t, &apiservertest.Kubernetes{}, generic.Limits{}, func(c *Config) { c.Groups = groupsOfTest{} })
	close(f.synced)
	return f
}

func TestGroupQueries(t *testing.T) {
	f := startQueries(t)
	for _, tc := range []struct {
		name, path string
		status     int
		pods       string // in this order
		body       []string
	}{
		{"all", "/clustergroupmembers/cg", 200, "p0 p1 p2 p3 p4", []string{
			`"kind":"ClusterGroupMembers","apiVersion":"controlplane.antrea.io/v1beta2","metadata":{"name":"cg"`,
			`"effectiveIPBlocks":[{"ip":"CgEAAA==","prefixLength":16}],"totalMembers":5,"totalPages":1,"currentPage":1}`,
		}},
		{"first page", "/clustergroupmembers/cg?page=1&limit=2", 200, "p0 p1", []string{`"totalMembers":5,"totalPages":3,"currentPage":1}`, `"effectiveIPBlocks":[{`}},
		{"last page", "/clustergroupmembers/cg?page=3&limit=2", 200, "p4", []string{`"totalPages":3,"currentPage":3}`}},
		{"after the last page", "/clustergroupmembers/cg?page=4&limit=2", 200, "", []string{`"totalPages":3,"currentPage":4}`}},
		{"page 0", "/clustergroupmembers/cg?page=0&limit=2", 200, "p0 p1 p2 p3 p4", []string{`"totalPages":3,"currentPage":0}`}},
		{"limit 0", "/clustergroupmembers/cg?page=7&limit=0", 200, "p0 p1 p2 p3 p4", []string{`"totalPages":1,"currentPage":1}`}},
		{"largest numbers", "/clustergroupmembers/cg?page=9223372036854775807&limit=9223372036854775807", 200, "", []string{`"totalPages":1`}},
		{"one large page", "/clustergroupmembers/cg?page=1&limit=9223372036854775807", 200, "p0 p1 p2 p3 p4", []string{`"totalPages":1,"currentPage":1}`}},
		{"negative limit", "/clustergroupmembers/cg?limit=-1", 400, "", []string{"received invalid page limit"}},
		{"negative page", "/clustergroupmembers/cg?page=-1&limit=1", 400, "", []string{"received invalid page number"}},
		{"not a number", "/clustergroupmembers/cg?page=x", 400, "", nil},
		{"unknown", "/clustergroupmembers/other", 500, "", []string{"no internal Group with name other is found"}},
		{"nested too deep", "/clustergroupmembers/deep", 400, "", []string{"group deep: the group has children with children"}},
		{"a Group", "/namespaces/ns/groupmembers/g", 200, "", []string{`"kind":"GroupMembers"`, `"namespace":"ns"`, `"totalMembers":0,"totalPages":1,"currentPage":1}`}},
		{"a Group of another Namespace", "/namespaces/other/groupmembers/g", 500, "", []string{"no internal Group with name other/g is found"}},
		{"list", "/clustergroupmembers", 404, "", nil},
		{"watch", "/namespaces/ns/groupassociations?watch=true", 404, "", nil},
		{"groups of a Pod", "/namespaces/ns/groupassociations/pod", 200, "", []string{
			`"kind":"GroupAssociation"`, `"associatedGroups":[{"name":"cg","uid":"u1"},{"namespace":"ns","name":"g","uid":"u2"}]`,
		}},
		{"groups of no Pod", "/namespaces/ns/groupassociations/other", 200, "", []string{`"associatedGroups":[]`}},
		{"groups of an address", "/ipgroupassociations/10.1.2.3", 200, "", []string{`"kind":"IPGroupAssociation"`, `"associatedGroups":[{"name":"cg","uid":"u1"}]`}},
		{"groups of a mapped address", "/ipgroupassociations/::ffff:10.1.2.3", 200, "", []string{`"name":"cg"`}},
		{"groups of another address", "/ipgroupassociations/fd00::1", 200, "", []string{`"associatedGroups":[]`}},
		{"not an address", "/ipgroupassociations/10.1.2", 400, "", []string{`\"10.1.2\" is not an IP address`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, body := f.do("GET", group+tc.path, f.token, "")
			require.Equal(t, tc.status, status, body)
			for _, part := range tc.body {
				require.Contains(t, body, part)
			}
			at := -1
			for _, pod := range strings.Fields(tc.pods) {
				i := strings.Index(body, `"name":"`+pod+`"`)
				require.Greater(t, i, at, "%s in %s", pod, body)
				at = i
			}
			require.Equal(t, len(strings.Fields(tc.pods)), strings.Count(body, `"name":"p`)-strings.Count(body, `"name":"pod`))
		})
	}
	status, body := f.do("GET", group+"/clustergroupmembers/cg", f.token, tableFormat)
	require.Equal(t, 200, status, body)
	require.Contains(t, body, `"cells":["cg",`)
}

func TestPolicyQueries(t *testing.T) {
	logged := logtest.Text(t)
	f := startQueries(t)
	ask := func(source, destination string) string {
		return `{"apiVersion":"controlplane.antrea.io/v1beta2","kind":"NetworkPolicyEvaluation","request":{"source":{"pod":` + source + `},"destination":{"pod":` + destination + `}}}`
	}
	const pod = `{"namespace":"ns","name":"pod"}`
	for _, tc := range []struct {
		name, body string
		status     int
		answer     string
	}{
		{"isolated", ask(pod, pod), 201, `"response":{"networkPolicy":{"type":"K8sNetworkPolicy","namespace":"ns","name":"policy","uid":"uid-1"},"ruleIndex":2147483647,"rule":{"direction":"In"}}`},
		{"no such Pod", ask(pod, `{"namespace":"ns","name":"other"}`), 404, `pods \"ns/other\" not found`},
		{"no name", ask(pod, `{"namespace":"ns"}`), 400, "request.source.pod and request.destination.pod need a name and a namespace"},
		{"no Pod", ask("null", pod), 400, "need a name and a namespace"},
		{"no request", `{"apiVersion":"controlplane.antrea.io/v1beta2","kind":"NetworkPolicyEvaluation"}`, 400, "need a name and a namespace"},
		{"an answer in the question", strings.Replace(ask(pod, pod), `"request":`, `"response":{"ruleIndex":-7,"rule":{"direction":"Up","action":"Redirect"}},"request":`, 1), 201, `"ruleIndex":2147483647`},
		{"an unknown field", strings.Replace(ask(pod, pod), `"request":`, `"code":{"a":[1]},"request":`, 1), 201, `"ruleIndex":2147483647`},
		{"another kind", strings.Replace(ask(pod, pod), "NetworkPolicyEvaluation", "NetworkPolicy", 1), 400, "NetworkPolicy"},
		{"no such kind", strings.Replace(ask(pod, pod), "NetworkPolicyEvaluation", "Evaluation", 1), 400, "Evaluation"},
		{"another version", strings.Replace(ask(pod, pod), "v1beta2", "v9", 1), 400, "v9"},
		{"a number as name", ask(pod, `{"namespace":"ns","name":7}`), 400, "name"},
		{"cut short", ask(pod, pod)[:90], 400, "unexpected"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, answer := f.send("POST", group+"/networkpolicyevaluation", f.token, "", tc.body)
			require.Equal(t, tc.status, status, answer)
			require.Contains(t, answer, tc.answer)
		})
	}
	for _, tc := range []struct {
		query  string
		status int
		answer string
	}{
		{"?pod=pod&namespace=ns", 200, `{"endpoints":[{"namespace":"ns","name":"pod","policies":[{"namespace":"ns","name":"policy","uid":"uid-1"}]}]}`},
		{"?pod=pod", 404, "Pod default/pod not found\n"},
		{"?namespace=ns", 400, "pod must be provided\n"},
	} {
		status, answer := f.do("GET", "/endpoint"+tc.query, f.token, "")
		require.Equal(t, tc.status, status, answer)
		require.Equal(t, tc.answer, answer)
	}
	require.NotContains(t, logged(), "SHOULD NOT HAPPEN")
}
