// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// target is the meaning of a list appliedTo.
type target struct {
	// exact has the groups that can be read, widened all others that may be meant.
	exact, widened []groupReference
}

var (
	errOneField      = errors.New("must have one kind of field")
	errServiceEgress = errors.New("service: egress rule cannot be applied to Services")
)

// appliedTo reads a list. Groups that do not exist select nothing.
func (t *translator) appliedTo(place string, entries []v1beta1.AppliedTo, egress bool) target {
	var out target
	for i := range entries {
		reference, err := t.appliedEntry(&entries[i], egress)
		if err != nil {
			t.cannot(fmt.Sprintf("%s[%d]", place, i), err)
		}
		switch {
		case err != nil && reference == nil:
			out.widened = merge(out.widened, []groupReference{anonymous(t.all())})
		case reference != nil && (len(reference.selectors) > 0 || reference.service != nil):
			out.exact = merge(out.exact, []groupReference{*reference})
		}
	}
	return out
}

// all selects all Pods that the policy may apply to.
func (t *translator) all() groupSelector {
	if t.source.namespace == "" {
		return allPods
	}
	return groupSelector{namespace: t.source.namespace, pods: labels.Everything()}
}

// appliedEntry reads an entry. With an error and a reference, the reference is all that is meant and can be applied.
func (t *translator) appliedEntry(entry *v1beta1.AppliedTo, egress bool) (*groupReference, error) {
	selectors := entry.PodSelector != nil || entry.NamespaceSelector != nil
	kinds := count(selectors, entry.ExternalEntitySelector != nil, entry.Group != "", entry.ServiceAccount != nil, entry.Service != nil, entry.NodeSelector != nil)
	if kinds > 1 {
		return nil, errOneField
	}
	clusterOnly := entry.NamespaceSelector != nil || entry.ServiceAccount != nil || entry.Service != nil || entry.NodeSelector != nil
	if t.source.namespace != "" && clusterOnly {
		return nil, errors.New("a NetworkPolicy may have podSelector or group only")
	}
	none := &groupReference{}
	switch {
	case entry.ExternalEntitySelector != nil:
		return none, errors.New("externalEntitySelector: is not supported, and selects no Pods")
	case entry.Group != "":
		return t.appliedGroup(entry.Group)
	case entry.ServiceAccount != nil:
		selector, err := serviceAccount(entry.ServiceAccount)
		return one(selector, err)
	case entry.Service != nil && egress:
		return none, errServiceEgress
	case entry.Service != nil:
		return service(entry.Service)
	case entry.NodeSelector != nil:
		pods, err := labelSelector("nodeSelector", entry.NodeSelector)
		return one(groupSelector{namespace: nodes, pods: pods}, err)
	}
	return one(selectorOf(t.source.namespace, entry.NamespaceSelector, entry.PodSelector))
}

func one(selector groupSelector, err error) (*groupReference, error) {
	if err != nil {
		return nil, err
	}
	reference := anonymous(selector)
	return &reference, nil
}

func count(set ...bool) int {
	n := 0
	for _, is := range set {
		if is {
			n++
		}
	}
	return n
}

// appliedGroup refers to a group. Of a Group, only the Pods in the policy's Namespace count. If it may have Pods that are not known, there is no
// reference.
func (t *translator) appliedGroup(name string) (*groupReference, error) {
	key := groupKey(t.source.namespace, name)
	t.out.uses.groups[key] = struct{}{}
	source := t.core.antrea.sources[key]
	if source == nil {
		return nil, nil
	}
	var err error
	if source.unknown != nil {
		err = fmt.Errorf("group %s: %w", name, source.unknown)
		if !errors.As(source.unknown, new(noPods)) {
			return nil, err
		}
	}
	t.formerGroup("spec.appliedTo", name, source)
	if t.source.namespace == "" {
		reference := source.reference()
		return &reference, err
	}
	t.out.uses.foreign[key] = struct{}{}
	reference := source.ownReference()
	return &reference, err
}

func serviceAccount(account *v1beta1.NamespacedName) (groupSelector, error) {
	if account.Name == "" || account.Namespace == "" {
		return groupSelector{}, errors.New("serviceAccount: must have name and namespace")
	}
	// The name of an account may be longer than a label of the Kubernetes API.
	return groupSelector{namespace: account.Namespace, pods: labels.SelectorFromSet(labels.Set{serviceAccountLabel: account.Name})}, nil
}

// service refers to the NodePorts of a Service.
func service(name *v1beta1.NamespacedName) (*groupReference, error) {
	if name.Name == "" || name.Namespace == "" {
		return nil, errors.New("service: must have name and namespace")
	}
	text := name.Namespace + "/" + name.Name
	id := uuid.NewSHA1(groupNamespace, []byte(text)).String()
	return &groupReference{key: id, name: id, service: &controlplane.ServiceReference{Name: name.Name, Namespace: name.Namespace}}, nil
}
