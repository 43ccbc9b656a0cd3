// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"fmt"
	"strings"
	"sync"

	"github.com/cilium/ebpf/btf"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// enumNames returns the enumerators of the C enum in order, without prefix, in lower case: "ONC_NOT_IP" is "not_ip". They
// come from the type information of the compiled object, so that C, Go, metrics and documentation cannot differ.
func enumNames(types *btf.Spec, name string) ([]string, error) {
	var e *btf.Enum
	if err := types.TypeByName(name, &e); err != nil {
		return nil, fmt.Errorf("type %s of the ONCache object: %w", name, err)
	}
	out := make([]string, len(e.Values)-1) // the last one is the count
	for _, v := range e.Values[:len(e.Values)-1] {
		out[v.Value] = strings.ToLower(strings.TrimPrefix(v.Name, "ONC_"))
	}
	return out, nil
}

// Reasons lists everything that can happen to a packet (explained in bpf/oncache/reasons.h); the index is its number.
func Reasons() ([]string, error) { return reasons() }

// Programs lists the four programs; the index is the number.
func Programs() ([]string, error) { return programs() }

var (
	reasons  = sync.OnceValues(func() ([]string, error) { return embeddedEnum("onc_reason") })
	programs = sync.OnceValues(func() ([]string, error) { return embeddedEnum("onc_program") })
)

func embeddedEnum(name string) ([]string, error) {
	spec, err := object.LoadBpf()
	if err != nil {
		return nil, err
	}
	return enumNames(spec.Types, name)
}
