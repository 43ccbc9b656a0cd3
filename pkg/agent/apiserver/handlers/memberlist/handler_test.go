// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package memberlist

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/agent/memberlist"
)

type fixed struct{ snapshot *memberlist.Snapshot }

func (f fixed) Snapshot() *memberlist.Snapshot { return f.snapshot }

func TestHandleFunc(t *testing.T) {
	nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for name, addr := range map[string]string{"n1": "192.0.2.1", "n2": "192.0.2.2", "n3": ""} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if addr != "" {
			node.Status.Addresses = []corev1.NodeAddress{{Address: addr}, {Address: "192.0.2.9"}}
		}
		require.NoError(t, nodes.Add(node))
	}
	ask := func(s *memberlist.Snapshot) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		HandleFunc(fixed{s}, corelisters.NewNodeLister(nodes))(w, httptest.NewRequest("GET", "/memberlist", nil))
		return w
	}
	w := ask(&memberlist.Snapshot{Alive: sets.New("n2", "n3", "gone")})
	require.Equal(t, 200, w.Code)
	require.JSONEq(t, `[{"nodeName":"n1","ip":"192.0.2.1","status":"Dead"},{"nodeName":"n2","ip":"192.0.2.2","status":"Alive"},{"nodeName":"n3","status":"Alive"}]`, w.Body.String())
	w = ask(&memberlist.Snapshot{Unknown: errors.New("there is no key")})
	require.Equal(t, 503, w.Code)
	require.Contains(t, w.Body.String(), "there is no key")
}
