// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
)

const (
	namespace = "antrea-multicluster"
	// Callers.
	east       = "system:serviceaccount:antrea-multicluster:east-token"
	controller = "system:serviceaccount:antrea-multicluster:antrea-mc-controller"
	admin      = "kubernetes-admin"
)

// state are objects in memory; err is returned for each question.
type state struct {
	accounts  map[string]map[string]string
	sets      []*v1alpha2.ClusterSet
	announces []*v1alpha1.MemberClusterAnnounce
	infos     []*v1alpha1.ResourceExport
	err       error
}

func (s *state) Account(name string) (map[string]string, bool, error) {
	annotations, found := s.accounts[name]
	return annotations, found, s.err
}
func (s *state) ClusterSets() ([]*v1alpha2.ClusterSet, error)          { return s.sets, s.err }
func (s *state) Announces() ([]*v1alpha1.MemberClusterAnnounce, error) { return s.announces, s.err }
func (s *state) ClusterInfos() ([]*v1alpha1.ResourceExport, error)     { return s.infos, s.err }
func (s *state) config() Config                                        { return Config{namespace, "antrea-mc-controller", s} }
func (s *state) leader(path string) webhook.Webhook                    { return Leader(s.config())[path] }
func (s *state) member(path string) webhook.Webhook                    { return Member(s.config())[path] }
func kindOf(path string) (k schema.GroupVersionKind) {
	switch path {
	case ClusterSetPath:
		return v1alpha2.SchemeGroupVersion.WithKind(v1alpha2.ClusterSetKind)
	case AnnouncePath:
		return v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.MemberClusterAnnounceKind)
	case ExportPath:
		return v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.ResourceExportKind)
	}
	return v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.GatewayKind)
}

// newState has a ClusterSet and the members east and west.
func newState() *state {
	id := func(id string) map[string]string { return map[string]string{v1alpha1.ClusterIDAnnotation: id} }
	return &state{
		accounts: map[string]map[string]string{
			"east-token": id("east"), "west-token": id("west"), "new-token": id("new"), "east-1-token": id("east-1"), "bad-token": id("_"),
			"empty-token": id(""), "plain": nil, "antrea-mc-controller": nil,
		},
		sets: []*v1alpha2.ClusterSet{{
			ObjectMeta: metav1.ObjectMeta{Name: "set"},
			Spec:       v1alpha2.ClusterSetSpec{ClusterID: "north", Leaders: []v1alpha2.LeaderClusterInfo{{ClusterID: "north"}}},
		}},
		announces: []*v1alpha1.MemberClusterAnnounce{{ClusterID: "east"}, {ClusterID: "west"}},
		infos: []*v1alpha1.ResourceExport{
			{Spec: v1alpha1.ResourceExportSpec{ClusterID: "west", ClusterInfo: &v1alpha1.ClusterInfo{ServiceCIDR: "10.100.0.0/16"}}},
			{Spec: v1alpha1.ResourceExportSpec{ClusterID: "odd"}},
		},
	}
}

// object reads an object in YAML as JSON; nil if there is none.
func object(t testing.TB, text string) runtime.RawExtension {
	t.Helper()
	if text == "" {
		return runtime.RawExtension{}
	}
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	return runtime.RawExtension{Raw: raw}
}

// ask makes a request: with wanted only it is a creation, with former only a deletion.
func ask(t testing.TB, path, user, wanted, former string) *admissionv1.AdmissionRequest {
	t.Helper()
	r := &admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind(kindOf(path)), Namespace: namespace, Name: "x",
		UserInfo: authenticationv1.UserInfo{Username: user}, Object: object(t, wanted), OldObject: object(t, former),
	}
	switch {
	case former == "":
		r.Operation = admissionv1.Create
	case wanted == "":
		r.Operation = admissionv1.Delete
	default:
		r.Operation = admissionv1.Update
	}
	return r
}

// decision is a row of a table: the refusal contains want, which is empty if there must be none.
type decision struct {
	name, user, wanted, former string
	state                      func(*state)
	want                       string
}

func (d decision) check(t *testing.T, webhooks func(*state, string) webhook.Webhook, path string) {
	t.Helper()
	s := newState()
	if d.state != nil {
		d.state(s)
	}
	answer, err := webhooks(s, path)(ask(t, path, d.user, d.wanted, d.former))
	require.NoError(t, err)
	if d.want == "" {
		require.Empty(t, answer.Refusal)
		return
	}
	require.Contains(t, answer.Refusal, d.want)
}

