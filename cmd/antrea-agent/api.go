// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/apiserver"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/agentinfo"
	explainhandler "github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/explain"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/fqdncache"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/loglevel"
	policyhandler "github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/ovsflows"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/podinterface"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/problems"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/explain"
	"github.com/antrea-oncache/antrea/pkg/agent/metrics"
	"github.com/antrea-oncache/antrea/pkg/agent/querier"
	"github.com/antrea-oncache/antrea/pkg/config"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers/featuregates"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsctl"
	"github.com/antrea-oncache/antrea/pkg/supportbundle"
)

// newAPIServer makes the API server. It listens from then on, and serves when it runs.
func newAPIServer(ctx context.Context, o *options, n *node, cache *onCache, c *controllers, info *querier.Agent) (*apiserver.Server, error) {
	listener, err := generic.Listen(o.config.APIPort)
	if err != nil {
		return nil, err
	}
	paths := routes(o, n, cache, c, info)
	bundles, err := newSupportBundles(ctx, o, n, cache, paths)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	handlers := bundles.Handlers()
	maps.Copy(handlers, supportbundle.Discovery())
	server, err := apiserver.New(ctx, &apiserver.Config{
		Listener: listener, TokenFile: o.tokenFile, Client: n.clients.Reviews,
		Routes: paths, Changes: changes(cache), Handlers: handlers,
		ReadinessChecks: map[string]func() error{"ovs": n.switchError, "watcher": watcherCheck(c.policies)},
		HealthChecks:    map[string]func() error{"ovs": n.switchError},
		EnableMetrics:   *o.config.EnablePrometheusMetrics,
		CipherSuites:    config.SplitList(o.config.TLSCipherSuites), MinTLSVersion: o.config.TLSMinVersion,
	})
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return server, nil
}

// switchError returns the reason for which Open vSwitch counts as away; nil while it answers.
func (n *node) switchError() error { return errors.Join(n.vswitchd.Err(), n.flows.ConnectionError()) }

// serveEarly answers health checks until the API does. The API will fail for the same reason, and report it.
func serveEarly(o *options) *generic.Early {
	early, err := generic.ServeEarly(o.config.APIPort, config.SplitList(o.config.TLSCipherSuites), o.config.TLSMinVersion)
	if err != nil {
		klog.ErrorS(err, "Health checks are not answered until the agent has started")
	}
	return early
}

// newQuerier answers questions about the agent as a whole.
func newQuerier(o *options, n *node, c *controllers) *querier.Agent {
	return &querier.Agent{
		Node: n.Node, Interfaces: n.store, OpenFlow: n.flows, OVSDB: n.bridge, Policies: c.policies, Problems: n.problems,
		APIPort: o.config.APIPort, PodNamespace: os.Getenv("POD_NAMESPACE"), PodName: os.Getenv("POD_NAME"),
		NodePortLocalPortRange: o.nodePortLocalRange(),
	}
}

// newCollector makes the collector of the metrics of the agent as a whole.
func newCollector(n *node, c *controllers) *metrics.Collector {
	return &metrics.Collector{
		Policies: c.policies, Interfaces: n.store, Switch: n.flows,
		Conntrack: &metrics.Conntrack{List: networkpolicy.PodConnections{}.List},
	}
}

// changes are the endpoints that change something.
func changes(cache *onCache) map[string]http.HandlerFunc {
	changes := map[string]http.HandlerFunc{"/loglevel": loglevel.HandleSet()}
	maps.Copy(changes, cache.changes)
	return changes
}

// routes are the endpoints that only read.
func routes(o *options, n *node, cache *onCache, c *controllers, info *querier.Agent) map[string]http.HandlerFunc {
	dumper := ovsctl.New(o.config.OVSRunDir, o.config.OVSBridge)
	// A nil controller must not become a non-nil interface.
	var services ovsflows.Services
	if c.proxy != nil {
		services = c.proxy
	}
	routes := map[string]http.HandlerFunc{
		"/addressgroups":   policyhandler.HandleAddressGroups(c.policies),
		"/agentinfo":       agentinfo.HandleFunc(info),
		"/appliedtogroups": policyhandler.HandleAppliedToGroups(c.policies),
		"/featuregates":    featuregates.HandleAgent(o.gates),
		"/fqdncache":       fqdncache.HandleFunc(c.names),
		"/loglevel":        loglevel.HandleFunc(),
		"/networkpolicies": policyhandler.HandlePolicies(c.policies, c.ruleStats.Read),
		"/oncache/explain": explainhandler.HandleFunc(explainer(n, cache, c)),
		"/ovsflows":        ovsflows.HandleFunc(n.flows, n.store, c.policies, services, dumper),
		"/podinterfaces":   podinterface.HandleFunc(n.store),
		"/problems":        problems.HandleFunc(n.problems),
	}
	maps.Copy(routes, c.poolRoutes())
	maps.Copy(routes, cache.routes)
	return routes
}

// explainer uses this Node's rules and its cache.
func explainer(n *node, cache *onCache, c *controllers) *explain.Explainer {
	e := &explain.Explainer{
		Interfaces: n.store, Policies: c.policies, Connections: networkpolicy.PodConnections{},
		FindPod: func(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
			return n.clients.Kube.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		},
	}
	e.Silent = n.isSilent
	if cache.manager != nil {
		e.Cache = cache.manager
	}
	if c.egress != nil {
		find := c.egressFinder(n.Node.EgressExcept)
		e.Egress = func(pod, destination netip.Addr) (name, addr, node string) {
			found := find()(pod, destination)
			return found.Name, found.IP, found.Node
		}
	}
	if c.proxy != nil {
		e.Services, e.GroupsOf = c.proxy, n.flows.GroupsOf
	}
	return e
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
