// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook decides which objects of multicluster.crd.antrea.io the Kubernetes API of a leader or of a member takes. A leader binds
// each member to its name: the ServiceAccount of a member's token has its ClusterID as an annotation. Paths, conditions and messages are
// Antrea's. Payloads are also checked: what one member exports is merged with the exports of others, so a value that Kubernetes refuses
// would keep all of them from being imported.
//
// The decisions do no I/O: NewObjects reads from the Kubernetes API.
package webhook

import (
	"errors"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
)

// The paths of the webhooks.
const (
	ClusterSetPath = "/validate-multicluster-crd-antrea-io-v1alpha2-clusterset"
	AnnouncePath   = "/validate-multicluster-crd-antrea-io-v1alpha1-memberclusterannounce"
	ExportPath     = "/validate-multicluster-crd-antrea-io-v1alpha1-resourceexport"
	GatewayPath    = "/validate-multicluster-crd-antrea-io-v1alpha1-gateway"
)

// Config contains everything on which the decisions depend besides the objects themselves.
type Config struct {
	// Namespace is the controller's; objects of others are refused.
	Namespace string
	// Account is the controller's own ServiceAccount there.
	Account string
	Objects Objects
}

// Objects are the objects in the controller's Namespace. An error means that they cannot be read, so that there is no decision.
type Objects interface {
	// Account returns the annotations of a ServiceAccount.
	Account(name string) (annotations map[string]string, found bool, err error)
	ClusterSets() ([]*v1alpha2.ClusterSet, error)
	Announces() ([]*v1alpha1.MemberClusterAnnounce, error)
	// ClusterInfos returns the ResourceExports of that kind.
	ClusterInfos() ([]*v1alpha1.ResourceExport, error)
}

// Leader returns the webhooks of a leader, by path.
func Leader(c Config) webhook.Webhooks {
	return webhook.Webhooks{
		ClusterSetPath: reviewing(c, v1alpha2.SchemeGroupVersion.WithKind(v1alpha2.ClusterSetKind), c.leaderSet),
		AnnouncePath:   reviewing(c, v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.MemberClusterAnnounceKind), c.announce),
		ExportPath:     reviewing(c, v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.ResourceExportKind), c.export),
	}
}

// Member returns the webhooks of a member, by path.
func Member(c Config) webhook.Webhooks {
	return webhook.Webhooks{
		ClusterSetPath: reviewing(c, v1alpha2.SchemeGroupVersion.WithKind(v1alpha2.ClusterSetKind), c.memberSet),
		GatewayPath:    reviewing(c, v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.GatewayKind), c.gateway),
	}
}

// review is a request about an object: as it shall be, nil at a deletion, and as it was, nil at a creation.
type review[T any] struct {
	*admissionv1.AdmissionRequest
	wanted, former *T
}

// reviewing returns the webhook that asks judge about objects of a kind. Judge returns why it refuses one.
func reviewing[T any](c Config, kind schema.GroupVersionKind, judge func(review[T]) (refusal string, err error)) webhook.Webhook {
	return webhook.Refusing(func(request *admissionv1.AdmissionRequest) (string, error) {
		r, err := read[T](request, kind)
		if err != nil {
			return err.Error(), nil
		}
		if r.Namespace != c.Namespace {
			return fmt.Sprintf("the %s is in Namespace %q; the controller that is asked decides about Namespace %q", kind.Kind, r.Namespace, c.Namespace), nil
		}
		return judge(r)
	})
}

func read[T any](request *admissionv1.AdmissionRequest, kind schema.GroupVersionKind) (r review[T], err error) {
	r.AdmissionRequest = request
	if asked := request.Kind; asked.Group != kind.Group || asked.Version != kind.Version || asked.Kind != kind.Kind {
		return r, fmt.Errorf("the webhook is asked about %s %s/%s; it knows %s %s", asked.Kind, asked.Group, asked.Version, kind.Kind, kind.GroupVersion())
	}
	switch request.Operation {
	case admissionv1.Create, admissionv1.Update, admissionv1.Delete:
	default:
		return r, fmt.Errorf("the webhook is asked about the operation %q; it knows CREATE, UPDATE and DELETE", request.Operation)
	}
	if request.Operation != admissionv1.Delete {
		if r.wanted, err = decode[T](request.Object.Raw); err != nil {
			return r, fmt.Errorf("reading the %s: %w", kind.Kind, err)
		}
	}
	if request.Operation != admissionv1.Create {
		if r.former, err = decode[T](request.OldObject.Raw); err != nil {
			return r, fmt.Errorf("reading the former %s: %w", kind.Kind, err)
		}
	}
	return r, nil
}

func decode[T any](raw []byte) (*T, error) {
	var object *T
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, errors.New("it is null")
	}
	return object, nil
}

// checkID says why a ClusterID cannot be one. It is part of names of objects, of labels and of finalizers.
func checkID(field, id string) string {
	problems := validation.IsDNS1123Subdomain(id)
	problems = append(problems, validation.IsValidLabelValue(id)...)
	if len(problems) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %q cannot be the ID of a cluster: %s", field, id, strings.Join(problems, "; "))
}

// first returns the first refusal.
func first(refusals ...string) string {
	for _, refusal := range refusals {
		if refusal != "" {
			return refusal
		}
	}
	return ""
}
