// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package clusteridentity

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/pkg/log/logtest"
)

func configMap(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: ConfigMap}, Data: data}
}

func stored(t *testing.T, client *fake.Clientset) map[string]string {
	t.Helper()
	current, err := client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), ConfigMap, metav1.GetOptions{})
	require.NoError(t, err)
	return current.Data
}

func TestIdentityIsMadeOnce(t *testing.T) {
	for _, tc := range []struct {
		name   string
		exists []runtime.Object
		others map[string]string
	}{
		{"no ConfigMap", nil, map[string]string{}},
		{"empty ConfigMap", []runtime.Object{configMap(nil)}, map[string]string{}},
		{"empty value", []runtime.Object{configMap(map[string]string{Key: "", "note": "kept"})}, map[string]string{"note": "kept"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := fake.NewClientset(tc.exists...)
			first, err := ensure(t.Context(), client, "kube-system")
			require.NoError(t, err)
			require.NoError(t, uuid.Validate(first))
			second, err := ensure(t.Context(), client, "kube-system")
			require.NoError(t, err)
			require.Equal(t, first, second)
			tc.others[Key] = first
			require.Equal(t, tc.others, stored(t, client))
		})
	}
}

func TestWhatIsThereIsNotChanged(t *testing.T) {
	client := fake.NewClientset(configMap(map[string]string{Key: "mine"}))
	_, err := ensure(t.Context(), client, "kube-system")
	require.ErrorContains(t, err, `has uuid: "mine", want a UUID`)
	require.Equal(t, map[string]string{Key: "mine"}, stored(t, client))
}

func TestAnotherControllerIsFaster(t *testing.T) {
	client := fake.NewClientset()
	theirs := uuid.NewString()
	client.PrependReactor("create", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return false, nil, client.Tracker().Create(action.GetResource(), configMap(map[string]string{Key: theirs}), "kube-system")
	})
	identity, err := ensure(t.Context(), client, "kube-system")
	require.NoError(t, err)
	require.Equal(t, theirs, identity)
}

// TestRunKeepsTrying: an API that fails several times gets one line in the log, and in the end the cluster has its identity.
func TestRunKeepsTrying(t *testing.T) {
	lines := logtest.Capture(t)
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		failures := 5
		client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
			failures--
			return failures >= 0, nil, errors.New("no quorum")
		})
		Run(t.Context(), client, "kube-system")
		require.NoError(t, uuid.Validate(stored(t, client)[Key]))
	})
	require.Len(t, lines(), 2)
	require.Contains(t, lines()[0], "no quorum")
	require.Contains(t, lines()[1], "The cluster has an identity")
}
