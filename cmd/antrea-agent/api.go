// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/antrea-oncache/antrea/pkg/agent/apiserver"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/agentinfo"
	explainhandler "github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/explain"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/featuregates"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/loglevel"
	policyhandler "github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/ovsflows"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/podinterface"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/problems"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/explain"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/querier"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsctl"
)

// apiParts is what the API shows.
type apiParts struct {
	node     *config.NodeConfig
	store    interfacestore.InterfaceStore
	flows    openflow.Client
	bridge   ovsconfig.BridgeClient
	onCache  *onCache
	policies *networkpolicy.Controller
	// fastStats is nil without ONCache.
	fastStats *networkpolicy.FastStats
	kube      kubernetes.Interface
	problems  *problem.Recorder
}

// changes are the endpoints that change something.
func (p *apiParts) changes() map[string]http.HandlerFunc {
	changes := map[string]http.HandlerFunc{"/loglevel": loglevel.HandleSet()}
	maps.Copy(changes, p.onCache.changes)
	return changes
}

// routes are the endpoints that are read.
func (p *apiParts) routes(o *options) map[string]http.HandlerFunc {
	info := &querier.Agent{
		Node: p.node, Interfaces: p.store, OpenFlow: p.flows, OVSDB: p.bridge, Policies: p.policies, Problems: p.problems, APIPort: o.config.APIPort,
		PodNamespace: os.Getenv("POD_NAMESPACE"), PodName: os.Getenv("POD_NAME"),
	}
	dumper := ovsctl.New(o.config.OVSRunDir, o.config.OVSBridge)
	routes := map[string]http.HandlerFunc{
		"/addressgroups":   policyhandler.HandleAddressGroups(p.policies),
		"/agentinfo":       agentinfo.HandleFunc(info),
		"/appliedtogroups": policyhandler.HandleAppliedToGroups(p.policies),
		"/featuregates":    featuregates.HandleFunc(o.gates),
		"/loglevel":        loglevel.HandleFunc(),
		"/networkpolicies": policyhandler.HandlePolicies(p.policies, policyStats(p.flows, dumper, p.fastStats)),
		"/ovsflows":        ovsflows.HandleFunc(p.flows, p.store, p.policies, dumper),
		"/podinterfaces":   podinterface.HandleFunc(p.store),
		"/problems":        problems.HandleFunc(p.problems),
	}
	maps.Copy(routes, p.onCache.routes)
	routes["/oncache/explain"] = explainhandler.HandleFunc(p.explainer())
	return routes
}

// explainer knows this Node's rules and its cache.
func (p *apiParts) explainer() *explain.Explainer {
	e := &explain.Explainer{
		Interfaces: p.store, Policies: p.policies,
		FindPod: func(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
			return p.kube.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		},
	}
	if p.onCache.manager != nil {
		e.Cache = p.onCache.manager
	}
	return e
}

// newAPIServer makes the API server on listener, which it takes over.
func newAPIServer(ctx context.Context, o *options, reviews kubernetes.Interface, listener net.Listener, parts *apiParts) (*apiserver.Server, error) {
	server, err := apiserver.New(ctx, &apiserver.Config{
		Listener: listener, TokenFile: o.tokenFile, Client: reviews,
		Routes: parts.routes(o), Changes: parts.changes(),
		LivenessChecks:  map[string]func() error{"ovs": parts.flows.ConnectionError},
		ReadinessChecks: map[string]func() error{"watcher": watcherCheck(parts.policies)},
		EnableMetrics:   *o.config.EnablePrometheusMetrics,
		CipherSuites:    splitList(o.config.TLSCipherSuites), MinTLSVersion: o.config.TLSMinVersion,
	})
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return server, nil
}

// watcherCheck fails while policies are not up to date.
func watcherCheck(policies interface{ Connected() bool }) func() error {
	return func() error {
		if policies.Connected() {
			return nil
		}
		return errors.New("no complete watch of antrea-controller")
	}
}
