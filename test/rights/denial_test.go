// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
)

const (
	systemNamespace = "kube-system"
	// powerless is a service account without any rights.
	powerless = "powerless"
	// anything is the name of an object that no rule has.
	anything = "anything"
)

// api starts an API server with the roles of the manifest and returns the configuration of its administrator's client.
func api(t *testing.T) *rest.Config {
	if !controlplane.Built() {
		t.Skip("kube-apiserver is not built yet on this machine: `lab run` does it")
	}
	cp, err := controlplane.Start(t.Context(), controlplane.Options{StateDir: t.TempDir(), LogDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(cp.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, cp.WriteKubeconfig(kubeconfig, "127.0.0.1"))
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	config.QPS = -1 // no limit
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	installRoles(t, kubernetes.NewForConfigOrDie(config))
	return config
}

// installRoles creates the roles and bindings of the manifest.
func installRoles(t *testing.T, client kubernetes.Interface) {
	manifest, err := os.ReadFile(root + "/build/yamls/antrea.yml")
	require.NoError(t, err)
	ctx, create, rbac, installed := t.Context(), metav1.CreateOptions{}, client.RbacV1(), 0
	for documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(manifest))); ; {
		document := make([]byte, len(manifest))
		n, err := documents.Read(document)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		document = document[:n]
		var kind metav1.TypeMeta
		require.NoError(t, sigsyaml.Unmarshal(document, &kind))
		switch kind.Kind {
		case "ClusterRole":
			_, err = rbac.ClusterRoles().Create(ctx, decoded[rbacv1.ClusterRole](t, document), create)
		case "ClusterRoleBinding":
			_, err = rbac.ClusterRoleBindings().Create(ctx, decoded[rbacv1.ClusterRoleBinding](t, document), create)
		case "Role":
			o := decoded[rbacv1.Role](t, document)
			_, err = rbac.Roles(o.Namespace).Create(ctx, o, create)
		case "RoleBinding":
			o := decoded[rbacv1.RoleBinding](t, document)
			_, err = rbac.RoleBindings(o.Namespace).Create(ctx, o, create)
		default:
			continue
		}
		require.NoError(t, err, "%s", document)
		installed++
	}
	require.NotZero(t, installed)
}

func decoded[T any](t *testing.T, document []byte) *T {
	t.Helper()
	object := new(T)
	require.NoError(t, sigsyaml.UnmarshalStrict(document, object))
	return object
}

// access is a request to the API server: a verb of a resource, such as pods/log or deployments.apps, or of a path.
type access struct {
	namespace, resource, verb, name string
	path                            bool
}

// sections are the accounts of docs/operate/rbac.md.
var sections = []string{"antrea-agent", "antrea-controller", "antctl"}

// listed is a row of docs/operate/rbac.md.
type listed struct {
	account, scope, resource string
	objects, verbs           []string // no objects: all
}

// rows returns the rows of docs/operate/rbac.md. The manifest is made without gateways of clusters.
func rows(t *testing.T) (all []listed) {
	text, err := os.ReadFile(root + "/docs/operate/rbac.md")
	require.NoError(t, err)
	for _, account := range sections {
		_, section, found := strings.Cut(string(text), "\n## "+account+"\n")
		require.True(t, found, account)
		section, _, _ = strings.Cut(section, "\n## ")
		for line := range strings.Lines(section) {
			cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), "`", ""), " | ")
			if len(cells) != 5 || !slices.Contains([]string{"cluster", "Namespace", "URL"}, strings.TrimPrefix(cells[0], "| ")) || strings.Contains(cells[4], "with multicluster.enableGateway") {
				continue
			}
			for _, resource := range strings.Split(cells[1], ", ") {
				row := listed{account: account, scope: strings.TrimPrefix(cells[0], "| "), resource: resource, verbs: strings.Split(cells[3], ", ")}
				if cells[2] != "all" {
					row.objects = strings.Split(cells[2], ", ")
				}
				all = append(all, row)
			}
		}
	}
	require.NotEmpty(t, all)
	return all
}

// allows reports whether the row grants an access.
func (l listed) allows(a access) bool {
	if l.resource != a.resource || !slices.Contains(l.verbs, a.verb) || l.scope == "URL" != a.path {
		return false
	}
	return a.path || (l.scope == "cluster" || a.namespace == systemNamespace) && (l.objects == nil || slices.Contains(l.objects, a.name))
}

// accesses are the requests to try: every verb of every resource of the server and of docs/operate/rbac.md, of any
// object and of objects with a right of their own, in the Namespace of Antrea. Where there is some right, also in
// another one.
func accesses(t *testing.T, client kubernetes.Interface, granted []listed) (all []access) {
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	require.NoError(t, err)
	names := map[string][]string{}
	for _, list := range lists {
		group, _, found := strings.Cut(list.GroupVersion, "/")
		for _, r := range list.APIResources {
			name := r.Name
			if found {
				name += "." + group
			}
			names[name] = []string{anything}
		}
	}
	require.Greater(t, len(names), 50)
	for _, row := range granted {
		if row.scope == "URL" {
			for _, verb := range []string{"get", "put", "post", "delete"} {
				all = append(all, access{resource: row.resource, verb: verb, path: true})
			}
			continue
		}
		names[row.resource] = append(names[row.resource], append([]string{anything}, row.objects...)...)
	}
	all = append(all, access{resource: "/" + anything, verb: "get", path: true})
	for resource, objects := range names {
		slices.Sort(objects)
		namespaces := []string{systemNamespace}
		if slices.ContainsFunc(granted, func(l listed) bool { return l.resource == resource }) {
			namespaces = append(namespaces, "default")
		}
		for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"} {
			for _, name := range slices.Compact(objects) {
				for _, namespace := range namespaces {
					all = append(all, access{namespace: namespace, resource: resource, verb: verb, name: name})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b access) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(a.verb, b.verb), cmp.Compare(a.name, b.name), cmp.Compare(a.namespace, b.namespace))
	})
	return slices.Compact(all)
}

