// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
)

// policyDefinitions are the files of the CRDs without which antrea-controller does not serve, and the files of Egress's CRDs.
var policyDefinitions = []string{"clusternetworkpolicy", "networkpolicy", "tier", "clustergroup", "group", "egress", "externalippool"}

// createDefinitions creates the CRDs, and waits until their objects are served.
func (c *Cluster) createDefinitions(ctx context.Context) error {
	repository, err := controlplane.Repository()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("connecting to the Kubernetes API: %w", err)
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, name := range policyDefinitions {
		text, err := os.ReadFile(filepath.Join(repository, "build/charts/antrea/crds", name+".yaml"))
		if err != nil {
			return fmt.Errorf("reading a CRD: %w", err)
		}
		definition := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &definition.Object); err != nil {
			return fmt.Errorf("reading the CRD %s: %w", name, err)
		}
		if _, err := definitions.Create(ctx, definition, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the CRD %s: %w", name, err)
		}
		resource := schema.GroupVersionResource{Group: "crd.antrea.io", Version: "v1beta1"}
		resource.Resource, _, _ = unstructured.NestedString(definition.Object, "spec", "names", "plural")
		err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
			_, err := client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
			return err == nil, nil
		})
		if err != nil {
			return fmt.Errorf("waiting for the API to serve %s: %w", resource.Resource, err)
		}
	}
	return nil
}
