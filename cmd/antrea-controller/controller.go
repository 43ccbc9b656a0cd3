// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apiserver"
	"github.com/antrea-oncache/antrea/pkg/apiserver/admission"
	"github.com/antrea-oncache/antrea/pkg/apiserver/certificate"
	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/config"
	"github.com/antrea-oncache/antrea/pkg/controller/clusteridentity"
	"github.com/antrea-oncache/antrea/pkg/controller/leadership"
	"github.com/antrea-oncache/antrea/pkg/controller/monitor"
	"github.com/antrea-oncache/antrea/pkg/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/controller/stats"
	"github.com/antrea-oncache/antrea/pkg/controller/tiers"
	"github.com/antrea-oncache/antrea/pkg/controller/traceflow"
	"github.com/antrea-oncache/antrea/pkg/features"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers/controllerinfo"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers/featuregates"
	"github.com/antrea-oncache/antrea/pkg/supportbundle"
)

// agentAccount is the agents' service account, in the controller's Namespace.
const agentAccount = "antrea-agent"

// run serves until ctx ends or a part fails.
func run(ctx context.Context, o *options, clients *kubernetes.Clients) error {
	cert, err := servingCertificate(ctx, o, clients)
	if err != nil {
		return err
	}
	store := networkpolicy.NewStore()
	traffic := stats.New(store)
	leader := leadership.New(clients.Kube, o.namespace, identity(), func() { store.EndWatches(); traffic.Reset() })
	publisher := &certificate.Publisher{
		CA: cert.CA, Changed: cert.Changed, Targets: certificate.Controller(), Namespace: o.namespace, Client: clients.Kube, Dynamic: clients.Dynamic, Serving: leader.Serving,
	}
	policies, err := networkpolicy.NewController(clients.Kube, store)
	if err != nil {
		return err
	}
	if err := policies.FollowPolicies(traffic.Handler(controlplane.K8sNetworkPolicy)); err != nil {
		return err
	}
	objects, keepObjects, err := newObjects(o, clients, leader, traffic, policies, store)
	if err != nil {
		return err
	}
	egresses, keepEgresses, err := newEgress(o, clients, leader, policies)
	if err != nil {
		return err
	}
	keepNetworks, err := newNodeIPAM(o, clients, leader)
	if err != nil {
		return err
	}
	querier := &monitor.Querier{
		Namespace: o.namespace, PodName: os.Getenv("POD_NAME"), NodeName: os.Getenv("NODE_NAME"), APIPort: o.config.APIPort, Store: store,
	}
	infos := &monitor.Monitor{Kube: clients.Kube, Dynamic: clients.Dynamic, Querier: querier, Serving: leader.Serving, SetNode: traffic.SetNode}
	api, err := newAPIServer(ctx, o, clients, &apiserver.Config{
		Certificate: cert, Store: store, Groups: store, Synced: policies.Synced(), Serving: leader.Serving, Stats: traffic, NodeOfPod: policies.NodeOfPod,
		Routes:   controllerinfo.Routes(querier, supportbundle.Resources()...),
		Webhooks: webhooks(o, policies, objects, egresses), EgressesRead: egresses.read,
	})
	if err != nil {
		return err
	}
	// Parts run in group; the first that fails ends them all.
	group, ctx := errgroup.WithContext(ctx)
	lead := func(ctx context.Context) { leader.Run(ctx, policies.Synced()) }
	identify := func(ctx context.Context) { clusteridentity.Run(ctx, clients.Kube, o.namespace) }
	background := []func(context.Context){policies.Run, cert.Run, publisher.Run, lead, identify, infos.Run}
	if o.gates.Enabled(features.Traceflow) {
		traces, err := traceflow.New(clients.Dynamic, policies, leader.Serving)
		if err != nil {
			return err
		}
		background = append(background, traces.Run)
	}
	for _, part := range slices.Concat(background, keepObjects, keepEgresses, keepNetworks) {
		group.Go(func() error { part(ctx); return nil })
	}
	group.Go(func() error { return api.Run(ctx) })
	return group.Wait()
}

// servingCertificate returns the certificate of the controller's API: the one that replicas share, or the administrator's.
func servingCertificate(ctx context.Context, o *options, clients *kubernetes.Clients) (*certificate.Certificate, error) {
	if *o.config.SelfSignedCert {
		return certificate.Shared(ctx, clients.Kube, generic.KeyFor(config.SplitList(o.config.TLSCipherSuites)), o.namespace)
	}
	return certificate.Read(o.certificateDir)
}

