// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

func changeOf(name, version, addr string) addressChange {
	s := makeService(name, "p", "")
	s.ResourceVersion = version
	return addressChange{serviceClaimant(s, true), netip.MustParseAddr(addr)}
}

// TestServiceWrites: a Service whose write fails delays no other and is tried again ever later; what was done or is no longer wanted is not
// tried again.
func TestServiceWrites(t *testing.T) {
	now := time.Unix(0, 0)
	tried := map[string]int{}
	var w *serviceWrites
	w = newServiceWrites(func(_ context.Context, c addressChange) error {
		tried[c.service.Name]++
		switch c.service.Name {
		case "bad":
			return errors.New("refused")
		case "changed":
			return apierrors.NewConflict(services.GroupResource(), c.name, nil)
		case "last":
			w.set([]addressChange{changeOf("bad", "1", "10.0.0.1")}) // a plan, while this is written
		}
		return nil
	}, func() time.Time { return now })
	w.set([]addressChange{changeOf("bad", "1", "10.0.0.1"), changeOf("changed", "1", "10.0.0.2"), changeOf("good", "1", "10.0.0.3"),
		changeOf("last", "1", "10.0.0.4"), changeOf("late", "1", "10.0.0.5")})
	w.turn(t.Context())
	require.Equal(t, map[string]int{"bad": 1, "changed": 1, "good": 1, "last": 1}, tried)
	w.turn(t.Context())
	require.Equal(t, 1, tried["bad"], "not yet")
	for range 600 {
		now = now.Add(time.Second)
		w.turn(t.Context())
	}
	require.Greater(t, tried["bad"], 5)
	require.Less(t, tried["bad"], 40)
	w.set(nil)
	before := tried["bad"]
	now = now.Add(time.Hour)
	w.turn(t.Context())
	require.Equal(t, before, tried["bad"])
	require.Empty(t, w.failed)

	w.set([]addressChange{changeOf("good", "2", "10.0.0.3")})
	w.turn(t.Context())
	require.Equal(t, 2, tried["good"], "another load balancer has replaced it")
}

// TestNewServicesAreFirst: among Services whose writes fail, one that came later is tried before any is tried again. Each of the others has its turn.
func TestNewServicesAreFirst(t *testing.T) {
	now := time.Unix(0, 0)
	var tried []string
	due := []addressChange{changeOf("a", "1", "10.0.0.1"), changeOf("b", "1", "10.0.0.2"), changeOf("c", "1", "10.0.0.3")}
	var w *serviceWrites
	w = newServiceWrites(func(_ context.Context, c addressChange) error {
		if tried = append(tried, c.service.Name); len(tried) == 1 {
			w.set(append(due, changeOf("new", "1", "10.0.0.4")))
		}
		if c.service.Name == "new" {
			return nil
		}
		now = now.Add(10 * time.Second)
		if len(tried) > 12 {
			return apierrors.NewConflict(services.GroupResource(), c.name, nil) // the end
		}
		return errors.New("timeout")
	}, func() time.Time { return now })
	w.set(due)
	w.turn(t.Context())
	require.Greater(t, len(tried), 10)
	require.Equal(t, []string{"a", "b", "c", "new"}, tried[:4])
	for _, name := range []string{"a", "b", "c"} {
		require.Contains(t, tried[4:10], name)
	}
}

// TestABadServiceDelaysNoEgress: while the Kubernetes API does not answer a Service's write, Egresses get their addresses.
func TestABadServiceDelaysNoEgress(t *testing.T) {
	kinds := map[schema.GroupVersionResource]string{crd.Egresses: "EgressList", crd.ExternalIPPools: "ExternalIPPoolList", services: "ServiceList"}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)
	objects, err := crd.NewEgressObjects(client)
	require.NoError(t, err)
	s := makeService("bad", "p", "")
	kube := fake.NewClientset(s)
	informer := coreinformers.NewServiceInformer(kube, corev1.NamespaceAll, 0, nil)
	c, err := New(Config{
		Client: client, Kube: kube, Objects: objects, Services: informer, Egress: true, ServiceExternalIP: true, Serving: func() error { return nil },
	})
	require.NoError(t, err)
	release, written := make(chan struct{}), make(chan struct{})
	var once sync.Once
	c.services.write = func(context.Context, addressChange) error {
		once.Do(func() { close(written) })
		<-release
		return errors.New("timeout")
	}
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	running.Go(func() { objects.Run(ctx) })
	running.Go(func() { informer.Run(ctx.Done()) })
	running.Go(func() { c.Run(ctx) })
	defer running.Wait()
	defer cancel()
	defer close(release)
	create := func(resource schema.GroupVersionResource, kind, name string, content any) {
		t.Helper()
		object := crd.New(kind, name)
		require.NoError(t, crd.Fill(object, content))
		_, err := client.Resource(resource).Create(t.Context(), object, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	create(crd.ExternalIPPools, v1beta1.ExternalIPPoolKind, "p", makePool("p", v1beta1.IPRange{CIDR: "10.0.0.0/29"}))
	select {
	case <-written:
	case <-time.After(time.Minute):
		t.Fatal("the Service is not written")
	}
	create(crd.Egresses, v1beta1.EgressKind, "e", makeEgress("e", "p", ""))
	require.Eventually(t, func() bool {
		object, err := client.Resource(crd.Egresses).Get(t.Context(), "e", metav1.GetOptions{})
		if err != nil {
			return false
		}
		e, err := crd.Read[v1beta1.Egress](object)
		return err == nil && e.Spec.EgressIP == "10.0.0.2"
	}, time.Minute, time.Millisecond)
}

// TestConcerns: Services without an address and without a pool cause no plan.
func TestConcerns(t *testing.T) {
	plain, has, wants := makeService("a", "", ""), makeService("b", "", ""), makeService("c", "p", "")
	has.Status.LoadBalancer = loadBalancer(netip.MustParseAddr("10.0.0.1"))
	require.False(t, concerns(plain))
	require.True(t, concerns(has))
	require.True(t, concerns(wants))
}
