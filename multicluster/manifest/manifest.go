// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest contains the objects that install the controllers of Multi-cluster. build/yamls has them for kubectl, antctl applies them.
package manifest

import (
	"bytes"
	"embed"
	"fmt"
	"text/template"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/antrea-oncache/antrea/multicluster/webhook"
)

// Kinds of manifests. A cluster that has several leaders has LeaderGlobal once, and LeaderNamespaced for each of them.
const (
	Leader           = "leadercluster"
	LeaderNamespaced = "leadercluster-namespaced"
	LeaderGlobal     = "leadercluster-global"
	Member           = "membercluster"
)

// Namespaces of the manifests in build/yamls.
const (
	LeaderNamespace = "antrea-multicluster"
	MemberNamespace = "kube-system"
)

const image = "ghcr.io/antrea-oncache/antrea-mc-controller:latest"

//go:embed templates/*.yaml
var files embed.FS

var templates = template.Must(template.ParseFS(files, "templates/*.yaml"))

// asked is a webhook: resources of one version.
type asked struct {
	Name, Path, Version, Resources, Operations string
}

var (
	clusterSets = asked{"clusterset", webhook.ClusterSetPath, "v1alpha2", "clustersets", "CREATE, UPDATE, DELETE"}

	webhooks = map[string][]asked{
		"leader": {
			clusterSets,
			{"memberclusterannounce", webhook.AnnouncePath, "v1alpha1", "memberclusterannounces", "CREATE, UPDATE, DELETE"},
			{"resourceexport", webhook.ExportPath, "v1alpha1", "resourceexports, resourceexports/status", "CREATE, UPDATE, DELETE"},
		},
		"member": {clusterSets, {"gateway", webhook.GatewayPath, "v1alpha1", "gateways", "CREATE, UPDATE"}},
	}

	// parts are the templates of each manifest, in the order in which their objects are applied.
	parts = map[string][]string{
		Leader:           {"crd-clusterset.yaml", "crd-leader.yaml", "rights-leader.yaml", "controller.yaml"},
		LeaderGlobal:     {"crd-clusterset.yaml", "crd-leader.yaml"},
		LeaderNamespaced: {"rights-leader.yaml", "controller.yaml"},
		Member:           {"crd-clusterset.yaml", "crd-member.yaml", "rights-member.yaml", "controller.yaml"},
	}
)

// Render returns the manifest of a kind for a Namespace, which it does not contain: YAML documents in the order in which they must be applied.
func Render(kind, namespace string) ([]byte, error) {
	if parts[kind] == nil {
		return nil, fmt.Errorf("there is no manifest %q; there are %s, %s, %s and %s", kind, Leader, LeaderNamespaced, LeaderGlobal, Member)
	}
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return nil, fmt.Errorf("the Namespace %q: %s", namespace, problems[0])
	}
	role := "leader"
	if kind == Member {
		role = "member"
	}
	values := map[string]any{"Namespace": namespace, "Role": role, "Image": image, "Webhooks": webhooks[role]}
	var out bytes.Buffer
	for i, name := range parts[kind] {
		if i > 0 {
			out.WriteString("---\n")
		}
		if err := templates.ExecuteTemplate(&out, name, values); err != nil {
			return nil, fmt.Errorf("manifest %s: %w", kind, err)
		}
	}
	return out.Bytes(), nil
}
