// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis"
)

const (
	// checkInterval is the time between two comparisons of the published with the wanted state; retryInterval applies
	// after an error.
	checkInterval = time.Minute
	retryInterval = 2 * time.Second
	timeout       = 30 * time.Second
)

// APIServices are the objects that make the cluster's aggregator forward requests to the controller. The installation of
// Antrea makes them; the controller fills in the CA.
var APIServices = []string{"v1beta2.controlplane.antrea.io", "v1beta1.system.antrea.io", "v1alpha1.stats.antrea.io"}

// ValidatingWebhooks and MutatingWebhooks are the configurations by which the Kubernetes API asks the controller. The installation makes them;
// the controller fills in the CA. The names are Antrea's.
var (
	ValidatingWebhooks = []string{"crdvalidator.antrea.io"}
	MutatingWebhooks   = []string{"crdmutator.antrea.io"}
)

// Targets are the places in the cluster in which a CA is published.
type Targets struct {
	// ConfigMap is written, and made if it is missing.
	ConfigMap string
	// Service leads to the component; only webhooks that ask it get the CA.
	Service string
	// These are names of objects in which the CA is filled in.
	APIServices, ValidatingWebhooks, MutatingWebhooks []string
}

// Controller returns the targets of antrea-controller.
func Controller() Targets {
	return Targets{apis.ControllerCA, apis.ControllerService, APIServices, ValidatingWebhooks, MutatingWebhooks}
}

var apiServiceResource = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// Publisher publishes the CA in the cluster.
type Publisher struct {
	// CA returns what to publish. Changed, if set, has a value when that may have changed.
	CA        func() []byte
	Changed   <-chan struct{}
	Targets   Targets
	Namespace string
	Client    kubernetes.Interface
	Dynamic   dynamic.Interface
	// Serving, if set, returns an error while another controller serves, which publishes its own CA.
	Serving func() error
}

// Run publishes the CA, and publishes it again whenever the CA or an object has changed, until ctx ends.
func (p *Publisher) Run(ctx context.Context) {
	for {
		wait := checkInterval
		if p.Serving != nil && p.Serving() != nil {
			wait = retryInterval
		} else if err := p.publish(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to publish the CA, will try again", "after", retryInterval)
			wait = retryInterval
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-p.Changed:
			timer.Stop()
		case <-timer.C:
		}
	}
}

func (p *Publisher) publish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ca := p.CA()
	errs := []error{p.publishConfigMap(ctx, ca)}
	for _, name := range p.Targets.APIServices {
		errs = append(errs, p.publishAPIService(ctx, name, ca))
	}
	for _, name := range p.Targets.ValidatingWebhooks {
		errs = append(errs, p.publishValidating(ctx, name, ca))
	}
	for _, name := range p.Targets.MutatingWebhooks {
		errs = append(errs, p.publishMutating(ctx, name, ca))
	}
	return errors.Join(errs...)
}

func (p *Publisher) publishConfigMap(ctx context.Context, ca []byte) error {
	maps := p.Client.CoreV1().ConfigMaps(p.Namespace)
	current, err := maps.Get(ctx, p.Targets.ConfigMap, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = maps.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: p.Targets.ConfigMap, Namespace: p.Namespace, Labels: map[string]string{"app": "antrea"}},
			Data:       map[string]string{apis.ControllerCAKey: string(ca)},
		}, metav1.CreateOptions{})
	case err == nil && current.Data[apis.ControllerCAKey] != string(ca):
		current = current.DeepCopy()
		if current.Data == nil {
			current.Data = map[string]string{}
		}
		current.Data[apis.ControllerCAKey] = string(ca)
		_, err = maps.Update(ctx, current, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("writing the CA into ConfigMap %s/%s: %w", p.Namespace, p.Targets.ConfigMap, err)
	}
	return nil
}

// publishAPIService sets spec.caBundle. A missing APIService is not an error: agents do not need it.
func (p *Publisher) publishAPIService(ctx context.Context, name string, ca []byte) error {
	services := p.Dynamic.Resource(apiServiceResource)
	current, err := services.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		klog.V(2).InfoS("There is no APIService, so users cannot reach the controller through the Kubernetes API", "name", name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading APIService %s: %w", name, err)
	}
	bundle := base64.StdEncoding.EncodeToString(ca)
	if text, _, _ := unstructured.NestedString(current.Object, "spec", "caBundle"); text == bundle {
		return nil
	}
	patch := fmt.Appendf(nil, `{"spec":{"caBundle":%q}}`, bundle)
	if _, err := services.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("writing the CA into APIService %s: %w", name, err)
	}
	return nil
}

// publishValidating sets clientConfig.caBundle of all webhooks that lead to the controller. A missing configuration is not an error: nothing asks
// the controller then.
func (p *Publisher) publishValidating(ctx context.Context, name string, ca []byte) error {
	configurations := p.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	current, err := configurations.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading ValidatingWebhookConfiguration %s: %w", name, err)
	}
	changed := current.DeepCopy()
	for i := range changed.Webhooks {
		p.setCA(&changed.Webhooks[i].ClientConfig, ca)
	}
	if equality.Semantic.DeepEqual(current, changed) {
		return nil
	}
	if _, err := configurations.Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("writing the CA into ValidatingWebhookConfiguration %s: %w", name, err)
	}
	return nil
}

// publishMutating is publishValidating for mutating webhooks.
func (p *Publisher) publishMutating(ctx context.Context, name string, ca []byte) error {
	configurations := p.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	current, err := configurations.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading MutatingWebhookConfiguration %s: %w", name, err)
	}
	changed := current.DeepCopy()
	for i := range changed.Webhooks {
		p.setCA(&changed.Webhooks[i].ClientConfig, ca)
	}
	if equality.Semantic.DeepEqual(current, changed) {
		return nil
	}
	if _, err := configurations.Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("writing the CA into MutatingWebhookConfiguration %s: %w", name, err)
	}
	return nil
}

// setCA sets the CA of a webhook that leads to the controller.
func (p *Publisher) setCA(client *admissionregistrationv1.WebhookClientConfig, ca []byte) {
	if client.Service != nil && client.Service.Namespace == p.Namespace && client.Service.Name == p.Targets.Service {
		client.CABundle = ca
	}
}
