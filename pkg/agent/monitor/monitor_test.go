// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"context"
	"encoding/base64"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/log/logtest"
)

// fakeQuerier has one more Pod at each question.
type fakeQuerier struct{ pods int32 }

func (f *fakeQuerier) AgentInfo(context.Context) apis.AgentInfo {
	f.pods++
	return apis.AgentInfo{
		Version: "v1", NodeRef: corev1.ObjectReference{Kind: "Node", Name: "n1"}, LocalPodNum: f.pods, APIPort: 10350,
		OVSInfo:         apis.OVSInfo{FlowTable: map[string]int32{"Classifier": 3}},
		AgentConditions: []apis.AgentCondition{{Type: apis.AgentHealthy, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()}},
		NetworkInfo:     apis.NetworkInfo{TransportIPs: []string{"192.168.0.1"}},
	}
}

func TestObjectIsKeptUpToDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		object := crd.New(v1beta1.AntreaAgentInfoKind, "n1")
		object.SetLabels(map[string]string{"kept": "yes"})
		object.Object["nodePortLocalPortRange"] = "of a former agent"
		client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), object)
		go (&Monitor{Client: client, Querier: &fakeQuerier{}, CABundle: []byte("CA")}).Run(t.Context())
		for n := int64(1); n < 4; n++ {
			synctest.Wait()
			got, err := client.Resource(crd.AgentInfos).Get(t.Context(), "n1", metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, n, got.Object["localPodNum"])
			require.Equal(t, base64.StdEncoding.EncodeToString([]byte("CA")), got.Object["apiCABundle"])
			require.Equal(t, map[string]any{"Classifier": int64(3)}, got.Object["ovsInfo"].(map[string]any)["flowTable"])
			require.Equal(t, "True", got.Object["agentConditions"].([]any)[0].(map[string]any)["status"])
			require.Equal(t, map[string]string{"kept": "yes"}, got.GetLabels())
			require.NotContains(t, got.Object, "networkInfo", "the CRD does not have it")
			require.NotContains(t, got.Object, "nodePortLocalPortRange")
			time.Sleep(interval)
		}
	})
}

// TestMissingObject: a cluster without the CRD or the object gets one line in the log.
func TestMissingObject(t *testing.T) {
	lines := logtest.Capture(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
		(&Monitor{Client: client, Querier: &fakeQuerier{}}).Run(ctx)
	})
	require.Len(t, lines("CRD antreaagentinfos.crd.antrea.io is not installed"), 1)
	require.Len(t, lines(), 1)
}
