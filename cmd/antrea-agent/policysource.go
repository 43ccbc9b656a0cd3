// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/client/controlplane"
)

const (
	// antrea-controller is behind this Service, with certificates of the authority in this ConfigMap.
	controllerNamespace = "kube-system"
	controllerService   = "antrea"
	controllerCA        = "antrea-ca"
	controllerCAKey     = "ca.crt"
)

// policySource watches antrea-controller. It does so at an Endpoint of its Service, not through the Service's address, for
// which the agent itself may have to care.
type policySource struct {
	// config has the agent's credentials.
	config   *rest.Config
	nodeName string
	where    *whereabouts
}

func newPolicySource(kube kubernetes.Interface, config *rest.Config, nodeName string) (*policySource, error) {
	where, err := newWhereabouts(kube)
	if err != nil {
		return nil, err
	}
	return &policySource{config: config, nodeName: nodeName, where: where}, nil
}

// Run follows where antrea-controller is until ctx ends. Without it Watch does nothing but wait.
func (s *policySource) Run(ctx context.Context) { s.where.run(ctx) }

// Moved implements networkpolicy.Source.
func (s *policySource) Moved() <-chan struct{} { return s.where.moved() }

var _ networkpolicy.Source = (*policySource)(nil)

// Watch implements networkpolicy.Source.
func (s *policySource) Watch(ctx context.Context, resource networkpolicy.Resource) (watch.Interface, error) {
	config, err := s.controllerConfig(ctx)
	if err != nil {
		return nil, err
	}
	client, err := controlplane.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	options := controlplane.OfNode(s.nodeName)
	switch resource {
	case networkpolicy.NetworkPolicies:
		return client.NetworkPolicies().Watch(ctx, options)
	case networkpolicy.AddressGroups:
		return client.AddressGroups().Watch(ctx, options)
	case networkpolicy.AppliedToGroups:
		return client.AppliedToGroups().Watch(ctx, options)
	}
	return nil, fmt.Errorf("unknown resource %q", resource)
}

// controllerConfig says how to reach antrea-controller now.
func (s *policySource) controllerConfig(ctx context.Context) (*rest.Config, error) {
	address, ca, err := s.where.find(ctx)
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(s.config)
	config.Host = "https://" + address
	config.TLSClientConfig = rest.TLSClientConfig{
		CAData:     []byte(ca),
		ServerName: controllerService + "." + controllerNamespace + ".svc",
		CertFile:   s.config.CertFile, CertData: s.config.CertData, KeyFile: s.config.KeyFile, KeyData: s.config.KeyData,
	}
	return config, nil
}