func TestClusterSetOfLeader(t *testing.T) {
	const set = "{metadata: {name: set}, spec: {clusterID: north, leaders: [{clusterID: north}]}}"
	empty := func(s *state) { s.sets = nil }
	for _, d := range []decision{
		{name: "created", wanted: set, state: empty},
		{name: "a second one", wanted: set, want: "multiple ClusterSets in a Namespace are not allowed"},
		{name: "without a leader", wanted: "{spec: {clusterID: north}}", state: empty, want: "spec.leaders has 0 leaders; want one"},
		{name: "two leaders", wanted: "{spec: {leaders: [{clusterID: a}, {clusterID: b}]}}", state: empty, want: "spec.leaders has 2 leaders"},
		{name: "an impossible ID", wanted: "{spec: {clusterID: A/b, leaders: [{clusterID: north}]}}", state: empty, want: `spec.clusterID "A/b" cannot be the ID of a cluster`},
		{name: "a leader without an ID", wanted: "{spec: {clusterID: a, leaders: [{}]}}", state: empty, want: `spec.leaders[0].clusterID "" cannot be`},
		{name: "unchanged", wanted: set, former: set},
		{name: "another ID", wanted: "{spec: {clusterID: south, leaders: [{clusterID: north}]}}", former: set, want: "the field 'clusterID' is immutable"},
		{name: "an ID for an old one", wanted: set, former: "{spec: {leaders: [{clusterID: north}]}}"},
		{name: "another leader", wanted: "{spec: {clusterID: north, leaders: [{clusterID: south}]}}", former: set, want: "the field 'clusterID' of the leader is immutable"},
		{name: "the leader removed", wanted: "{spec: {clusterID: north}}", former: set, want: "spec.leaders has 0 leaders"},
		{name: "a former one without leader", wanted: set, former: "{spec: {clusterID: north}}"},
		{name: "deleted with members", former: set, want: "since there are still member clusters connecting to this leader cluster"},
		{name: "deleted without members", former: set, state: func(s *state) { s.announces = nil }},
	} {
		t.Run(d.name, func(t *testing.T) { d.check(t, (*state).leader, ClusterSetPath) })
	}
}

func TestClusterSetOfMember(t *testing.T) {
	const set = "{metadata: {name: set}, spec: {clusterID: east, namespace: lead, leaders: [{clusterID: north, server: 'https://192.0.2.1:6443', secret: t}]}}"
	empty := func(s *state) { s.sets = nil }
	for _, d := range []decision{
		{name: "created", wanted: set, state: empty},
		{name: "a second one", wanted: set, want: "multiple ClusterSets in a Namespace are not allowed"},
		{name: "a token in clear text", wanted: "{spec: {clusterID: east, leaders: [{clusterID: north, server: 'http://192.0.2.1'}]}}", state: empty, want: `server is "http://192.0.2.1"; want the URL`},
		{name: "no server", wanted: "{spec: {clusterID: east, leaders: [{clusterID: north}]}}", state: empty, want: `server is ""; want the URL`},
		{name: "another server, in clear text", wanted: "{spec: {clusterID: east, leaders: [{clusterID: north, server: 'http://x'}]}}", former: set, want: "want the URL"},
		{name: "another ID", wanted: "{spec: {clusterID: south, leaders: [{clusterID: north}]}}", former: set, want: "the field 'clusterID' is immutable"},
		{name: "deleted", former: set},
	} {
		t.Run(d.name, func(t *testing.T) { d.check(t, (*state).member, ClusterSetPath) })
	}
}

