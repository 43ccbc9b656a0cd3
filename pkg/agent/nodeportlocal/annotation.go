// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeportlocal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
)

const (
	// PodAnnotation tells which ports of the Node lead to the Pod.
	PodAnnotation = "nodeportlocal.antrea.io"
	// ServiceAnnotation is "true" at Services whose Pods get ports of their Nodes.
	ServiceAnnotation = "nodeportlocal.antrea.io/enabled"

	familyIPv4 = "IPv4"
	familyIPv6 = "IPv6"
)

// entry is an element of PodAnnotation. Names and order of the fields are Antrea's.
type entry struct {
	PodPort  uint16 `json:"podPort"`
	NodeIP   string `json:"nodeIP"`
	NodePort uint16 `json:"nodePort"`
	// Protocol is tcp or udp.
	Protocol string `json:"protocol"`
	// IPFamily is IPv4 or IPv6; former versions of Antrea left it out for IPv4.
	IPFamily string `json:"ipFamily"`
}

func (e entry) compare(o entry) int {
	return cmp.Or(cmp.Compare(e.IPFamily, o.IPFamily), cmp.Compare(e.PodPort, o.PodPort), cmp.Compare(e.Protocol, o.Protocol), cmp.Compare(e.NodePort, o.NodePort), cmp.Compare(e.NodeIP, o.NodeIP))
}

func familyOf(addr netip.Addr) string {
	if addr.Is4() {
		return familyIPv4
	}
	return familyIPv6
}

// format returns the annotation, empty for no entries.
func format(entries []entry) string {
	if len(entries) == 0 {
		return ""
	}
	text, err := json.Marshal(entries)
	if err != nil {
		panic(fmt.Sprintf("numbers and texts have no JSON: %v", err))
	}
	return string(text)
}

// parse returns the entries of an annotation in order, nothing if it cannot be read.
func parse(annotation string) (entries []entry) {
	if json.Unmarshal([]byte(annotation), &entries) != nil {
		return nil
	}
	for i := range entries {
		entries[i].IPFamily = cmp.Or(entries[i].IPFamily, familyIPv4)
	}
	slices.SortFunc(entries, entry.compare)
	return entries
}

// says reports whether an annotation already tells the entries, which are in order.
func says(annotation string, entries []entry) bool {
	if len(entries) == 0 {
		return false
	}
	return slices.Equal(parse(annotation), entries)
}
