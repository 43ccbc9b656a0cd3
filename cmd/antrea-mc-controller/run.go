// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"

	"golang.org/x/sync/errgroup"

	"github.com/antrea-oncache/antrea/multicluster/leader"
	"github.com/antrea-oncache/antrea/multicluster/member"
	"github.com/antrea-oncache/antrea/multicluster/server"
	mcwebhook "github.com/antrea-oncache/antrea/multicluster/webhook"
	"github.com/antrea-oncache/antrea/pkg/apiserver/certificate"
	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
)

// Names of Antrea.
const (
	account        = "antrea-mc-controller"
	webhookService = "antrea-mc-webhook-service"
	caConfigMap    = "antrea-mc-ca"
)

// controller is the controller of a leader or of a member.
type controller interface {
	Run(ctx context.Context)
	Synced() error
}

func runLeader(ctx context.Context, o *options, clients *kubernetes.Clients) error {
	c, err := leader.New(clients.Dynamic, o.namespace)
	if err != nil {
		return err
	}
	return run(ctx, o, clients, "leader", c, mcwebhook.Leader)
}

func runMember(ctx context.Context, o *options, clients *kubernetes.Clients) error {
	network, err := o.config.ServiceNetwork()
	if err != nil {
		return err
	}
	c, err := member.New(member.Config{
		Kube: clients.Kube, Dynamic: clients.Dynamic, Namespace: o.namespace,
		Settings: member.Settings{ServiceCIDR: network, PodCIDRs: o.config.PodNetworks(), ExternalGatewayIP: o.config.ExternalGatewayIP()},
	})
	if err != nil {
		return err
	}
	return run(ctx, o, clients, "member", c, mcwebhook.Member)
}

// run works and answers webhooks until ctx ends or a part fails.
func run(
	ctx context.Context, o *options, clients *kubernetes.Clients, role string, c controller, webhooks func(mcwebhook.Config) webhook.Webhooks,
) error {
	cert, err := certificate.GenerateFor(generic.ECDSA, webhookService, o.namespace)
	if err != nil {
		return err
	}
	publisher := &certificate.Publisher{
		CA: cert.CA, Changed: cert.Changed, Namespace: o.namespace, Client: clients.Kube, Dynamic: clients.Dynamic,
		Targets: certificate.Targets{ConfigMap: caConfigMap, Service: webhookService, ValidatingWebhooks: []string{"antrea-mc-" + role + "-" + o.namespace}},
	}
	reviews, err := net.Listen("tcp", fmt.Sprintf(":%d", o.config.Webhook.Port))
	if err != nil {
		return fmt.Errorf("listening on webhook.port: %w", err)
	}
	probes, err := net.Listen("tcp", o.config.Health.HealthProbeBindAddress)
	if err != nil {
		return fmt.Errorf("listening on health.healthProbeBindAddress: %w", err)
	}
	answers := &server.Config{
		Webhooks: reviews, Probes: probes, Certificate: cert.CurrentCertKeyContent, Ready: c.Synced,
		Handlers: webhooks(mcwebhook.Config{
			Namespace: o.namespace, Account: account, Objects: mcwebhook.NewObjects(clients.Kube, clients.Dynamic, o.namespace),
		}).Handlers(),
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, part := range []func(context.Context){c.Run, publisher.Run} {
		group.Go(func() error { part(ctx); return nil })
	}
	group.Go(func() error { return answers.Run(ctx) })
	return group.Wait()
}
