// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of objects, by its short name.
type Kind string

const (
	ACNP          Kind = "acnp"
	ANNP          Kind = "annp"
	Tier          Kind = "tier"
	ClusterGroup  Kind = "cg"
	Group         Kind = "grp"
	NetworkPolicy Kind = "netpol" // Kubernetes' kind
	Service       Kind = "svc"
)

// HasStatus reports whether objects of a kind say when they are in force.
func (k Kind) HasStatus() bool { return k == ACNP || k == ANNP }

// Object is an object of the Kubernetes API.
type Object struct {
	Kind Kind
	// Namespace is x, y, z or empty.
	Namespace, Name string
	// Spec is YAML with placeholders (Expand).
	Spec string
}

func apply(o Object) Change  { return Change{Apply: &o} }
func remove(o Object) Change { return Change{Delete: &o} }
func pod(p Pod) Change       { return Change{Pod: &p} }

func label(namespace, pod, key, value string) Change {
	return Change{Label: &Label{Namespace: namespace, Pod: pod, Key: key, Value: value}}
}

// do is a list of objects that are applied.
func do(objects ...Object) (changes []Change) {
	for _, o := range objects {
		changes = append(changes, apply(o))
	}
	return changes
}

// spec is an object of the fields that are not empty.
func spec(fields ...string) string {
	fields = slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return f == "" })
	return "{" + strings.Join(fields, ", ") + "}"
}

func acnp(name string, priority float64, fields ...string) Object {
	return Object{Kind: ACNP, Name: name, Spec: spec(append([]string{fmt.Sprintf("priority: %v", priority)}, fields...)...)}
}

func annp(namespace, name string, priority float64, fields ...string) Object {
	o := acnp(name, priority, fields...)
	o.Kind, o.Namespace = ANNP, namespace
	return o
}

func netpol(namespace, name string, fields ...string) Object {
	return Object{Kind: NetworkPolicy, Namespace: namespace, Name: name, Spec: spec(fields...)}
}

func clusterGroup(name string, fields ...string) Object {
	return Object{Kind: ClusterGroup, Name: name, Spec: spec(fields...)}
}

func group(namespace, name string, fields ...string) Object {
	return Object{Kind: Group, Namespace: namespace, Name: name, Spec: spec(fields...)}
}

// service is a Service for the Pods that have the value as their label app.
func service(namespace, name string, port, target int, app string) Object {
	return Object{Kind: Service, Namespace: namespace, Name: name, Spec: fmt.Sprintf("{selector: {app: %s}, ports: [{port: %d, targetPort: %d}]}", app, port, target)}
}

func tier(name string) string { return "tier: " + name }

// appliedTo is a list of peers, in a policy or in a rule.
func appliedTo(peers ...string) string { return "appliedTo: [" + list(peers) + "]" }

func ingress(rules ...string) string { return "ingress: [" + strings.Join(rules, ", ") + "]" }
func egress(rules ...string) string  { return "egress: [" + strings.Join(rules, ", ") + "]" }

// rule is a rule with further fields, and its peers in the field "from" or "to".
func rule(action, direction string, peers []string, fields ...string) string {
	if len(peers) > 0 {
		fields = append(fields, direction+": ["+list(peers)+"]")
	}
	return spec(append([]string{"action: " + action}, fields...)...)
}

// from is an ingress rule, to an egress rule, with ports.
func from(action, ports string, peers ...string) string { return rule(action, "from", peers, ports) }
func to(action, ports string, peers ...string) string   { return rule(action, "to", peers, ports) }

func list(peers []string) string {
	var items []string
	for _, p := range peers {
		items = append(items, "{"+p+"}")
	}
	return strings.Join(items, ", ")
}

// pods selects Pods of the policy's Namespace, or of all Namespaces, by the label pod.
func pods(name string) string { return "podSelector: {matchLabels: {pod: " + name + "}}" }

// namespace selects the Namespaces x, y or z.
func namespace(name string) string { return "namespaceSelector: {matchLabels: {ns: ${" + name + "}}}" }

// in selects a Pod of a Namespace.
func in(ns, name string) string { return pods(name) + ", " + namespace(ns) }

func inGroup(name string) string { return "group: " + name }

// node selects a Node by its index.
func node(index int) string {
	return fmt.Sprintf("nodeSelector: {matchLabels: {kubernetes.io/hostname: \"${node %d}\"}}", index)
}

func address(pod string) string { return "\"${" + pod + "}/32\"" }

// blocks are the addresses of Pods, in a group.
func blocks(pods ...string) string {
	var items []string
	for _, p := range pods {
		items = append(items, "{cidr: "+address(p)+"}")
	}
	return "ipBlocks: [" + strings.Join(items, ", ") + "]"
}

func children(names ...string) string { return "childGroups: [" + strings.Join(names, ", ") + "]" }

func serviceReference(namespace, name string) string {
	return fmt.Sprintf("serviceReference: {namespace: \"${%s}\", name: %s}", namespace, name)
}

// port matches a destination port, by number or name.
func port(protocol string, p any) string {
	return fmt.Sprintf("ports: [{protocol: %s, port: %v}]", strings.ToUpper(protocol), p)
}

const (
	everyNamespace = "namespaceSelector: {}"
	everyPod       = "podSelector: {}"
	self           = "namespaces: {match: Self}"
	tcp80          = "ports: [{protocol: TCP, port: 80}]"
	tcp81          = "ports: [{protocol: TCP, port: 81}]"
	named81        = "ports: [{protocol: TCP, port: serve-81}]"
	denyIngress    = "podSelector: {}, policyTypes: [Ingress]" // of a policy of Kubernetes
)
