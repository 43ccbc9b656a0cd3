// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane is a typed client of the API group controlplane.antrea.io for agents. How its watches differ from others is
// said in package v1beta2.
package controlplane

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

var (
	scheme         = runtime.NewScheme()
	codecs         = serializer.NewCodecFactory(scheme)
	parameterCodec = runtime.NewParameterCodec(scheme)
)

func init() { utilruntime.Must(v1beta2.AddToScheme(scheme)) }

// Reader reads one resource. Watch events carry a T, but MODIFIED of groups carries the group's patch.
type Reader[T, L runtime.Object] interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// Client reads the group's resources, and reports traffic and the status of policies.
type Client struct {
	rest rest.Interface
}

// NewForConfig returns a client of the server of config: antrea-controller, or a kube-apiserver with antrea-controller
// behind it.
func NewForConfig(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion = &v1beta2.SchemeGroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = codecs.WithoutConversion()
	config.ContentType = runtime.ContentTypeJSON
	config.AcceptContentTypes = runtime.ContentTypeJSON
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of %s at %s: %w", v1beta2.SchemeGroupVersion, config.Host, err)
	}
	return &Client{rest: client}, nil
}

// OfNode selects what concerns a Node, for list and watch.
func OfNode(name string) metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(v1beta2.NodeNameField, name).String()}
}

// NetworkPolicies reads networkpolicies.
func (c *Client) NetworkPolicies() Reader[*v1beta2.NetworkPolicy, *v1beta2.NetworkPolicyList] {
	return gentype.NewClientWithList("networkpolicies", c.rest, parameterCodec, "",
		func() *v1beta2.NetworkPolicy { return &v1beta2.NetworkPolicy{} },
		func() *v1beta2.NetworkPolicyList { return &v1beta2.NetworkPolicyList{} })
}

// AddressGroups reads addressgroups.
func (c *Client) AddressGroups() Reader[*v1beta2.AddressGroup, *v1beta2.AddressGroupList] {
	return gentype.NewClientWithList("addressgroups", c.rest, parameterCodec, "",
		func() *v1beta2.AddressGroup { return &v1beta2.AddressGroup{} },
		func() *v1beta2.AddressGroupList { return &v1beta2.AddressGroupList{} })
}

// AppliedToGroups reads appliedtogroups.
func (c *Client) AppliedToGroups() Reader[*v1beta2.AppliedToGroup, *v1beta2.AppliedToGroupList] {
	return gentype.NewClientWithList("appliedtogroups", c.rest, parameterCodec, "",
		func() *v1beta2.AppliedToGroup { return &v1beta2.AppliedToGroup{} },
		func() *v1beta2.AppliedToGroupList { return &v1beta2.AppliedToGroupList{} })
}

// EgressGroups reads egressgroups.
func (c *Client) EgressGroups() Reader[*v1beta2.EgressGroup, *v1beta2.EgressGroupList] {
	return gentype.NewClientWithList("egressgroups", c.rest, parameterCodec, "",
		func() *v1beta2.EgressGroup { return &v1beta2.EgressGroup{} },
		func() *v1beta2.EgressGroupList { return &v1beta2.EgressGroupList{} })
}

// ReportStats reports traffic. It returns nil when the server has counted the report.
func (c *Client) ReportStats(ctx context.Context, report *v1beta2.NodeStatsSummary) error {
	return c.rest.Post().Resource("nodestatssummaries").Body(report).Do(ctx).Error()
}

// ReportPolicyStatus reports the status of a policy, which report names, on Nodes. It returns nil when the server has taken the report.
func (c *Client) ReportPolicyStatus(ctx context.Context, report *v1beta2.NetworkPolicyStatus) error {
	return c.rest.Post().Resource("networkpolicies").Name(report.Name).SubResource("status").Body(report).Do(ctx).Error()
}
