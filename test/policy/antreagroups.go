// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"

	crd "github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// sources returns the specs of a group, or of its children: a child has no children. A group that does not exist has
// none. Namespace is empty for a ClusterGroup.
func (w *World) sources(namespace, name string) (specs []*crd.GroupSpec) {
	spec := w.group(namespace, name)
	if spec == nil {
		return nil
	}
	if len(spec.ChildGroups) == 0 {
		return []*crd.GroupSpec{spec}
	}
	for _, child := range spec.ChildGroups {
		if spec := w.group(namespace, string(child)); spec != nil {
			specs = append(specs, spec)
		}
	}
	return specs
}

func (w *World) group(namespace, name string) *crd.GroupSpec {
	for _, g := range w.ClusterGroups {
		if namespace == "" && g.Name == name {
			return &g.Spec
		}
	}
	for _, g := range w.Groups {
		if g.Namespace == namespace && g.Name == name {
			return &g.Spec
		}
	}
	return nil
}

// groupHas reports whether a group selects a Pod.
func (w *World) groupHas(namespace, name string, pod *Pod) bool {
	return slices.ContainsFunc(w.sources(namespace, name), func(spec *crd.GroupSpec) bool {
		switch {
		case spec.IPBlocks != nil, spec.NodeSelector != nil:
			return false
		case spec.ServiceReference != nil:
			return w.serviceHas(spec.ServiceReference, pod)
		}
		return w.selected(namespace, spec.NamespaceSelector, spec.PodSelector, pod)
	})
}

// groupHasNode reports whether a group selects the Node whose network a Pod is in.
func (w *World) groupHasNode(namespace, name string, pod *Pod) bool {
	return slices.ContainsFunc(w.sources(namespace, name), func(spec *crd.GroupSpec) bool {
		return spec.NodeSelector != nil && w.isNode(spec.NodeSelector, pod)
	})
}

// groupContains reports whether a group's blocks contain the address that a Pod has for this probe.
func (w *World) groupContains(namespace, name string, pod *Pod, p *Probe) bool {
	return slices.ContainsFunc(w.sources(namespace, name), func(spec *crd.GroupSpec) bool {
		return slices.ContainsFunc(spec.IPBlocks, func(block crd.IPBlock) bool { return inAntreaBlock(&block, pod, p) })
	})
}

// serviceHas reports whether the selector of a Service selects a Pod. A Service without selector selects none.
func (w *World) serviceHas(service *crd.NamespacedName, pod *Pod) bool {
	for _, s := range w.Services {
		if s.Namespace != service.Namespace || s.Name != service.Name || len(s.Spec.Selector) == 0 {
			continue
		}
		if pod.HostNetwork || pod.Namespace != s.Namespace {
			return false
		}
		for key, value := range s.Spec.Selector {
			if have, ok := pod.Labels[key]; !ok || have != value {
				return false
			}
		}
		return true
	}
	return false
}
