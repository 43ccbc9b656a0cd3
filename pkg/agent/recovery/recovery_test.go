// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics/testutil"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// reportHere makes this test's recorder the process's.
func reportHere(t *testing.T) *problem.Recorder {
	t.Helper()
	r := problem.NewRecorder()
	ReportTo(r)
	panics.Reset()
	t.Cleanup(func() { reporter.Store(nil) })
	return r
}

func count(t *testing.T, boundary string) float64 {
	t.Helper()
	n, err := testutil.GetCounterMetricValue(panics.WithLabelValues(boundary))
	require.NoError(t, err)
	return n
}

func TestCall(t *testing.T) {
	r := reportHere(t)
	boom := errors.New("boom")
	subject := problem.Subject{Kind: "Pod", Namespace: "test", Name: "web"}
	require.NoError(t, Call("test", subject, func() error { return nil }))
	require.ErrorIs(t, Call("test", subject, func() error { return boom }), boom)
	problems, _ := r.List()
	require.Empty(t, problems, "an error is not a panic")

	for range 2 {
		err := Call("test", subject, func() error {
			var nothing *corev1.Pod
			_ = nothing.Name
			return nil
		})
		require.True(t, Is(err))
		require.ErrorContains(t, err, "nil pointer")
	}
	problems, _ = r.List()
	require.Len(t, problems, 1)
	require.Equal(t, subject, problems[0].Subject)
	require.Equal(t, ReasonPanic, problems[0].Reason)
	require.Equal(t, 2, problems[0].Times)
	require.Equal(t, 2.0, count(t, "test"))

	err := Call("test", subject, func() error { panic(strings.Repeat("x", 1<<20)) })
	require.Less(t, len(err.Error()), 2*maxValue)
	require.ErrorIs(t, Call("test", subject, func() error { return boom }), boom)
	problems, _ = r.List()
	require.Empty(t, problems, "it has worked, even though it failed")
}

func TestCallWithoutReporter(t *testing.T) {
	require.True(t, Is(Call("test", Part("x"), func() error { panic(nil) })))
	require.False(t, Is(nil))
}

func TestKeepBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := reportHere(t)
		var runs []time.Duration
		begin := time.Now()
		Keep(t.Context(), "worker", func(context.Context) {
			if runs = append(runs, time.Since(begin)); len(runs) < 4 {
				panic("boom")
			}
		})
		require.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}, runs)
		problems, _ := r.List()
		require.Empty(t, problems)
		require.Equal(t, 3.0, count(t, "worker"))
	})
}

func TestKeepEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := reportHere(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		runs := 0
		Keep(ctx, "worker", func(context.Context) { runs++; panic("boom") })
		require.Error(t, ctx.Err())
		require.Less(t, runs, 20)
		problems, _ := r.List()
		require.Len(t, problems, 1)
		require.Equal(t, "AgentPart worker", problems[0].Subject.String())
	})
}

// One bad object must delay neither the other objects nor the readiness of the Node.
func TestHandlerOfAnInformer(t *testing.T) {
	r := reportHere(t)
	node := func(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	factory := informers.NewSharedInformerFactory(fake.NewClientset(node("a"), node("bad"), node("c")), 0)
	seen := make(chan string, 10)
	registration, err := factory.Core().V1().Nodes().Informer().AddEventHandler(Handler("nodes", "Node", cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if object.(*corev1.Node).Name == "bad" {
				panic("boom")
			}
			seen <- object.(*corev1.Node).Name
		},
	}))
	require.NoError(t, err)
	factory.Start(t.Context().Done())
	require.True(t, cache.WaitForCacheSync(t.Context().Done(), registration.HasSynced))
	got := []string{<-seen, <-seen}
	require.ElementsMatch(t, []string{"a", "c"}, got)
	problems, _ := r.List()
	require.Len(t, problems, 1)
	require.Equal(t, "Node bad", problems[0].Subject.String())
}

func TestPanicsInKubernetesLibraries(t *testing.T) {
	r := reportHere(t)
	require.NotPanics(t, func() {
		defer utilruntime.HandleCrashWithContext(t.Context())
		panic("boom")
	})
	problems, _ := r.List()
	require.Len(t, problems, 1)
	require.Equal(t, "AgentPart kubernetes libraries", problems[0].Subject.String())
}
