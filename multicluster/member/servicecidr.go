// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const requestTimeout = 10 * time.Second

// serviceRange matches the sentence in which Kubernetes before 1.33 names the Service network, in a refusal: "The range of valid IPs is 10.96.0.0/12".
var serviceRange = regexp.MustCompile(`range of valid IPs is ([0-9a-fA-F:./]+[0-9a-fA-F])`)

// discoverServiceCIDR returns the IPv4 Service network: the first of the ServiceCIDR kubernetes, or, before Kubernetes 1.33, the one in the refusal of
// a Service with an impossible address, which is only tried.
func discoverServiceCIDR(ctx context.Context, kube kubernetes.Interface, namespace string) (netip.Prefix, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	object, err := kube.NetworkingV1().ServiceCIDRs().Get(ctx, "kubernetes", metav1.GetOptions{})
	if err == nil {
		for _, text := range object.Spec.CIDRs {
			if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Addr().Is4() {
				return prefix, nil
			}
		}
		return netip.Prefix{}, fmt.Errorf("ServiceCIDR kubernetes has %q and none of IPv4; set serviceCIDR", object.Spec.CIDRs)
	}
	if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return netip.Prefix{}, fmt.Errorf("reading ServiceCIDR kubernetes: %w", err)
	}
	_, err = kube.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "invalid-svc"},
		Spec:       corev1.ServiceSpec{ClusterIP: "0.0.0.0", Ports: []corev1.ServicePort{{Port: 443, Protocol: corev1.ProtocolTCP}}},
	}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil {
		return netip.Prefix{}, fmt.Errorf("the Kubernetes API accepts ClusterIP 0.0.0.0, so the Service network is not known; set serviceCIDR")
	}
	return serviceRangeIn(err)
}

// serviceRangeIn reads the network in a refusal.
func serviceRangeIn(err error) (netip.Prefix, error) {
	for _, m := range serviceRange.FindAllStringSubmatch(err.Error(), -1) {
		if prefix, parseErr := netip.ParsePrefix(m[1]); parseErr == nil && prefix.Addr().Is4() {
			return prefix.Masked(), nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("no Service network of IPv4 is named by the refusal of a Service with ClusterIP 0.0.0.0; set serviceCIDR: %w", err)
}
