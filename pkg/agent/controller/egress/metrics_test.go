// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// TestMetrics: addresses that packets get count, refused ones do not; statuses count if they were written.
func TestMetrics(t *testing.T) {
	api := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		crd.Egresses: "EgressList", crd.ExternalIPPools: "ExternalIPPoolList",
	})
	objects, err := crd.NewEgressObjects(api)
	require.NoError(t, err)
	n, w := newFakeNode(t), newTestWorld()
	c := &Controller{
		Config: Config{
			NodeName: "here", PodNetworks: testNetworks, Objects: objects, Statuses: api, Problems: problem.NewRecorder(),
			Failures: func() map[string]error { return nil },
		},
		world: *w, realizer: newRealizer(n, n, time.Now, n.endNone), reported: map[problem.Reason]map[string]bool{}, taken: map[string]time.Time{},
	}
	metrics := func(addresses, updates int) {
		t.Helper()
		require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(fmt.Sprintf(`
# HELP antrea_agent_egress_address_count Addresses of this Node that Pods with an Egress leave with.
# TYPE antrea_agent_egress_address_count gauge
antrea_agent_egress_address_count %d
# HELP antrea_agent_egress_status_update_count Statuses of Egresses that this Node has written.
# TYPE antrea_agent_egress_status_update_count counter
antrea_agent_egress_status_update_count %d
`, addresses, updates))))
	}
	metrics(0, 0)
	e := makeEgress("e", 0, "192.168.1.1")
	refused := makeEgress("refused", 1, "127.0.0.1")
	c.former.egresses = map[string]*v1beta1.Egress{"e": e, "refused": refused}
	c.world.local.Insert(netip.MustParseAddr("192.168.1.1"), netip.MustParseAddr("127.0.0.1"))
	object := crd.New(v1beta1.EgressKind, "e")
	require.NoError(t, crd.Fill(object, e))
	_, err = api.Resource(crd.Egresses).Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)

	w, p, _, err := c.realize(t.Context())
	require.NoError(t, err)
	metrics(1, 0)
	delete(w.egresses, "refused")
	require.NoError(t, c.writeStatuses(t.Context(), w, p))
	metrics(1, 1)
	api.PrependReactor("update", "egresses", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(crd.Egresses.GroupResource(), "e", nil)
	})
	require.NoError(t, c.writeStatuses(t.Context(), w, p))
	metrics(1, 1)
	c.world.local.Delete(netip.MustParseAddr("192.168.1.1"))
	_, _, _, err = c.realize(t.Context())
	require.NoError(t, err)
	metrics(0, 1)
}