// review asks the server whether an account may do something.
func review(t *testing.T, client kubernetes.Interface, account string, a access) bool {
	t.Helper()
	spec := authorizationv1.SubjectAccessReviewSpec{
		User:   "system:serviceaccount:" + systemNamespace + ":" + account,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + systemNamespace, "system:authenticated"},
	}
	if a.path {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: a.resource, Verb: a.verb}
	} else {
		resource, group, _ := strings.Cut(a.resource, ".")
		resource, subresource, _ := strings.Cut(resource, "/")
		spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
			Namespace: a.namespace, Verb: a.verb, Group: group, Resource: resource, Subresource: subresource, Name: a.name,
		}
	}
	answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Empty(t, answer.Status.EvaluationError)
	return answer.Status.Allowed
}

// TestDenied asks an API server with the roles of the manifest.
func TestDenied(t *testing.T) {
	config := api(t)
	t.Run("everything else", func(t *testing.T) { testEverythingElse(t, kubernetes.NewForConfigOrDie(config)) })
	t.Run("requests", func(t *testing.T) { testRequests(t, config) })
}

// testEverythingElse: each account may do what docs/operate/rbac.md lists and what all accounts may, and nothing else.
func testEverythingElse(t *testing.T, client kubernetes.Interface) {
	granted := rows(t)
	asked := accesses(t, client, granted)
	for _, account := range sections {
		denied := 0
		for _, a := range asked {
			want := slices.ContainsFunc(granted, func(l listed) bool { return l.account == account && l.allows(a) })
			allowed := review(t, client, account, a)
			if allowed && !want {
				want = review(t, client, powerless, a)
			}
			require.Equal(t, want, allowed, "%s: %+v", account, a)
			if !allowed {
				denied++
			}
		}
		t.Logf("%s: %d allowed, %d denied", account, len(asked)-denied, denied)
		require.Greater(t, denied, 1000)
	}
}

// testRequests makes requests in the name of the accounts, some that are allowed and what an intruder in a component would try first.
func testRequests(t *testing.T, config *rest.Config) {
	as := func(account string) kubernetes.Interface {
		c := rest.CopyConfig(config)
		c.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + systemNamespace + ":" + account, Groups: []string{"system:authenticated"}}
		return kubernetes.NewForConfigOrDie(c)
	}
	ctx := t.Context()
	agent, controller := as("antrea-agent"), as("antrea-controller")
	admin := kubernetes.NewForConfigOrDie(config)
	node, err := admin.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{})
	require.NoError(t, err)

	_, err = agent.CoreV1().Nodes().Get(ctx, "n", metav1.GetOptions{})
	require.NoError(t, err)
	_, err = agent.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	_, err = controller.CoreV1().Secrets(systemNamespace).Get(ctx, "antrea-controller-tls", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	for name, request := range map[string]func() error{
		"agent: a Node as a whole": func() error {
			_, err := agent.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
			return err
		},
		"agent: deletion of a Node": func() error { return agent.CoreV1().Nodes().Delete(ctx, "n", metav1.DeleteOptions{}) },
		"agent: a Pod": func() error {
			_, err := agent.CoreV1().Pods(systemNamespace).Create(ctx, pod, metav1.CreateOptions{})
			return err
		},
		"agent: the controller's key": func() error {
			_, err := agent.CoreV1().Secrets(systemNamespace).Get(ctx, "antrea-controller-tls", metav1.GetOptions{})
			return err
		},
		"agent: all Secrets": func() error {
			_, err := agent.CoreV1().Secrets("").List(ctx, metav1.ListOptions{})
			return err
		},
		"agent: deletion of policies": func() error {
			return agent.NetworkingV1().NetworkPolicies("default").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		},
		"agent: another ConfigMap": func() error {
			_, err := agent.CoreV1().ConfigMaps(systemNamespace).Get(ctx, "kubeadm-config", metav1.GetOptions{})
			return err
		},
		"controller: another Secret": func() error {
			_, err := controller.CoreV1().Secrets(systemNamespace).Get(ctx, anything, metav1.GetOptions{})
			return err
		},
		"controller: its Secret in another Namespace": func() error {
			_, err := controller.CoreV1().Secrets("default").Get(ctx, "antrea-controller-tls", metav1.GetOptions{})
			return err
		},
		"controller: all Secrets": func() error {
			_, err := controller.CoreV1().Secrets(systemNamespace).List(ctx, metav1.ListOptions{})
			return err
		},
		"controller: a Pod": func() error {
			_, err := controller.CoreV1().Pods(systemNamespace).Create(ctx, pod, metav1.CreateOptions{})
			return err
		},
		"controller: a binding": func() error {
			binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}}
			_, err := controller.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { err := request(); require.True(t, apierrors.IsForbidden(err), "%v", err) })
	}
}
