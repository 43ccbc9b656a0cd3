// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rewriteport

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// announced is a Node object with this annotation, or without.
func announced(name, port string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if port != "" {
		node.Annotations = map[string]string{oncache.RewritePortAnnotation: port}
	}
	return node
}

// TestAnnouncer: the annotation becomes right again when it was changed, and when the Node was deleted and registered again.
func TestAnnouncer(t *testing.T) {
	kube := fake.NewClientset(announced("node1", "583"), announced("node2", "584"))
	nodes := kube.CoreV1().Nodes()
	a := NewAnnouncer(kube, "node1")
	factory := informers.NewSharedInformerFactory(kube, 0)
	_, err := factory.Core().V1().Nodes().Informer().AddEventHandler(a.Handler())
	require.NoError(t, err)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	go a.Run(t.Context())
	becomes := func(want string) {
		t.Helper()
		require.Eventually(t, func() bool {
			node, err := nodes.Get(t.Context(), "node1", metav1.GetOptions{})
			return err == nil && node.Annotations[oncache.RewritePortAnnotation] == want
		}, 10*time.Second, time.Millisecond, "want %q", want)
	}
	changes := func(port string) {
		t.Helper()
		_, err := nodes.Update(t.Context(), announced("node1", port), metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	becomes("583") // what it should be is not known yet
	select {
	case <-a.settled:
		t.Fatal("nothing has been announced")
	default:
	}

	a.Want("585")
	becomes("585")
	<-a.settled
	changes("586")
	becomes("585")
	require.NoError(t, nodes.Delete(t.Context(), "node1", metav1.DeleteOptions{}))
	_, err = nodes.Create(t.Context(), announced("node1", ""), metav1.CreateOptions{})
	require.NoError(t, err)
	becomes("585")
	a.Want("")
	becomes("")
	changes("585")
	becomes("")
	other, err := nodes.Get(t.Context(), "node2", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "584", other.Annotations[oncache.RewritePortAnnotation])
}

// TestAnnouncerYields: another program that always changes the annotation back does not make the agent keep the Kubernetes API busy.
func TestAnnouncerYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset()
		a := NewAnnouncer(kube, "node1")
		requests := atomic.Int64{}
		kube.PrependReactor("*", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
			requests.Add(1)
			if action.GetVerb() == "patch" {
				a.Handler().OnUpdate(nil, announced("node1", "586"))
			}
			return true, announced("node1", "586"), nil
		})
		go a.Run(t.Context())
		a.Want("585")
		time.Sleep(time.Hour)
		require.Greater(t, requests.Load(), 2*int64(time.Hour/annotateInterval)-2, "it keeps trying")
		require.Less(t, requests.Load(), 2*(int64(time.Hour/annotateInterval)+annotateBurst+1))
	})
}

// TestForgetFormerPorts: Pods are kept out of former ports until the other Nodes have forgotten the keys that they have told before they
// could know better.
func TestForgetFormerPorts(t *testing.T) {
	kube := fake.NewClientset(announced("node1", "585"))
	refusals := 2
	kube.PrependReactor("get", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		refusals--
		return refusals >= 0, nil, errors.New("not now")
	})
	synctest.Test(t, func(t *testing.T) {
		a := NewAnnouncer(kube, "node1")
		forgotten := make(chan time.Time, 1)
		go a.Run(t.Context())
		go func() {
			<-a.Settled()
			ForgetFormerPorts(t.Context(), func(context.Context) error { forgotten <- time.Now(); return nil })
		}()
		time.Sleep(time.Hour)
		require.Empty(t, forgotten, "others may still be telling keys")
		begun := time.Now()
		a.Want("586")
		require.Equal(t, 2*annotateInterval+peerDelay+datapath.KeyRest, (<-forgotten).Sub(begun))
	})
}
