// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// groupSource is a ClusterGroup or Group. Its key is the name of a ClusterGroup, or NAMESPACE/NAME of a Group.
type groupSource struct {
	key             string
	namespace, name string
	uid             types.UID
	spec            v1beta1.GroupSpec
	doubts
	group *group
	groupContent
	// foreign is the number of Pods of other Namespaces than the Group's.
	foreign int
}

// groupContent lists the parts of a group.
type groupContent struct {
	selectors []groupSelector
	blocks    []controlplane.IPBlock
	// unknown is not nil if the group may have members that are not known. nested is set if that is so because its children have children.
	unknown error
	nested  bool
	// former, if not nil, says why this is a former version of the group, or of one of its children.
	former error
	// complete is set if all children exist and are complete.
	complete bool
}

// noPods is an error about a part of a group that contains no Pods, such as addresses.
type noPods struct{ error }

func (e noPods) Unwrap() error { return e.error }

func groupKey(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// sourceKey and ownKey are the keys in core.groups of the group that agents see under a name: with all members, and with
// the Pods of its own Namespace only.
func sourceKey(name string) string { return "source:" + name }
func ownKey(name string) string    { return "own:" + name }

// groupName is the name under which agents see a group. A ClusterGroup must not have the name of a selector's group.
func groupName(key string) string {
	if _, err := uuid.Parse(key); err == nil {
		return uuid.NewSHA1(groupNamespace, []byte("ClusterGroup/"+key)).String()
	}
	return key
}

// SetClusterGroup adds or changes a ClusterGroup. If doubt is not nil, any part of the spec may be missing, and the former version stays in force.
func (c *core) SetClusterGroup(source *v1beta1.ClusterGroup, doubt error) []change {
	return c.setSource(&source.ObjectMeta, &source.Spec, doubt)
}

// SetGroup adds or changes a Group.
func (c *core) SetGroup(source *v1beta1.Group, doubt error) []change {
	return c.setSource(&source.ObjectMeta, &source.Spec, doubt)
}

func (c *core) setSource(meta *metav1.ObjectMeta, spec *v1beta1.GroupSpec, doubt error) []change {
	t := newTransaction()
	key := groupKey(meta.Namespace, meta.Name)
	source := c.antrea.sources[key]
	next := doubts{content: doubt}
	if doubt != nil && source != nil && source.uid == meta.UID {
		spec, next = &source.spec, source.keptFor(next)
	}
	if source == nil {
		source = &groupSource{key: key, namespace: meta.Namespace, name: meta.Name}
		c.antrea.sources[key] = source
		source.group = c.group(&groupReference{key: sourceKey(groupName(key)), name: groupName(key)})
		source.group.source = source
	} else if source.uid == meta.UID && source.doubts.same(next) && reflect.DeepEqual(source.spec, *spec) {
		return nil // as when only the status changes
	} else {
		c.indexSource(source, false)
	}
	source.uid, source.spec, source.doubts = meta.UID, *spec, next
	c.indexSource(source, true)
	c.sourcesChanged(t, c.withParents(key))
	return c.finish(t)
}

// DeleteGroup removes a ClusterGroup, which has no namespace, or a Group.
func (c *core) DeleteGroup(namespace, name string) []change {
	key := groupKey(namespace, name)
	source := c.antrea.sources[key]
	if source == nil {
		return nil
	}
	t := newTransaction()
	c.indexSource(source, false)
	delete(c.antrea.sources, key)
	c.sourcesChanged(t, c.withParents(key))
	source.group.source = nil
	c.dropGroupIfUnused(source.group)
	return c.finish(t)
}

// SetService adds or changes the selector of a Service; DeleteService removes it.
func (c *core) SetService(source *corev1.Service) []change {
	selector := labels.Set(source.Spec.Selector)
	if source.Spec.Type == corev1.ServiceTypeExternalName {
		selector = nil
	}
	return c.serviceChanged(types.NamespacedName{Namespace: source.Namespace, Name: source.Name}, selector)
}

func (c *core) DeleteService(name types.NamespacedName) []change {
	return c.serviceChanged(name, nil)
}

func (c *core) serviceChanged(name types.NamespacedName, selector labels.Set) []change {
	if labels.Equals(c.antrea.selectors[name], selector) {
		return nil
	}
	if c.antrea.selectors[name] = selector; len(selector) == 0 {
		delete(c.antrea.selectors, name)
	}
	t := newTransaction()
	affected := map[string]struct{}{}
	for key := range c.antrea.serviceUsers[name] {
		maps.Copy(affected, c.withParents(key))
	}
	c.sourcesChanged(t, affected)
	return c.finish(t)
}

func (c *core) indexSource(source *groupSource, add bool) {
	change, changeUsers := c.antrea.parents.remove, c.antrea.serviceUsers.remove
	if add {
		change, changeUsers = c.antrea.parents.add, c.antrea.serviceUsers.add
	}
	for _, child := range source.spec.ChildGroups {
		change(groupKey(source.namespace, string(child)), source.key)
	}
	if service := source.spec.ServiceReference; service != nil {
		changeUsers(types.NamespacedName(*serviceName(service)), source.key)
	}
}

func serviceName(reference *v1beta1.NamespacedName) *types.NamespacedName {
	return &types.NamespacedName{Namespace: reference.Namespace, Name: reference.Name}
}

// withParents returns the keys of a group and of the groups with it as a child.
func (c *core) withParents(key string) map[string]struct{} {
	keys := map[string]struct{}{key: {}}
	maps.Copy(keys, c.antrea.parents[key])
	return keys
}

// sourcesChanged brings groups, and the policies that name them, in line with their sources.
func (c *core) sourcesChanged(t *transaction, keys map[string]struct{}) {
	policies := map[*policy]struct{}{}
	for key := range keys {
		c.antrea.changedSources[key] = struct{}{}
		if source := c.antrea.sources[key]; source != nil {
			content := c.resolve(source)
			c.setSelectors(t, source.group, content.selectors)
			if sameContent(&source.groupContent, &content) {
				continue
			}
			source.groupContent = content
		}
		maps.Copy(policies, c.antrea.ofGroup[key])
	}
	c.retranslate(t, policies)
}

func sameContent(a, b *groupContent) bool {
	texts := func(selectors []groupSelector) (texts []string) {
		for i := range selectors {
			texts = append(texts, selectors[i].normalized())
		}
		return texts
	}
	return a.complete == b.complete && a.nested == b.nested && fmt.Sprint(a.unknown, a.former) == fmt.Sprint(b.unknown, b.former) &&
		reflect.DeepEqual(a.blocks, b.blocks) && slices.Equal(texts(a.selectors), texts(b.selectors))
}

// resolve returns the content of a group together with its children.
func (c *core) resolve(source *groupSource) groupContent {
	if len(source.spec.ChildGroups) == 0 {
		content := c.content(source)
		content.former = source.later
		content.complete = content.unknown == nil && content.former == nil
		return content
	}
	content := groupContent{complete: true, former: source.later}
	if len(sourceFields(&source.spec)) > 1 || source.doubts.content != nil {
		content.unknown = cmpError(source.doubts.content, errors.New("childGroups: must be the only field"))
	}
	named := map[string]struct{}{}
	for _, name := range source.spec.ChildGroups {
		child := c.antrea.sources[groupKey(source.namespace, string(name))]
		if _, twice := named[string(name)]; twice {
			continue
		}
		named[string(name)] = struct{}{}
		if child == nil {
			content.complete = false
			continue
		}
		if len(child.spec.ChildGroups) > 0 {
			return groupContent{nested: true, unknown: errors.New("its children have children"), former: content.former}
		}
		part := c.content(child)
		content.selectors = append(content.selectors, part.selectors...)
		content.blocks = append(content.blocks, part.blocks...)
		if child.later != nil {
			content.former = cmpError(content.former, fmt.Errorf("childGroups: %s: %w", name, child.later))
		}
		if part.unknown != nil && (content.unknown == nil || errors.As(content.unknown, new(noPods))) {
			content.unknown = fmt.Errorf("childGroups: %s: %w", name, part.unknown)
		}
	}
	content.complete = content.complete && content.unknown == nil && content.former == nil
	return content
}

func cmpError(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// sourceFields returns the names of the sources of addresses that a group has.
func sourceFields(spec *v1beta1.GroupSpec) []string {
	var fields []string
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"selectors", spec.PodSelector != nil || spec.NamespaceSelector != nil},
		{"externalEntitySelector", spec.ExternalEntitySelector != nil}, {"nodeSelector", spec.NodeSelector != nil},
		{"ipBlocks", len(spec.IPBlocks) > 0}, {"serviceReference", spec.ServiceReference != nil}, {"childGroups", len(spec.ChildGroups) > 0},
	} {
		if field.set {
			fields = append(fields, field.name)
		}
	}
	return fields
}

