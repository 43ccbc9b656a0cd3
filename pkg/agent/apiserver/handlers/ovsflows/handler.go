// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ovsflows serves /ovsflows: a list of apis.OVSFlow. Without parameters it lists all flows of the bridge; pod
// together with namespace selects the flows installed for a Pod, service with namespace the flows of a Service's ports,
// networkpolicy, with namespace unless its kind has none and with type if the name is not unique, the flows of a policy's rules, table (names or numbers, comma-separated) the flows of
// tables, table-names-only lists the tables.
package ovsflows

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
)

// Pipeline knows the tables and what was installed for whom.
type Pipeline interface {
	GetFlowTableStatus(ctx context.Context) ([]openflow.TableStatus, error)
	GetPodFlowKeys(interfaceName string) []string
	GetPolicyFlowKeys(flowIDs []uint32) []string
	GetServiceFlowKeys(port string) []string
}

// Policies has the policies that concern this Node, and the rules of each that are on the bridge.
type Policies interface {
	NetworkPolicies() []*v1beta2.NetworkPolicy
	RulesOf(policy string) []*policy.Rule
}

// Services finds the ports of a Service that are on the bridge; ok is false for a Service without any.
type Services interface {
	Ports(namespace, name string) (names []string, ok bool)
}

// Interfaces finds a Pod's interfaces.
type Interfaces interface {
	GetContainerInterfacesByPod(podName, podNamespace string) []*interfacestore.InterfaceConfig
}

// FlowDumper reads flows from the bridge; filter is in the syntax of ovs-ofctl(8).
type FlowDumper interface {
	DumpFlows(ctx context.Context, filter string) ([]string, error)
}

var counters = regexp.MustCompile(`\b(n_packets|n_bytes|idle_age|hard_age)=\d+, `)

const supportedFilters = "pod or service with namespace, networkpolicy, table, table-names-only"

// filterError is a bad request, or with notFound set an absent object.
type filterError struct {
	message  string
	notFound bool
}

func (e *filterError) Error() string { return e.message }

