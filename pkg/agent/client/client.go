// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client finds antrea-controller and makes clients of its API.
//
// resolver.go tracks its address; client.go connects to it: at an Endpoint of its Service, not through the Service's address, which
// the agent itself may have to provide.
package client

import (
	"context"
	"errors"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/client/controlplane"
)

// ErrNoController is returned by Client when the cluster has no antrea-controller, as opposed to one that does not
// answer.
var ErrNoController = errors.New("there is no antrea-controller in the cluster")

// controllerNamespace is the namespace of antrea-controller.
const controllerNamespace = apis.DefaultNamespace

// Provider makes clients of antrea-controller.
type Provider struct {
	// config has the agent's credentials.
	config   *rest.Config
	resolver *resolver
}

// NewProvider makes a Provider whose clients use the credentials in config, which belongs to kube. It does nothing
// before Run.
func NewProvider(kube kubernetes.Interface, config *rest.Config) (*Provider, error) {
	resolver, err := newResolver(kube)
	if err != nil {
		return nil, err
	}
	return &Provider{config: config, resolver: resolver}, nil
}

// Run tracks the address of antrea-controller until ctx ends.
func (p *Provider) Run(ctx context.Context) { p.resolver.run(ctx) }

// Moved returns a channel that is closed when antrea-controller is found at another address, or with another CA, than at the time
// of the call.
func (p *Provider) Moved() <-chan struct{} { return p.resolver.moved() }

// Client returns a client of antrea-controller at its current address. It waits for the first answers of the Kubernetes API, which
// arrive while Run runs, or until ctx ends. Without an antrea-controller the error is, or wraps, ErrNoController.
func (p *Provider) Client(ctx context.Context) (*controlplane.Client, error) {
	address, ca, err := p.resolver.find(ctx)
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(p.config)
	config.Host = "https://" + address
	config.TLSClientConfig = rest.TLSClientConfig{
		CAData:     []byte(ca),
		ServerName: apis.ControllerServerName(controllerNamespace),
		CertFile:   p.config.CertFile, CertData: p.config.CertData, KeyFile: p.config.KeyFile, KeyData: p.config.KeyData,
	}
	return controlplane.NewForConfig(config)
}