// content returns what a group has without children.
func (c *core) content(source *groupSource) groupContent {
	spec := &source.spec
	fields := sourceFields(spec)
	switch {
	case source.doubts.content != nil:
		return groupContent{unknown: source.doubts.content}
	case spec.ExternalEntitySelector != nil:
		return groupContent{unknown: noPods{errors.New("externalEntitySelector: is not supported")}}
	case len(fields) > 1:
		return groupContent{unknown: fmt.Errorf("%v: must be only one of them", fields)}
	case len(spec.IPBlocks) > 0:
		return blocksContent(spec.IPBlocks)
	case spec.ServiceReference != nil:
		name := *serviceName(spec.ServiceReference)
		selector := c.antrea.selectors[name]
		if len(selector) == 0 {
			return groupContent{}
		}
		return groupContent{selectors: []groupSelector{{namespace: name.Namespace, pods: labels.SelectorFromSet(selector)}}}
	case spec.NodeSelector != nil && source.namespace != "":
		return groupContent{unknown: noPods{errors.New("nodeSelector: is not a field of a Group")}}
	case spec.NodeSelector != nil:
		pods, err := labelSelector("nodeSelector", spec.NodeSelector)
		if err != nil {
			return groupContent{unknown: noPods{err}}
		}
		return groupContent{selectors: []groupSelector{{namespace: nodes, pods: pods}}}
	}
	selector, err := selectorOf(source.namespace, spec.NamespaceSelector, spec.PodSelector)
	if err != nil {
		return groupContent{unknown: err}
	}
	return groupContent{selectors: []groupSelector{selector}}
}

