// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/antrea-oncache/antrea/pkg/apiserver"
	"github.com/antrea-oncache/antrea/pkg/apiserver/certificate"
	"github.com/antrea-oncache/antrea/pkg/apiserver/generic"
	"github.com/antrea-oncache/antrea/pkg/apiserver/handlers/controllerinfo"
	"github.com/antrea-oncache/antrea/pkg/apiserver/handlers/featuregates"
	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/config"
	"github.com/antrea-oncache/antrea/pkg/controller/clusteridentity"
	"github.com/antrea-oncache/antrea/pkg/controller/leadership"
	"github.com/antrea-oncache/antrea/pkg/controller/monitor"
	"github.com/antrea-oncache/antrea/pkg/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/supportbundle"
)

// agentAccount is the agents' service account, in the controller's Namespace.
const agentAccount = "antrea-agent"

// run serves until ctx ends or a part fails.
func run(ctx context.Context, o *options, clients *kubernetes.Clients) error {
	var cert *certificate.Certificate
	var err error
	if *o.config.SelfSignedCert {
		cert, err = certificate.Shared(ctx, clients.Kube, o.namespace)
	} else {
		cert, err = certificate.Read(o.certificateDir)
	}
	if err != nil {
		return err
	}
	store := networkpolicy.NewStore()
	leader := leadership.New(clients.Kube, o.namespace, identity(), store.EndWatches)
	publisher := &certificate.Publisher{
		CA: cert.CA, Changed: cert.Changed, Namespace: o.namespace, Client: clients.Kube, Dynamic: clients.Dynamic, Serving: leader.Serving,
	}
	policies, err := networkpolicy.NewController(clients.Kube, store)
	if err != nil {
		return err
	}
	listener, err := generic.Listen(o.config.APIPort)
	if err != nil {
		return err
	}
	routes := map[string]http.HandlerFunc{
		"/featuregates": featuregates.HandleController(o.gates, o.flagGates, clients.Kube, o.namespace, o.configMap),
	}
	querier := &monitor.Querier{
		Namespace: o.namespace, PodName: os.Getenv("POD_NAME"), NodeName: os.Getenv("NODE_NAME"), APIPort: o.config.APIPort, Store: store,
	}
	infos := &monitor.Monitor{Kube: clients.Kube, Dynamic: clients.Dynamic, Querier: querier, Serving: leader.Serving}
	maps.Copy(routes, controllerinfo.Routes(querier, supportbundle.Resources()...))
	bundles, err := newSupportBundles(ctx, o, store, routes)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	api, err := apiserver.New(ctx, &apiserver.Config{
		Listener: listener, Certificate: cert, TokenFile: o.tokenFile, Client: clients.Reviews,
		Store: store, Synced: policies.Synced(), Serving: leader.Serving, Routes: routes, Handlers: bundles.Handlers(),
		AgentAccount: serviceaccount.MakeUsername(o.namespace, agentAccount), NodeOfPod: policies.NodeOfPod,
		EnableMetrics: *o.config.EnablePrometheusMetrics,
		CipherSuites:  config.SplitList(o.config.TLSCipherSuites), MinTLSVersion: o.config.TLSMinVersion,
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}

	// Parts run in group; the first that fails ends them all.
	group, ctx := errgroup.WithContext(ctx)
	lead := func(ctx context.Context) { leader.Run(ctx, policies.Synced()) }
	identify := func(ctx context.Context) { clusteridentity.Run(ctx, clients.Kube, o.namespace) }
	for _, part := range []func(context.Context){policies.Run, cert.Run, publisher.Run, lead, identify, infos.Run} {
		group.Go(func() error { part(ctx); return nil })
	}
	group.Go(func() error { return api.Run(ctx) })
	return group.Wait()
}

// identity distinguishes this process from all others, including those of the same Pod.
func identity() string {
	name := os.Getenv("POD_NAME")
	if name == "" {
		name, _ = os.Hostname()
	}
	return name + "_" + uuid.NewString()
}
