// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/antrea-oncache/antrea/pkg/apis"
)

// configMap is the name of the ConfigMap of Antrea's components; releases before 1.15 append a hash.
const configMap = "antrea-config"

// annotations are Antrea's annotations of Services and Namespaces that have no effect in this version, with what they ask for.
var annotations = []struct{ name, about string }{
	{"service.antrea.io/load-balancer-mode", "direct server return"},
	{"ipam.antrea.io/ippools", "AntreaIPAM"},
}

// Migration reports what a cluster with upstream Antrea uses and this version does not have: settings and gates in the ConfigMap, objects of
// Antrea's kinds, annotations, and Windows Nodes. It fails for settings with which agents or controller do not start. An error means that the
// Kubernetes API does not answer.
func Migration(ctx context.Context, kube kubernetes.Interface, client dynamic.Interface, r *Report) error {
	if err := configuration(ctx, kube, r); err != nil {
		return err
	}
	objects(ctx, client, r)
	policies(ctx, client, r)
	if err := annotated(ctx, kube, r); err != nil {
		return err
	}
	nodes, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading Nodes: %w", err)
	}
	for i := range nodes.Items {
		if system := nodes.Items[i].Status.NodeInfo.OperatingSystem; system != "linux" {
			r.Warn("node "+nodes.Items[i].Name, "operating system %q: the agent runs on linux only", system)
		}
	}
	return nil
}

// configuration checks the settings of the running Antrea as agents and controller of this version would.
func configuration(ctx context.Context, kube kubernetes.Interface, r *Report) error {
	list, err := kube.CoreV1().ConfigMaps(apis.DefaultNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading the ConfigMaps of Namespace %s: %w", apis.DefaultNamespace, err)
	}
	var found []corev1.ConfigMap
	for _, c := range list.Items {
		if c.Name == configMap || strings.HasPrefix(c.Name, configMap+"-") {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		r.Warn("configuration", "there is no ConfigMap %s/%s: settings were not checked", apis.DefaultNamespace, configMap)
	}
	// Of ConfigMaps with a hash, the newest is in use.
	slices.SortFunc(found, func(a, b corev1.ConfigMap) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for _, c := range found[:min(1, len(found))] {
		checkFile(r, "antrea-agent.conf", c.Data, agentSettings)
		checkFile(r, "antrea-controller.conf", c.Data, controllerSettings)
	}
	return nil
}

// checkFile reports the settings of one configuration file.
func checkFile(r *Report, file string, data map[string]string, settings func(text string) (withoutEffect []string, err error)) {
	text, found := data[file]
	if !found {
		r.Warn(file, "the ConfigMap does not contain it")
		return
	}
	lines, err := settings(text)
	for _, refused := range flatten(err) {
		r.Fail(file, "refused: %v", refused)
	}
	for _, line := range lines {
		r.Warn(file, "%s", line)
	}
	if err == nil && len(lines) == 0 {
		r.OK(file, "all settings have the same effect")
	}
}

// flatten returns the errors that errors.Join has joined.
func flatten(err error) []error {
	if joined, isJoined := err.(interface{ Unwrap() []error }); isJoined {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// annotated reports Services and Namespaces with annotations that have no effect.
func annotated(ctx context.Context, kube kubernetes.Interface, r *Report) error {
	services, err := kube.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading Services: %w", err)
	}
	namespaces, err := kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil && !apierrors.IsForbidden(err) {
		return fmt.Errorf("reading Namespaces: %w", err)
	}
	for _, a := range annotations {
		var users []string
		for i := range services.Items {
			if s := &services.Items[i]; s.Annotations[a.name] != "" {
				users = append(users, fmt.Sprintf("Service %s/%s", s.Namespace, s.Name))
			}
		}
		if namespaces != nil {
			for i := range namespaces.Items {
				if n := &namespaces.Items[i]; n.Annotations[a.name] != "" {
					users = append(users, "Namespace "+n.Name)
				}
			}
		}
		if len(users) > 0 {
			r.Warn("annotations", "%s (%s) has no effect in this version: %s", a.name, a.about, abbreviated(users))
		}
	}
	return nil
}

// abbreviated lists at most three names.
func abbreviated(names []string) string {
	if more := len(names) - 3; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), more)
	}
	return strings.Join(names, ", ")
}
