// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// WebhookPath is the path of the admission webhook for Traceflows, as in Antrea.
const WebhookPath = "/validate/traceflow"

// Validator answers the webhook traceflowvalidator.antrea.io: it returns the reason for which the Kubernetes API must
// refuse a request, or "". The reasons are Antrea's; further faults of a Traceflow are reported in its status. Before
// synced is closed there is no answer. Without the feature gate (enabled), no Traceflow can be created.
func Validator(pods Pods, synced <-chan struct{}, enabled bool) func(*admissionv1.AdmissionRequest) (refusal string, err error) {
	return func(request *admissionv1.AdmissionRequest) (string, error) {
		select {
		case <-synced:
		default:
			return "", errors.New("not all Pods of the Kubernetes API are read yet")
		}
		if !enabled && request.Operation == admissionv1.Create {
			return "the feature gate Traceflow of antrea-controller is off", nil
		}
		return admit(request, pods), nil
	}
}

func admit(request *admissionv1.AdmissionRequest, pods Pods) (refusal string) {
	var wanted, former v1beta1.Traceflow
	if err := json.Unmarshal(request.Object.Raw, &wanted); err != nil {
		return fmt.Sprintf("reading the Traceflow: %v", err)
	}
	switch request.Operation {
	case admissionv1.Create:
	case admissionv1.Update:
		// Labels and finalizers can be changed when the Pod is gone.
		if json.Unmarshal(request.OldObject.Raw, &former) == nil && equality.Semantic.DeepEqual(wanted.Spec, former.Spec) {
			return ""
		}
	default:
		return fmt.Sprintf("invalid request operation %s for Traceflow", request.Operation)
	}
	if err := impossible(&wanted, pods); err != nil {
		return err.Error()
	}
	return ""
}

// impossible returns why a Traceflow can never run, which the webhook refuses.
func impossible(t *v1beta1.Traceflow, pods Pods) error {
	source := t.Spec.Source
	if !t.Spec.LiveTraffic {
		if source.Namespace == "" || source.Pod == "" {
			return errors.New("source Pod must be specified in non-live-traffic Traceflow")
		}
		switch hostNetwork, found := pods.PodNetwork(source.Namespace, source.Pod); {
		case !found:
			return fmt.Errorf("requested source Pod %s/%s not found", source.Namespace, source.Pod)
		case hostNetwork:
			return errors.New("using hostNetwork Pod as source in non-live-traffic Traceflow is not supported")
		}
	}
	if source.Pod == "" && t.Spec.Destination.Pod == "" {
		//lint:ignore ST1005 Antrea's words
		return fmt.Errorf("Traceflow %s has neither source nor destination Pod specified", t.Name)
	}
	return nil
}

// validate returns what is wrong with a Traceflow.
func validate(t *v1beta1.Traceflow, pods Pods) error {
	spec := &t.Spec
	source, destination := spec.Source, spec.Destination
	ends := 0
	for _, end := range []string{destination.Pod, destination.Service, destination.IP} {
		if end != "" {
			ends++
		}
	}
	switch {
	case ends > 1:
		return errors.New("destination: only one of pod, service and ip may be set")
	case source.Pod != "" && source.IP != "":
		return errors.New("source: only one of pod and ip may be set")
	case source.Pod != "" && source.Namespace == "":
		return fmt.Errorf("source: Pod %s needs a namespace", source.Pod)
	case destination.Namespace == "" && destination.IP == "" && ends > 0:
		return fmt.Errorf("destination: %s needs a namespace", cmp.Or(destination.Pod, destination.Service))
	}
	if err := impossible(t, pods); err != nil {
		return err
	}
	if !spec.LiveTraffic && ends == 0 {
		return errors.New("destination must be specified in non-live-traffic Traceflow")
	}
	for _, addr := range []string{source.IP, destination.IP} {
		if addr == "" {
			continue
		}
		if _, err := netip.ParseAddr(addr); err != nil {
			return fmt.Errorf("address %q: %w", addr, err)
		}
	}
	namespace, local, what := tracedPod(spec)
	hostNetwork, found := pods.PodNetwork(namespace, local)
	switch {
	case !found:
		return fmt.Errorf("requested %s Pod %s/%s not found", what, namespace, local)
	case hostNetwork:
		return fmt.Errorf("using hostNetwork Pod as %s is not supported: %s/%s has no interface in Open vSwitch", what, namespace, local)
	}
	return nil
}

// tracedPod returns the Pod without which there is nothing to trace: the source, or the destination if the source is not a Pod.
func tracedPod(spec *v1beta1.TraceflowSpec) (namespace, name, what string) {
	if spec.Source.Pod != "" {
		return spec.Source.Namespace, spec.Source.Pod, "source"
	}
	return spec.Destination.Namespace, spec.Destination.Pod, "destination"
}

// deleted returns why a running trace ends now; nil while its Pod is there.
func deleted(t *v1beta1.Traceflow, pods Pods) error {
	namespace, name, what := tracedPod(&t.Spec)
	if _, found := pods.PodNetwork(namespace, name); !found {
		return fmt.Errorf("%s Pod %s/%s was deleted while the trace ran", what, namespace, name)
	}
	return nil
}
