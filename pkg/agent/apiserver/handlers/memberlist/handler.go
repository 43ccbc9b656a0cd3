// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memberlist serves /memberlist: a list of apis.Member.
package memberlist

import (
	"cmp"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/memberlist"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
)

// HandleFunc lists all Nodes and whether they may have addresses of pools. While that is not known, it answers 503 with the reason.
func HandleFunc(members interface{ Snapshot() *memberlist.Snapshot }, lister corelisters.NodeLister) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		now := members.Snapshot()
		if now.Unknown != nil {
			http.Error(w, "the members are not known: "+now.Unknown.Error(), http.StatusServiceUnavailable)
			return
		}
		nodes, err := lister.List(labels.Everything())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		list := []apis.Member{}
		for _, node := range nodes {
			member := apis.Member{NodeName: node.Name, Status: "Dead"}
			if now.Alive.Has(node.Name) {
				member.Status = "Alive"
			}
			if len(node.Status.Addresses) > 0 {
				member.IP = node.Status.Addresses[0].Address
			}
			list = append(list, member)
		}
		slices.SortFunc(list, func(a, b apis.Member) int { return cmp.Compare(a.NodeName, b.NodeName) })
		handlers.WriteJSON(w, list)
	}
}