func blocksContent(blocks []v1beta1.IPBlock) groupContent {
	var content groupContent
	for i := range blocks {
		block, err := antreaIPBlock(&blocks[i])
		if err != nil {
			content.unknown = noPods{fmt.Errorf("ipBlocks[%d].%w", i, err)}
			continue
		}
		content.blocks = append(content.blocks, block)
	}
	return content
}

// selectorOf makes the selector of an object of Antrea: without namespaceSelector in the object's own Namespace, and in all
// if it has none.
func selectorOf(namespace string, namespaces, pods *metav1.LabelSelector) (groupSelector, error) {
	if namespaces == nil && namespace == "" {
		namespaces = &metav1.LabelSelector{}
	}
	return newGroupSelector(namespace, namespaces, pods)
}

// reference returns how policies refer to the group.
func (s *groupSource) reference() groupReference {
	return groupReference{key: s.group.key, name: s.group.name, selectors: s.selectors}
}

// ownReference refers to the Pods of the Group that are in its own Namespace. Agents see them under the Group's name.
func (s *groupSource) ownReference() groupReference {
	reference := groupReference{key: ownKey(s.group.name), name: s.group.name, live: true}
	for _, selector := range s.selectors {
		if own, ok := selector.in(s.namespace); ok {
			reference.selectors = append(reference.selectors, own)
		}
	}
	return reference
}

// in limits a selector to a Namespace; ok is false if it is for another.
func (s groupSelector) in(namespace string) (limited groupSelector, ok bool) {
	if s.namespaces == nil {
		return s, s.namespace == namespace
	}
	ok = s.namespace == "" || s.namespace == namespace
	s.namespace = namespace
	return s, ok
}

// count notes that a Pod of the Group has changed from before to after, nil meaning none, and reports whether the Group
// has begun or ceased to have Pods of other Namespaces.
func (s *groupSource) count(before, after *pod) bool {
	had := s.foreign > 0
	s.foreign += s.foreignness(after) - s.foreignness(before)
	return had != (s.foreign > 0)
}

// foreignness is 1 for a Pod that is of another Namespace, and 0 for others.
func (s *groupSource) foreignness(p *pod) int {
	if s.namespace == "" || p == nil || p.key.Namespace == s.namespace || p.address == nil && p.applied == nil {
		return 0
	}
	return 1
}
