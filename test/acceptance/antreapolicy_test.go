// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/antrea-oncache/antrea/test/acceptance/policycases"
)

func TestAntreaPolicy(t *testing.T) {
	t.Run("TestGroupValidationWebhook", func(t *testing.T) { suite.testRefusals(t, policycases.Validation) })
	t.Run("TestGroupMutationWebhook", suite.testMutation)
	var bed *policyBed
	meshed := func(group *testing.T, name string, f func(*policyBed, *testing.T)) {
		suite.test(group, "Case="+name, func(test *testing.T) {
			if bed == nil {
				bed = suite.policyBed(t, test, xyzPods(), nil)
			}
			f(bed, test)
		})
	}
	t.Run("TestGroupDefaultDENY", func(t *testing.T) {
		for _, c := range policycases.DefaultDeny {
			meshed(t, c.Name, func(b *policyBed, t *testing.T) { b.run(t, c) })
		}
	})
	t.Run("TestGroupNoK8sNP", func(t *testing.T) {
		for _, c := range policycases.NoPolicy() {
			meshed(t, c.Name, func(b *policyBed, t *testing.T) { b.run(t, c) })
		}
		for _, name := range slices.Sorted(maps.Keys(noPolicy)) {
			meshed(t, name, noPolicy[name])
		}
	})
	t.Run("TestGroupAuditLogging", func(t *testing.T) {
		for _, name := range slices.Sorted(maps.Keys(auditLogging)) {
			meshed(t, name, auditLogging[name])
		}
	})
}

func TestAntreaPolicyExtendedNamespaces(t *testing.T) {
	t.Run("TestGroupNoK8sNP", func(t *testing.T) {
		var bed *policyBed
		for _, c := range policycases.Extended {
			suite.test(t, "Case="+c.Name, func(test *testing.T) {
				if bed == nil {
					bed = suite.policyBed(t, test, extendedPods(), policycases.ExtendedNamespaces)
				}
				bed.run(test, c)
			})
		}
	})
}

// extendedPods are three Pods in each of the five Namespaces.
func extendedPods() (pods []policycases.Pod) {
	for _, namespace := range slices.Sorted(maps.Keys(policycases.ExtendedNamespaces)) {
		for i, name := range []string{"a", "b", "c"} {
			pods = append(pods, policycases.Pod{Namespace: namespace, Name: name, Node: i % 2})
		}
	}
	return pods
}

func TestGroup(t *testing.T) { suite.testRefusals(t, policycases.GroupRefusals) }

func TestClusterGroup(t *testing.T) {
	suite.testRefusals(t, policycases.ClusterGroupRefusals)
	runSingles(t)
}

// emptyBed is a bed with the Namespace x, without Pods.
func (c *cluster) emptyBed(t *testing.T) *policyBed {
	t.Helper()
	b := &policyBed{c: c, namespaces: map[string]string{}}
	var err error
	b.dynamic, err = dynamic.NewForConfig(c.config)
	require.NoError(t, err)
	b.namespace(t, t, "x", nil)
	return b
}

// testRefusals: the API server refuses objects, with upstream's messages.
func (c *cluster) testRefusals(t *testing.T, refusals []policycases.Refusal) {
	b := c.emptyBed(t)
	for _, refusal := range refusals {
		c.test(t, "Case="+refusal.Name, func(t *testing.T) {
			for r := &refusal; r != nil; r = r.Also {
				b.refused(t, *r)
			}
		})
	}
}

func (b *policyBed) refused(t *testing.T, r policycases.Refusal) {
	t.Helper()
	for _, o := range r.Before {
		b.mustApply(t, o)
	}
	eventually(t, networkPolicyDelay, func() error { // the controller may not have seen the former objects yet
		var err error
		if r.Deleted != nil {
			err = b.resource(*r.Deleted).Delete(t.Context(), r.Deleted.Name, metav1.DeleteOptions{})
		} else if _, err = b.apply(t, *r.Refused); err == nil && len(r.Before) > 0 && r.Refused.Name != r.Before[0].Name {
			b.delete(t.Context(), t, *r.Refused)
		}
		if err == nil || !strings.Contains(err.Error(), "denied the request") || !strings.Contains(err.Error(), r.Message) {
			return fmt.Errorf("the answer is %w, want a refusal with %q", err, r.Message)
		}
		return nil
	})
}

// testMutation: a policy without a tier gets one.
func (c *cluster) testMutation(t *testing.T) {
	b := c.emptyBed(t)
	for _, name := range slices.Sorted(maps.Keys(policycases.Mutation)) {
		c.test(t, "Case="+name, func(t *testing.T) {
			created, err := b.apply(t, policycases.Mutation[name])
			require.NoError(t, err)
			tier, _, _ := unstructured.NestedString(created.Object, "spec", "tier")
			require.Equal(t, "application", tier)
		})
	}
}
