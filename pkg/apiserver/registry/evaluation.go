// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/controller/networkpolicy"
)

const evaluationName = "networkpolicyevaluation"

// Evaluation returns the storage that answers which rule decides between two Pods, and its name.
func Evaluation(store *networkpolicy.Store, readiness Readiness) (name string, storage rest.Storage) {
	return evaluationName, &evaluation{Readiness: readiness, store: store}
}

// evaluation stores nothing: creating a question answers it.
type evaluation struct {
	Readiness
	store *networkpolicy.Store
}

var (
	_ rest.Creater              = (*evaluation)(nil)
	_ rest.Scoper               = (*evaluation)(nil)
	_ rest.SingularNameProvider = (*evaluation)(nil)
)

func (e *evaluation) New() runtime.Object     { return &controlplane.NetworkPolicyEvaluation{} }
func (e *evaluation) Destroy()                {}
func (e *evaluation) NamespaceScoped() bool   { return false }
func (e *evaluation) GetSingularName() string { return evaluationName }

// Create returns the question with its answer; without a rule it has no response.
func (e *evaluation) Create(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	question := object.(*controlplane.NetworkPolicyEvaluation)
	request := question.Request
	if request == nil || !named(request.Source.Pod) || !named(request.Destination.Pod) {
		return nil, apierrors.NewBadRequest("invalid NetworkPolicyEvaluation: request.source.pod and request.destination.pod need a name and a namespace")
	}
	if validate != nil {
		if err := validate(ctx, object); err != nil {
			return nil, err
		}
	}
	if err := e.wait(ctx); err != nil {
		return nil, err
	}
	response, missing := e.store.Evaluate(key(request.Source.Pod), key(request.Destination.Pod))
	if missing != nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, missing.String())
	}
	return &controlplane.NetworkPolicyEvaluation{Request: request, Response: response}, nil
}

func named(pod *controlplane.PodReference) bool {
	return pod != nil && pod.Name != "" && pod.Namespace != ""
}

func key(pod *controlplane.PodReference) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}
