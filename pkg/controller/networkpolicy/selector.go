// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// groupNamespace is the UUID namespace of group names.
var groupNamespace = uuid.NewSHA1(uuid.NameSpaceDNS, []byte("group.controlplane.antrea.io"))

// groupSelector selects Pods of one Namespace, or of those that namespaces selects, or of the Namespace with that name if
// namespaces selects it. Without both it selects Nodes.
type groupSelector struct {
	namespace  string
	namespaces labels.Selector
	pods       labels.Selector
}

// nodes is the name of the Namespace in which Nodes are treated as Pods. No Namespace has it, and no selector matches it.
const nodes = ""

func (s *groupSelector) ofNodes() bool { return s.namespaces == nil && s.namespace == nodes }

// allPods selects every Pod of the cluster.
var allPods = groupSelector{namespaces: labels.Everything(), pods: labels.Everything()}

// newGroupSelector makes the selector of a peer of a policy in namespace, or of a policy's own Pods. A nil pods selects all
// Pods, a nil namespaces the policy's own Namespace.
func newGroupSelector(namespace string, namespaces, pods *metav1.LabelSelector) (groupSelector, error) {
	s := groupSelector{pods: labels.Everything()}
	var err error
	if pods != nil {
		if s.pods, err = metav1.LabelSelectorAsSelector(pods); err != nil {
			return groupSelector{}, fmt.Errorf("podSelector: %w", err)
		}
	}
	if namespaces == nil {
		s.namespace = namespace
		return s, nil
	}
	if s.namespaces, err = metav1.LabelSelectorAsSelector(namespaces); err != nil {
		return groupSelector{}, fmt.Errorf("namespaceSelector: %w", err)
	}
	return s, nil
}

// normalized returns the same text for selectors that differ only in the order of their parts.
func (s *groupSelector) normalized() string {
	if s.ofNodes() {
		return "nodeSelector=" + s.pods.String()
	}
	var parts []string
	if s.namespaces == nil || s.namespace != "" {
		parts = append(parts, "namespace="+s.namespace)
	}
	if s.namespaces != nil {
		parts = append(parts, "namespaceSelector="+s.namespaces.String())
	}
	if !s.pods.Empty() {
		parts = append(parts, "podSelector="+s.pods.String())
	}
	return strings.Join(parts, ";")
}

// name returns the name of the groups with this selector: a version 5 UUID of its normalized text.
func (s *groupSelector) name() string {
	return uuid.NewSHA1(groupNamespace, []byte(s.normalized())).String()
}
