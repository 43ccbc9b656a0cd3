// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	kube kubernetes.Interface
	// config has the agent's credentials.
	config   *rest.Config
	nodeName string
}

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
	_, err := s.kube.CoreV1().Services(controllerNamespace).Get(ctx, controllerService, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, networkpolicy.ErrNoController
	}
	if err != nil {
		return nil, fmt.Errorf("find antrea-controller: %w", err)
	}
	slices, err := s.kube.DiscoveryV1().EndpointSlices(controllerNamespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + controllerService,
	})
	if err != nil {
		return nil, fmt.Errorf("find antrea-controller: %w", err)
	}
	address, err := readyEndpoint(slices.Items)
	if err != nil {
		return nil, err
	}
	ca, err := s.kube.CoreV1().ConfigMaps(controllerNamespace).Get(ctx, controllerCA, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("find the authority of antrea-controller's certificate: %w", err)
	}
	if ca.Data[controllerCAKey] == "" {
		return nil, fmt.Errorf("ConfigMap %s/%s has no %s", controllerNamespace, controllerCA, controllerCAKey)
	}
	config := rest.CopyConfig(s.config)
	config.Host = "https://" + address
	config.TLSClientConfig = rest.TLSClientConfig{
		CAData:     []byte(ca.Data[controllerCAKey]),
		ServerName: controllerService + "." + controllerNamespace + ".svc",
		CertFile:   s.config.CertFile, CertData: s.config.CertData, KeyFile: s.config.KeyFile, KeyData: s.config.KeyData,
	}
	return config, nil
}

// readyEndpoint returns host and port of the first Endpoint that is ready.
func readyEndpoint(slices []discoveryv1.EndpointSlice) (string, error) {
	for _, slice := range slices {
		for _, endpoint := range slice.Endpoints {
			ready := endpoint.Conditions.Ready
			if (ready == nil || *ready) && len(endpoint.Addresses) > 0 && len(slice.Ports) > 0 && slice.Ports[0].Port != nil {
				return net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*slice.Ports[0].Port))), nil
			}
		}
	}
	return "", errors.New("no antrea-controller is ready")
}
