// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowexporter

import (
	"context"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/ipfix"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
)

// Where Antrea's aggregator publishes what exporters need for TLS, and the names in its certificate.
const (
	aggregatorNamespace = "flow-aggregator"
	caConfigMap         = "flow-aggregator-ca"
	caKey               = "ca.crt"
	clientSecret        = "flow-aggregator-client-tls"
	serverName          = "flow-aggregator.flow-aggregator.svc"
)

// Collector finds the collector and connects to it.
type Collector struct {
	agentconfig.FlowCollector
	NodeName string
	Kube     kubernetes.Interface
	// ClusterIP returns the address of a Service. It is nil if the agent does not know Services.
	ClusterIP func(namespace, name string) (string, error)
}

// Dial connects to the collector, at the address that it has now.
func (c *Collector) Dial(ctx context.Context) (Session, error) {
	options := ipfix.Options{Protocol: c.Protocol, NodeName: c.NodeName, TemplateRefresh: ipfix.DefaultTemplateRefresh}
	host := c.Host
	if c.Service != "" {
		if c.ClusterIP == nil {
			return nil, fmt.Errorf("find the flow collector %s/%s: the agent knows Services only with AntreaProxy; set flowExporter.flowCollectorAddr to an address",
				c.Namespace, c.Service)
		}
		var err error
		if host, err = c.ClusterIP(c.Namespace, c.Service); err != nil {
			return nil, fmt.Errorf("find the flow collector: %w", err)
		}
	}
	options.Address = net.JoinHostPort(host, strconv.Itoa(int(c.Port)))
	if c.Protocol == ipfix.TLS {
		var err error
		if options.Credentials, err = c.credentials(ctx); err != nil {
			return nil, err
		}
	}
	session, err := ipfix.Dial(ctx, options)
	if err != nil {
		return nil, err // a nil *ipfix.Session must not become a non-nil Session
	}
	return session, nil
}

// credentials reads what Antrea's aggregator publishes.
func (c *Collector) credentials(ctx context.Context) (*ipfix.Credentials, error) {
	credentials := &ipfix.Credentials{ServerName: serverName}
	namespace := aggregatorNamespace
	if c.Service != "" {
		namespace, credentials.ServerName = c.Namespace, fmt.Sprintf("%s.%s.svc", c.Service, c.Namespace)
	}
	ca, err := c.Kube.CoreV1().ConfigMaps(namespace).Get(ctx, caConfigMap, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the CA of the flow collector: %w", err)
	}
	secret, err := c.Kube.CoreV1().Secrets(namespace).Get(ctx, clientSecret, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the agent's certificate for the flow collector: %w", err)
	}
	credentials.CA = []byte(ca.Data[caKey])
	credentials.Certificate, credentials.Key = secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]
	if len(credentials.CA) == 0 || len(credentials.Certificate) == 0 || len(credentials.Key) == 0 {
		return nil, fmt.Errorf("ConfigMap %s/%s needs the key %s, Secret %s/%s the keys %s and %s", namespace, caConfigMap, caKey, namespace, clientSecret,
			corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	}
	return credentials, nil
}