func badFilter(format string, args ...any) error {
	return &filterError{message: fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) error {
	return &filterError{message: fmt.Sprintf(format, args...), notFound: true}
}

type handler struct {
	pipeline   Pipeline
	interfaces Interfaces
	policies   Policies
	services   Services
	dumper     FlowDumper
}

// HandleFunc serves the flows of one bridge. services is nil without AntreaProxy.
func HandleFunc(pipeline Pipeline, interfaces Interfaces, policies Policies, services Services, dumper FlowDumper) http.HandlerFunc {
	h := &handler{pipeline: pipeline, interfaces: interfaces, policies: policies, services: services, dumper: dumper}
	return func(w http.ResponseWriter, r *http.Request) {
		lines, err := h.flows(r.Context(), r.URL.Query())
		if err != nil {
			status := http.StatusInternalServerError
			var e *filterError
			if errors.As(err, &e) {
				status = http.StatusBadRequest
				if e.notFound {
					status = http.StatusNotFound
				}
			}
			http.Error(w, err.Error(), status)
			return
		}
		flows := make([]apis.OVSFlow, 0, len(lines))
		for _, line := range lines {
			flows = append(flows, apis.OVSFlow{Flow: line})
		}
		handlers.WriteJSON(w, flows)
	}
}

func (h *handler) flows(ctx context.Context, query url.Values) ([]string, error) {
	if query.Has("groups") {
		return nil, badFilter(`filter "groups" is not supported by this version; supported: %s`, supportedFilters)
	}
	pod, policy, service, namespace := query.Get("pod"), query.Get("networkpolicy"), query.Get("service"), query.Get("namespace")
	table, namesOnly := query.Get("table"), query.Has("table-names-only")
	selectors := 0
	for _, used := range []bool{pod != "", policy != "", service != "", table != "", namesOnly} {
		if used {
			selectors++
		}
	}
	switch {
	case selectors > 1:
		return nil, badFilter("pod, service, networkpolicy, table and table-names-only cannot be combined")
	case policy == "" && (pod+service == "") != (namespace == ""):
		return nil, badFilter("pod %q, service %q, namespace %q: one of the first two and the last, or none must be given", pod, service, namespace)
	case policy == "" && query.Has("type"):
		return nil, badFilter("type %q: only the flows of a networkpolicy have a type", query.Get("type"))
	case namesOnly:
		return h.tableNames(ctx)
	case pod != "":
		return h.podFlows(ctx, pod, namespace)
	case service != "":
		return h.serviceFlows(ctx, service, namespace)
	case policy != "":
		return h.policyFlows(ctx, policy, namespace, query.Get("type"))
	case table != "":
		return h.tableFlows(ctx, strings.Split(table, ","))
	default:
		return h.dumper.DumpFlows(ctx, "")
	}
}

func (h *handler) tableNames(ctx context.Context) ([]string, error) {
	tables, err := h.pipeline.GetFlowTableStatus(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(tables))
	for _, table := range tables {
		names = append(names, table.Name)
	}
	return names, nil
}

func (h *handler) podFlows(ctx context.Context, pod, namespace string) ([]string, error) {
	interfaces := h.interfaces.GetContainerInterfacesByPod(pod, namespace)
	if len(interfaces) == 0 {
		return nil, notFound("Pod %s/%s not found on this Node", namespace, pod)
	}
	var keys []string
	for _, config := range interfaces {
		keys = append(keys, h.pipeline.GetPodFlowKeys(config.InterfaceName)...)
	}
	return h.flowsOf(ctx, keys)
}

func (h *handler) serviceFlows(ctx context.Context, service, namespace string) ([]string, error) {
	if h.services == nil {
		return nil, notFound("Service %s/%s not found: AntreaProxy is off", namespace, service)
	}
	ports, ok := h.services.Ports(namespace, service)
	if !ok {
		return nil, notFound("Service %s/%s not found, or not handled by AntreaProxy", namespace, service)
	}
	var keys []string
	for _, port := range ports {
		keys = append(keys, h.pipeline.GetServiceFlowKeys(port)...)
	}
	return h.flowsOf(ctx, keys)
}

// policyFlows returns the flows of all rules of a policy. Without a type, namespace decides between the kinds of policies.
func (h *handler) policyFlows(ctx context.Context, name, namespace, sourceType string) ([]string, error) {
	kind, namespaced, err := networkpolicy.SourceType(sourceType)
	switch {
	case err != nil:
		return nil, badFilter("%v", err)
	case kind != "" && namespaced && namespace == "":
		return nil, badFilter("networkpolicy %q: policies of type %s need a namespace", name, sourceType)
	case kind != "" && !namespaced && namespace != "":
		return nil, badFilter("networkpolicy %q: policies of type %s have no namespace", name, sourceType)
	}
	found := slices.DeleteFunc(h.policies.NetworkPolicies(), func(p *v1beta2.NetworkPolicy) bool {
		return p.SourceRef == nil || p.SourceRef.Name != name || p.SourceRef.Namespace != namespace || kind != "" && p.SourceRef.Type != kind
	})
	if len(found) == 0 {
		return nil, notFound("NetworkPolicy %s not found on this Node", types.NamespacedName{Namespace: namespace, Name: name})
	}
	if len(found) > 1 {
		return nil, badFilter("networkpolicy %q is ambiguous: there are %s and %s; name a type", name, found[0].SourceRef.ToString(), found[1].SourceRef.ToString())
	}
	var ids []uint32
	for _, r := range h.policies.RulesOf(found[0].Name) {
		ids = append(ids, r.FlowID)
	}
	return h.flowsOf(ctx, h.pipeline.GetPolicyFlowKeys(ids))
}

// flowsOf returns the flows with these keys.
func (h *handler) flowsOf(ctx context.Context, keys []string) ([]string, error) {
	var flows []string
	seen := map[string]bool{}
	for _, key := range keys {
		matching, err := h.dumper.DumpFlows(ctx, key)
		if err != nil {
			return nil, err
		}
		for _, flow := range matching {
			// A filter also selects flows that match more narrowly, perhaps found by another key already, with other counters
			// by now.
			identity := counters.ReplaceAllString(flow, "")
			if !seen[identity] {
				seen[identity] = true
				flows = append(flows, flow)
			}
		}
	}
	return flows, nil
}

func (h *handler) tableFlows(ctx context.Context, wanted []string) ([]string, error) {
	tables, err := h.pipeline.GetFlowTableStatus(ctx)
	if err != nil {
		return nil, err
	}
	var flows []string
	for _, want := range wanted {
		want = strings.TrimSpace(want)
		i := slices.IndexFunc(tables, func(t openflow.TableStatus) bool {
			return strings.EqualFold(t.Name, want) || strconv.Itoa(int(t.ID)) == want
		})
		if i < 0 {
			return nil, notFound("table %q not found; table-names-only lists the tables", want)
		}
		matching, err := h.dumper.DumpFlows(ctx, fmt.Sprintf("table=%d", tables[i].ID))
		if err != nil {
			return nil, err
		}
		flows = append(flows, matching...)
	}
	return flows, nil
}
