// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycheck

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// firstSelector refuses the first selector that selects nothing definite.
func firstSelector(selectors ...*metav1.LabelSelector) string {
	for _, s := range selectors {
		if refusal := selector(s); refusal != "" {
			return refusal
		}
	}
	return ""
}

func selector(s *metav1.LabelSelector) string {
	if s == nil {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		if errs := validation.IsQualifiedName(key); len(errs) > 0 {
			return fmt.Sprintf("Invalid label key: %s: %s", key, strings.Join(errs, "; "))
		}
		if value := s.MatchLabels[key]; len(validation.IsValidLabelValue(value)) > 0 {
			return fmt.Sprintf("Invalid label value: %s: %s", value, strings.Join(validation.IsValidLabelValue(value), "; "))
		}
	}
	if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
		return fmt.Sprintf("Invalid label selector: %v", err)
	}
	return ""
}

func ipBlock(block *v1beta1.IPBlock) string {
	if block == nil {
		return ""
	}
	if block.CIDR == "" {
		return "field 'cidr' is required in ipBlock"
	}
	cidr, err := netip.ParsePrefix(block.CIDR)
	if err != nil {
		return fmt.Sprintf("invalid CIDR %s in ipBlock: %v", block.CIDR, err)
	}
	cidr = cidr.Masked()
	for _, text := range block.Except {
		except, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Sprintf("invalid except CIDR %s in ipBlock: %v", text, err)
		}
		if except.Bits() <= cidr.Bits() || !cidr.Contains(except.Addr()) {
			return fmt.Sprintf("except CIDR %s is not a strict subset of CIDR %s", text, block.CIDR)
		}
	}
	return ""
}

// isMulticast reports whether a CIDR begins with a multicast address.
func isMulticast(cidr string) bool {
	prefix, err := netip.ParsePrefix(cidr)
	return err == nil && prefix.Addr().IsMulticast()
}