func TestGateways(t *testing.T) {
	const (
		gateway = "{metadata: {name: n1}, gatewayIP: 192.0.2.1, internalIP: 10.0.0.1, serviceCIDR: 10.96.0.0/12}"
		keyed   = "{metadata: {name: n1}, gatewayIP: 192.0.2.1, internalIP: 10.0.0.1, serviceCIDR: 10.96.0.0/12, wireGuard: {publicKey: k}}"
		moved   = "{metadata: {name: n1}, gatewayIP: 192.0.2.9, internalIP: 10.0.0.1, serviceCIDR: 10.96.0.0/12}"
		agent   = "system:serviceaccount:kube-system:antrea-agent"
		refusal = "Gateway can only be created or updated by Antrea Agent or Multi-cluster Controller"
	)
	for _, d := range []decision{
		{name: "created by the controller", user: controller, wanted: gateway},
		{name: "moved by the controller", user: controller, wanted: moved, former: gateway},
		{name: "created by an agent", user: agent, wanted: gateway, want: refusal},
		{name: "keyed by an agent", user: agent, wanted: keyed, former: gateway},
		{name: "moved by an agent", user: agent, wanted: moved, former: gateway, want: "Antrea Agent can only change wireGuard of a Gateway"},
		{name: "written by an administrator", user: admin, wanted: keyed, former: gateway, want: refusal},
		{name: "by an account of the same name elsewhere", user: "system:serviceaccount:default:antrea-mc-controller", wanted: gateway, want: refusal},
		{name: "by an agent's name elsewhere", user: "system:serviceaccount:default:antrea-agent", wanted: keyed, former: gateway, want: refusal},
		{name: "by half a name", user: "system:serviceaccount:antrea-mc-controller", wanted: gateway, want: "has the beginning of the name of one"},
		{name: "deleted by anyone", user: admin, former: gateway},
	} {
		t.Run(d.name, func(t *testing.T) { d.check(t, (*state).member, GatewayPath) })
	}
	for node, want := range map[string]string{"n1": "", "n2": "the agent of Node n2 cannot change the Gateway n1"} {
		request := ask(t, GatewayPath, agent, keyed, gateway)
		request.UserInfo.Extra = map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/node-name": {node}}
		answer, err := newState().member(GatewayPath)(request)
		require.NoError(t, err)
		require.Equal(t, want, answer.Refusal)
	}
}

// TestDoubts: requests that cannot be read, or are about something else, are refused; with objects that cannot be read there is no answer.
func TestDoubts(t *testing.T) {
	const export = "{metadata: {name: e}, spec: {clusterID: east, kind: ClusterInfo, clusterInfo: {clusterID: east, serviceCIDR: 10.96.0.0/12}}}"
	for name, test := range map[string]struct {
		edit func(*admissionv1.AdmissionRequest)
		want string
	}{
		"another kind":      {func(r *admissionv1.AdmissionRequest) { r.Kind.Kind = "ResourceImport" }, "it knows ResourceExport multicluster.crd.antrea.io/v1alpha1"},
		"another version":   {func(r *admissionv1.AdmissionRequest) { r.Kind.Version = "v1alpha2" }, "it knows ResourceExport"},
		"another Namespace": {func(r *admissionv1.AdmissionRequest) { r.Namespace = "default" }, `the ResourceExport is in Namespace "default"`},
		"another operation": {func(r *admissionv1.AdmissionRequest) { r.Operation = admissionv1.Connect }, `the operation "CONNECT"`},
		"no object":         {func(r *admissionv1.AdmissionRequest) { r.Object.Raw = nil }, "reading the ResourceExport"},
		"null":              {func(r *admissionv1.AdmissionRequest) { r.Object.Raw = []byte("null") }, "it is null"},
		"a list":            {func(r *admissionv1.AdmissionRequest) { r.Object.Raw = []byte("[]") }, "reading the ResourceExport"},
		"a number":          {func(r *admissionv1.AdmissionRequest) { r.Object.Raw = []byte(`{"spec": {"clusterID": 5}}`) }, "reading the ResourceExport"},
		"no former object":  {func(r *admissionv1.AdmissionRequest) { r.Operation = admissionv1.Update }, "reading the former ResourceExport"},
	} {
		t.Run(name, func(t *testing.T) {
			request := ask(t, ExportPath, admin, export, "")
			test.edit(request)
			answer, err := newState().leader(ExportPath)(request)
			require.NoError(t, err)
			require.Contains(t, answer.Refusal, test.want)
		})
	}
	broken := newState()
	broken.err = errors.New("the API is away")
	set, gateway := "{spec: {leaders: [{}]}}", "{}"
	for _, r := range []struct {
		judge                      webhook.Webhook
		path, user, wanted, former string
	}{
		{broken.leader(ExportPath), ExportPath, east, export, ""},
		{broken.leader(ExportPath), ExportPath, admin, export, ""},
		{broken.leader(AnnouncePath), AnnouncePath, east, "{clusterID: east}", ""},
		{broken.leader(ClusterSetPath), ClusterSetPath, admin, set, ""},
		{broken.leader(ClusterSetPath), ClusterSetPath, admin, "", set},
		{broken.member(ClusterSetPath), ClusterSetPath, admin, set, ""},
	} {
		answer, err := r.judge(ask(t, r.path, r.user, r.wanted, r.former))
		require.ErrorIs(t, err, broken.err, r.path)
		require.Empty(t, answer)
	}
	_, err := broken.member(GatewayPath)(ask(t, GatewayPath, controller, gateway, ""))
	require.NoError(t, err, "it depends on nothing else")
}

func encoded(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}
