// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apis/externalip"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// Paths of the webhooks, as in Antrea.
const (
	EgressPath = "/validate/egress"
	PoolPath   = "/validate/externalippool"
)

// Validator returns the reason for which the Kubernetes API must refuse a request, or "".
type Validator = func(*admissionv1.AdmissionRequest) (refusal string, err error)

// Validators answer the webhooks of Egresses and pools, by path. Conditions and messages are Antrea's, but for selectors that cannot be read,
// and addresses that Services have from pools, which are refused. Without the feature gate (egress) no Egress can be made or changed, and without both none of the pools.
func Validators(objects *crd.EgressObjects, services cache.SharedIndexInformer, egress, serviceExternalIP bool) map[string]Validator {
	v := &validator{objects, services}
	off := func(on bool, refusal string) string {
		if on {
			return ""
		}
		return refusal
	}
	noEgress := off(egress, "the feature gate Egress of antrea-controller is off")
	noPool := off(egress || serviceExternalIP, "the feature gates Egress and ServiceExternalIP of antrea-controller are off")
	return map[string]Validator{
		EgressPath: func(request *admissionv1.AdmissionRequest) (string, error) {
			return judge(v, request, noEgress, func(e *v1beta1.Egress) any { return e.Spec }, v.egress)
		},
		PoolPath: func(request *admissionv1.AdmissionRequest) (string, error) {
			return judge(v, request, noPool, func(p *v1beta1.ExternalIPPool) any { return p.Spec }, v.pool)
		},
	}
}

type validator struct {
	objects  *crd.EgressObjects
	services cache.SharedIndexInformer
}

// judge asks refuse about an object; former is nil for a new one. An object whose spec stays as it is can always be changed, and any other
// change is refused if off says why.
func judge[T any](v *validator, request *admissionv1.AdmissionRequest, off string, spec func(*T) any, refuse func(wanted, former *T) error) (string, error) {
	if request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
		return "", nil
	}
	wanted := new(T)
	if err := json.Unmarshal(request.Object.Raw, wanted); err != nil {
		return fmt.Sprintf("reading the %s: %v", request.Kind.Kind, err), nil
	}
	var former *T
	if request.Operation == admissionv1.Update {
		former = new(T)
		if err := json.Unmarshal(request.OldObject.Raw, former); err != nil {
			return fmt.Sprintf("reading the former %s: %v", request.Kind.Kind, err), nil
		}
		if equality.Semantic.DeepEqual(spec(wanted), spec(former)) {
			return "", nil
		}
	}
	if off != "" {
		return off, nil
	}
	if err := v.objects.Synced(); err != nil {
		return "", err
	}
	if !v.services.HasSynced() {
		return "", errors.New("services are not read yet")
	}
	if err := refuse(wanted, former); err != nil {
		return err.Error(), nil
	}
	return "", nil
}

func (v *validator) egress(wanted, former *v1beta1.Egress) error {
	spec := &wanted.Spec
	if len(spec.EgressIPs) > 0 || len(spec.ExternalIPPools) > 0 {
		return fmt.Errorf("spec.egressIPs and spec.externalIPPools are not supported yet")
	}
	if b := spec.Bandwidth; b != nil {
		for _, field := range []struct{ name, text string }{{"rate", b.Rate}, {"burst", b.Burst}} {
			if q, err := resource.ParseQuantity(field.text); err != nil || q.Sign() < 0 {
				return fmt.Errorf("bandwidth.%s %q is not a quantity of bits, such as 100M", field.name, field.text)
			}
		}
	}
	for _, selector := range []*metav1.LabelSelector{spec.AppliedTo.PodSelector, spec.AppliedTo.NamespaceSelector} {
		if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
			return fmt.Errorf("appliedTo: invalid label selector: %w", err)
		}
	}
	if former != nil && spec.EgressIP == former.Spec.EgressIP && spec.ExternalIPPool == former.Spec.ExternalIPPool {
		return nil
	}
	return v.address(spec)
}

