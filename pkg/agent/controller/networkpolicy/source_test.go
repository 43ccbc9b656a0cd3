// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/antrea-oncache/antrea/pkg/client/controlplane"
)

type clients struct {
	host string
	err  error
}

func (c clients) Client(context.Context) (*controlplane.Client, error) {
	if c.err != nil {
		return nil, c.err
	}
	return controlplane.NewForConfig(&rest.Config{Host: c.host})
}

func (clients) Moved() <-chan struct{} { return nil }

// TestSource: each resource is watched at its path, for the own Node.
func TestSource(t *testing.T) {
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path + " " + r.URL.Query().Get("fieldSelector") + " " + r.URL.Query().Get("watch")
	}))
	defer server.Close()
	source := NewSource(clients{host: server.URL}, "node-1")
	for resource, path := range map[Resource]string{
		NetworkPolicies: "networkpolicies", AddressGroups: "addressgroups", AppliedToGroups: "appliedtogroups",
	} {
		w, err := source.Watch(t.Context(), resource)
		require.NoError(t, err)
		w.Stop()
		require.Equal(t, "/apis/controlplane.antrea.io/v1beta2/"+path+" nodeName=node-1 true", <-asked)
	}
	_, err := source.Watch(t.Context(), "pods")
	require.ErrorContains(t, err, `unknown resource "pods"`)

	absent := errors.New("absent")
	_, err = NewSource(clients{err: absent}, "node-1").Watch(t.Context(), NetworkPolicies)
	require.ErrorIs(t, err, absent)
}