// newObjects returns the informers of Antrea's policies, tiers and groups. policies follows them and the policies of the Kubernetes network
// policy API. The functions have to run for them; without the feature gate there are none.
func newObjects(
	o *options, clients *kubernetes.Clients, leader *leadership.Leadership, traffic *stats.Aggregator,
	policies *networkpolicy.Controller, store *networkpolicy.Store,
) (*crd.Policies, []func(context.Context), error) {
	objects, err := crd.NewPolicies(clients.Dynamic)
	if err != nil || !o.gates.Enabled(features.AntreaPolicy) {
		return objects, nil, err
	}
	defaults, err := tiers.New(clients.Dynamic, objects.Tiers, leader.Serving)
	if err != nil {
		return nil, nil, err
	}
	for kind, informer := range map[controlplane.NetworkPolicyType]cache.SharedIndexInformer{
		controlplane.AntreaClusterNetworkPolicy: objects.ClusterNetworkPolicies, controlplane.AntreaNetworkPolicy: objects.NetworkPolicies,
	} {
		if _, err := informer.AddEventHandler(traffic.Handler(kind)); err != nil {
			return nil, nil, fmt.Errorf("watch policies of kind %s: %w", kind, err)
		}
	}
	if err := policies.FollowAntrea(objects); err != nil {
		return nil, nil, err
	}
	admin, err := crd.NewAdminPolicies(clients.Dynamic, o.gates.Enabled(features.AdminNetworkPolicy), o.gates.Enabled(features.ClusterNetworkPolicy))
	if err != nil {
		return nil, nil, err
	}
	if err := policies.FollowAdmin(admin); err != nil {
		return nil, nil, err
	}
	statuses, err := networkpolicy.NewStatusController(store, clients.Statuses, objects, admin, leader.Serving, policies.Synced())
	if err != nil {
		return nil, nil, err
	}
	return objects, []func(context.Context){objects.Run, admin.Run, defaults.Run, statuses.Run}, nil
}

// webhooks returns the webhooks of all kinds.
func webhooks(o *options, policies *networkpolicy.Controller, objects *crd.Policies, egresses *egresses) webhook.Webhooks {
	all := admission.Webhooks(admission.Config{
		Objects: objects, Enabled: o.gates.Enabled(features.AntreaPolicy), L7: o.gates.Enabled(features.L7NetworkPolicy),
		ClusterNetworkPolicy: o.gates.Enabled(features.ClusterNetworkPolicy),
	})
	all[traceflow.WebhookPath] = webhook.Refusing(traceflow.Validator(policies, policies.Synced(), o.gates.Enabled(features.Traceflow)))
	maps.Copy(all, egressWebhooks(o, egresses))
	return all
}

// newAPIServer completes config by what the settings say, and makes the API server, which listens from then on.
func newAPIServer(ctx context.Context, o *options, clients *kubernetes.Clients, c *apiserver.Config) (*apiserver.Server, error) {
	maps.Copy(c.Routes, map[string]http.HandlerFunc{
		"/featuregates": featuregates.HandleController(o.gates, o.flagGates, clients.Kube, o.namespace, o.configMap),
	})
	if !o.gates.Enabled(features.NetworkPolicyStats) {
		c.Stats = nil
	}
	c.TokenFile, c.Client = o.tokenFile, clients.Reviews
	c.AgentAccount = serviceaccount.MakeUsername(o.namespace, agentAccount)
	c.EnableMetrics = *o.config.EnablePrometheusMetrics
	c.CipherSuites, c.MinTLSVersion = config.SplitList(o.config.TLSCipherSuites), o.config.TLSMinVersion
	bundles, err := newSupportBundles(ctx, o, c.Store, c.Routes)
	if err != nil {
		return nil, err
	}
	c.Handlers = bundles.Handlers()
	if c.Listener, err = generic.Listen(o.config.APIPort); err != nil {
		return nil, err
	}
	api, err := apiserver.New(ctx, c)
	if err != nil {
		return nil, errors.Join(err, c.Listener.Close())
	}
	return api, nil
}

// identity distinguishes this process from all others, including other processes of the same Pod.
func identity() string {
	name := os.Getenv("POD_NAME")
	if name == "" {
		name, _ = os.Hostname()
	}
	return name + "_" + uuid.NewString()
}