// address returns why an Egress may not ask for the address that it asks for.
func (v *validator) address(spec *v1beta1.EgressSpec) error {
	if spec.EgressIP == "" {
		return nil
	}
	addr, err := externalip.ParseAddr(spec.EgressIP)
	if err != nil {
		return fmt.Errorf("IP %s is not valid", spec.EgressIP)
	}
	for _, stored := range v.services.GetStore().List() {
		if s, ok := stored.(*corev1.Service); ok && externalip.Pool(s) != "" && externalip.Address(s) == addr {
			return fmt.Errorf("IP %s is allocated to Service %s/%s from ExternalIPPool %s", addr, s.Namespace, s.Name, externalip.Pool(s))
		}
	}
	if spec.ExternalIPPool == "" {
		return nil
	}
	stored, _, _ := v.objects.ExternalIPPools.GetStore().GetByKey(spec.ExternalIPPool)
	source, ok := stored.(*v1beta1.ExternalIPPool)
	if !ok {
		return fmt.Errorf("ExternalIPPool %s does not exist", spec.ExternalIPPool)
	}
	if !externalip.AddressesOf(source).Contains(addr) {
		return fmt.Errorf("IP %s is not within the IP range", spec.EgressIP)
	}
	return nil
}

func (v *validator) pool(wanted, former *v1beta1.ExternalIPPool) error {
	if former != nil {
		for _, r := range former.Spec.IPRanges {
			if !slices.Contains(wanted.Spec.IPRanges, r) {
				return fmt.Errorf("existing IPRanges %v cannot be updated or deleted", former.Spec.IPRanges)
			}
		}
	}
	if _, err := metav1.LabelSelectorAsSelector(&wanted.Spec.NodeSelector); err != nil {
		return fmt.Errorf("nodeSelector: invalid label selector: %w", err)
	}
	var ranges []externalip.Range
	for _, text := range wanted.Spec.IPRanges {
		r, err := externalip.ReadRange(text)
		if err != nil {
			return err
		}
		for _, other := range ranges {
			if r.Overlaps(other) {
				return fmt.Errorf("IPRange %s overlaps with IPRange %s", r.Text, other.Text)
			}
		}
		ranges = append(ranges, r)
	}
	if err := v.overlap(wanted.Name, ranges); err != nil {
		return err
	}
	if wanted.Spec.SubnetInfo == nil {
		return nil
	}
	return inSubnet(wanted.Spec.SubnetInfo, ranges)
}

// overlap returns an error if another pool has addresses of the ranges.
func (v *validator) overlap(name string, ranges []externalip.Range) error {
	for _, pool := range crd.Stored[v1beta1.ExternalIPPool](v.objects.ExternalIPPools) {
		if pool.Name == name {
			continue
		}
		for _, text := range pool.Spec.IPRanges {
			other, err := externalip.ReadRange(text)
			if err != nil {
				continue
			}
			for _, r := range ranges {
				if r.Overlaps(other) {
					return fmt.Errorf("IPRange %s overlaps with IPRange %s of ExternalIPPool %s", r.Text, other.Text, pool.Name)
				}
			}
		}
	}
	return nil
}

func inSubnet(info *v1beta1.SubnetInfo, ranges []externalip.Range) error {
	gateway, err := externalip.ParseAddr(info.Gateway)
	if err != nil {
		return fmt.Errorf("invalid gateway address %s", info.Gateway)
	}
	if length := int(info.PrefixLength); length < 1 || length >= gateway.BitLen() {
		return fmt.Errorf("invalid prefixLength %d: it must be 1 to %d", length, gateway.BitLen()-1)
	}
	subnet := netip.PrefixFrom(gateway, int(info.PrefixLength)).Masked()
	for _, r := range ranges {
		if !subnet.Contains(r.First) || !subnet.Contains(r.Last) {
			return fmt.Errorf("IPRange %s must be a strict subset of the subnet %s/%d", r.Text, info.Gateway, info.PrefixLength)
		}
	}
	return nil
}
