// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission decides which policies, tiers and groups of crd.antrea.io the Kubernetes API takes, and fills in their
// defaults. Conditions and messages are Antrea's, with these exceptions: fields that are unknown, or that the kind does not
// have, are refused instead of left out, because a peer without its field selects every Pod; so are values that
// cannot be what they should be, such as port 70000. An object whose spec stays as it is can always be changed.
package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// Config contains everything on which the decisions depend besides the objects themselves.
type Config struct {
	// Objects are the objects that exist.
	Objects *crd.Policies
	// Enabled is the feature gate AntreaPolicy: without it nothing can be created, because it would have no effect.
	Enabled bool
	// L7 and ClusterNetworkPolicy are the feature gates L7NetworkPolicy and ClusterNetworkPolicy.
	L7, ClusterNetworkPolicy bool
}

// admitter answers the webhooks.
type admitter struct {
	Config
	state state
}

// Webhooks returns the webhooks, by path. The paths are Antrea's.
func Webhooks(c Config) webhook.Webhooks {
	a := &admitter{Config: c, state: state{c.Objects}}
	return webhook.Webhooks{
		"/validate/acnp":         a.validating(v1beta1.ClusterNetworkPolicyKind, a.policy),
		"/validate/annp":         a.validating(v1beta1.NetworkPolicyKind, a.policy),
		"/validate/tier":         a.validating(v1beta1.TierKind, a.tier),
		"/validate/clustergroup": a.validating(v1beta1.ClusterGroupKind, a.group),
		"/validate/group":        a.validating(v1beta1.GroupKind, a.group),
		"/validate/cnp":          a.k8sClusterPolicy,
		"/mutate/acnp":           mutating(v1beta1.ClusterNetworkPolicyKind),
		"/mutate/annp":           mutating(v1beta1.NetworkPolicyKind),
	}
}

// objects are the object of a request as it shall be, nil at a deletion, and as it was, nil at a creation.
type objects struct {
	wanted, former *unstructured.Unstructured
}

// keepsSpec reports whether the request changes metadata at most.
func (o objects) keepsSpec() bool {
	return o.wanted != nil && o.former != nil && equality.Semantic.DeepEqual(o.wanted.Object["spec"], o.former.Object["spec"])
}

// validating returns the webhook that asks judge about objects of a kind. Two API groups have a kind ClusterNetworkPolicy.
func (a *admitter) validating(kind string, judge func(*admissionv1.AdmissionRequest, objects) webhook.Answer) webhook.Webhook {
	return func(request *admissionv1.AdmissionRequest) (webhook.Answer, error) {
		o, err := read(request, kind)
		if err != nil {
			return webhook.Answer{Refusal: err.Error()}, nil
		}
		if o.keepsSpec() {
			return webhook.Answer{}, nil
		}
		if !a.Enabled && o.wanted != nil {
			return webhook.Answer{Refusal: "the feature gate AntreaPolicy of antrea-controller is off"}, nil
		}
		if err := a.Objects.Synced(); a.Enabled && err != nil {
			return webhook.Answer{}, err
		}
		return judge(request, o), nil
	}
}

func read(request *admissionv1.AdmissionRequest, kind string) (o objects, err error) {
	if group := v1beta1.SchemeGroupVersion; request.Kind.Group != group.Group || request.Kind.Version != group.Version || request.Kind.Kind != kind {
		return o, fmt.Errorf("the webhook is asked about %s %s/%s; it knows %s %s", request.Kind.Kind, request.Kind.Group, request.Kind.Version, kind, group)
	}
	if request.Operation != admissionv1.Delete {
		if o.wanted, err = decode(request.Object.Raw); err != nil {
			return o, fmt.Errorf("reading the %s: %w", kind, err)
		}
	}
	if request.Operation != admissionv1.Create {
		if o.former, err = decode(request.OldObject.Raw); err != nil {
			return o, fmt.Errorf("reading the former %s: %w", kind, err)
		}
	}
	return o, nil
}

func decode(raw []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &object.Object); err != nil {
		return nil, err
	}
	return object, nil
}
