// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// RuleDoubts says what cannot be read of some rules of a policy of which everything else is known, by rule, such as "ingress[0]".
type RuleDoubts map[string]error

func (d RuleDoubts) Error() string {
	var texts []string
	for _, rule := range slices.Sorted(maps.Keys(d)) {
		texts = append(texts, fmt.Sprintf("spec.%s: %v", rule, d[rule]))
	}
	return strings.Join(texts, "; ")
}

// ReadParts returns what can be read of an object, and what is in doubt: RuleDoubts if only parts of rules are, which do not say what the rules
// apply to; otherwise any part of the spec may be missing. A rule without its unreadable fields stands for one in doubt, a rule without any field
// for a list of rules that is none, or for a missing one beside an unknown field of the spec, which may be its name misspelt.
func ReadParts[T any](object *unstructured.Unstructured) (*T, error) {
	content, doubt := ReadStrictly[T](object)
	if doubt == nil {
		return content, nil
	}
	p := parts[T]{kept: map[string]any{}, rules: RuleDoubts{}}
	if spec, ok := object.Object["spec"].(map[string]any); ok {
		p.readSpec(spec)
	} else {
		p.elsewhere = errNoSpec
		p.kept["ingress"], p.kept["egress"] = []any{map[string]any{}}, []any{map[string]any{}}
	}
	read := map[string]any{"spec": p.kept, "metadata": map[string]any{
		"name": object.GetName(), "namespace": object.GetNamespace(), "uid": string(object.GetUID()), "generation": object.GetGeneration(),
	}}
	for _, field := range []string{"metadata", "status"} {
		if one := map[string]any{field: object.Object[field]}; runtime.DefaultUnstructuredConverter.FromUnstructured(one, new(T)) == nil {
			read[field] = one[field]
		}
	}
	content, err := Read[T](&unstructured.Unstructured{Object: read})
	if err != nil {
		return new(T), err
	}
	switch {
	case p.elsewhere != nil:
		return content, fmt.Errorf("decoding %s %s: %w", object.GetKind(), object.GetName(), p.elsewhere)
	case len(p.rules) > 0:
		return content, p.rules
	}
	return content, nil // All of the spec is known.
}

// parts collects what can be read of a spec.
type parts[T any] struct {
	kept  map[string]any
	rules RuleDoubts
	// elsewhere, if not nil, names doubts that are not in rules, or about what a rule applies to.
	elsewhere error
}

func (p *parts[T]) readSpec(spec map[string]any) {
	unknown := false
	for _, field := range slices.Sorted(maps.Keys(spec)) {
		in := func(value any) map[string]any { return map[string]any{field: value} }
		list, isList := spec[field].([]any)
		switch {
		case field != "ingress" && field != "egress":
			unknown = unknown || p.decode(in(nil)) != nil
			p.keep(p.kept, field, spec[field], "spec."+field, in)
		case isList:
			p.readRules(field, list)
		default:
			p.kept[field] = []any{map[string]any{}}
			p.elsewhere = errors.Join(p.elsewhere, located("spec."+field, p.decode(in(spec[field]))))
		}
	}
	for _, field := range []string{"ingress", "egress"} {
		if unknown && spec[field] == nil {
			p.kept[field] = []any{map[string]any{}}
		}
	}
}

// located names the field of an error, unless the error does so.
func located(place string, err error) error {
	if err == nil || runtime.IsStrictDecodingError(err) {
		return err
	}
	return fmt.Errorf("%s: %w", place, err)
}

// keep adds to kept what can be read of a field, of which in makes a spec: all, what is known of it, or its value as a text.
func (p *parts[T]) keep(kept map[string]any, field string, value any, place string, in func(any) map[string]any) {
	err := p.decode(in(value))
	p.elsewhere = errors.Join(p.elsewhere, located(place, err))
	if text := fmt.Sprint(value); err == nil || runtime.IsStrictDecodingError(err) {
		kept[field] = value
	} else if p.decode(in(text)) == nil {
		kept[field] = text
	}
}

// decode reads a spec strictly.
func (p *parts[T]) decode(spec map[string]any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(map[string]any{"spec": spec}, new(T), true)
}

// readRules keeps of each rule what can be read.
func (p *parts[T]) readRules(side string, list []any) {
	kept := make([]any, len(list))
	for i, rule := range list {
		// The decoder's error has the place in its list.
		in := func(rule any) map[string]any { return map[string]any{side: append(make([]any, i, i+1), rule)} }
		if kept[i] = rule; p.decode(map[string]any{side: []any{rule}}) == nil {
			continue
		}
		place := fmt.Sprintf("%s[%d]", side, i)
		readable, doubt := map[string]any{}, error(nil)
		fields, isRule := rule.(map[string]any)
		if !isRule {
			doubt = p.decode(in(rule))
		}
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			of := func(value any) map[string]any { return in(map[string]any{field: value}) }
			if field == "appliedTo" {
				p.keep(readable, field, fields[field], "spec."+place+".appliedTo", of)
			} else if err := p.decode(of(fields[field])); err == nil {
				readable[field] = fields[field]
			} else {
				doubt = errors.Join(doubt, located(field, err))
			}
		}
		kept[i] = readable
		if doubt != nil {
			p.rules[place] = doubt
		}
	}
	p.kept[side] = kept
}
