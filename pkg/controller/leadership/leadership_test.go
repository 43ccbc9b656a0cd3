// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package leadership

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestCore(t *testing.T) {
	now := time.Unix(0, 0)
	a, b := record{"a", "1"}, record{"b", "2"}
	for _, tc := range []struct {
		name  string
		taken bool
		// before was seen first; after passed until the second look.
		before *record
		after  time.Duration
		now    record
		want   decision
	}{
		{"no Lease", false, nil, 0, record{}, decision{write: true, alone: true}},
		{"the first time, from a living holder", false, nil, 0, b, decision{write: true}},
		{"never twice from a living holder", true, nil, 0, b, decision{}},
		{"a holder that still has time", true, &b, duration - 1, b, decision{}},
		{"a holder that is dead", true, &b, duration, b, decision{write: true, alone: true}},
		{"a holder that has renewed", true, &b, duration, record{"b", "3"}, decision{}},
		{"another holder in its place", true, &b, duration, record{"c", "4"}, decision{}},
		{"a Lease that was given back", true, &b, 1, record{"", "3"}, decision{write: true, alone: true}},
		{"its own", true, &a, 1, a, decision{write: true, serve: true, alone: true}},
		{"its own, not renewed for long", true, &a, 10 * duration, a, decision{write: true, serve: true, alone: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := core{identity: "a", duration: duration, taken: tc.taken}
			if tc.before != nil {
				c.observe(*tc.before, now)
			}
			require.Equal(t, tc.want, c.observe(tc.now, now.Add(tc.after)))
		})
	}
}

// api is a fake Kubernetes API that refuses writes of old versions, as the real one does.
type api struct {
	*fake.Clientset
	mu      sync.Mutex
	version int
	fail    error
	// failWrites is the error of writes only.
	failWrites error
}

func newAPI() *api {
	a := &api{Clientset: fake.NewClientset()}
	a.PrependReactor("*", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.fail != nil {
			return true, nil, a.fail
		}
		write, ok := action.(clienttesting.UpdateAction) // or a creation
		if !ok {
			return false, nil, nil
		}
		if a.failWrites != nil {
			return true, nil, a.failWrites
		}
		lease := write.GetObject().(*coordinationv1.Lease)
		if n := lease.Spec.LeaseTransitions; n != nil && *n < 0 {
			return true, nil, apierrors.NewInvalid(coordinationv1.SchemeGroupVersion.WithKind("Lease").GroupKind(), lease.Name, nil)
		}
		if action.GetVerb() == "update" {
			present, err := a.Tracker().Get(action.GetResource(), action.GetNamespace(), lease.Name)
			if err != nil {
				return true, nil, err
			}
			if present.(*coordinationv1.Lease).ResourceVersion != lease.ResourceVersion {
				return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), lease.Name, errors.New("old version"))
			}
		}
		a.version++
		lease.ResourceVersion = strconv.Itoa(a.version)
		return false, nil, nil
	})
	return a
}

func (a *api) setFailure(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fail = err
}

// controller is one antrea-controller's Leadership.
type controller struct {
	*Leadership
	ends int
	stop func()
}

func (a *api) start(t *testing.T, identity string) *controller {
	c := &controller{}
	c.Leadership = New(a, "kube-system", identity, func() { c.ends++ })
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan struct{})
	require.Error(t, c.Serving(), "not before it is ready")
	close(ready)
	go func() { c.Run(ctx, ready); close(done) }()
	c.stop = func() { cancel(); <-done }
	return c
}

func serving(controllers ...*controller) (n int) {
	for _, c := range controllers {
		if c.Serving() == nil {
			n++
		}
	}
	return n
}

func TestRollingUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		old := a.start(t, "old")
		synctest.Wait()
		require.NoError(t, old.Serving())
		time.Sleep(10 * duration)
		require.NoError(t, old.Serving())

		successor := a.start(t, "new")
		synctest.Wait()
		require.NoError(t, successor.Serving(), "what is ready serves at once")
		time.Sleep(retryInterval)
		synctest.Wait()
		require.ErrorIs(t, old.Serving(), ErrStandby)
		require.ErrorContains(t, old.Serving(), "new")
		require.Equal(t, 1, old.ends, "its watches have ended")
		time.Sleep(10 * duration)
		synctest.Wait()
		require.Equal(t, 1, serving(old, successor), "they do not take it from each other in turns")
		require.NoError(t, successor.Serving())

		// The update is rolled back, or the new controller dies.
		successor.stop()
		require.Error(t, successor.Serving())
		time.Sleep(retryInterval)
		synctest.Wait()
		require.NoError(t, old.Serving())
		old.stop()
	})
}

func TestHolderDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		b := a.start(t, "b")
		synctest.Wait()
		dead, renewed := "dead", metav1.NewMicroTime(time.Now().Add(10*365*24*time.Hour))
		lease, err := a.CoordinationV1().Leases("kube-system").Get(t.Context(), LeaseName, metav1.GetOptions{})
		require.NoError(t, err)
		// Its clock is ten years ahead, which does not matter.
		lease.Spec.HolderIdentity, lease.Spec.RenewTime = &dead, &renewed
		_, err = a.CoordinationV1().Leases("kube-system").Update(t.Context(), lease, metav1.UpdateOptions{})
		require.NoError(t, err)
		time.Sleep(retryInterval)
		synctest.Wait()
		require.Error(t, b.Serving())
		time.Sleep(duration - retryInterval)
		synctest.Wait()
		require.Error(t, b.Serving())
		time.Sleep(2 * retryInterval)
		synctest.Wait()
		require.NoError(t, b.Serving())
		b.stop()
	})
}

func TestKubernetesAPIAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		b := a.start(t, "b")
		synctest.Wait()
		a.setFailure(errors.New("connection refused"))
		time.Sleep(10 * duration)
		synctest.Wait()
		require.NoError(t, b.Serving(), "agents that start now need it most")
		standby := a.start(t, "c")
		synctest.Wait()
		require.Error(t, standby.Serving(), "it does not know whether another one serves")
		a.setFailure(nil)
		time.Sleep(2 * retryInterval)
		synctest.Wait()
		require.NoError(t, standby.Serving())
		require.Error(t, b.Serving())
		b.stop()
		standby.stop()
	})
}

func TestNoRightToLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		a.setFailure(apierrors.NewForbidden(coordinationv1.Resource("leases"), LeaseName, errors.New("no")))
		b := a.start(t, "b")
		synctest.Wait()
		require.NoError(t, b.Serving())
		b.stop()
	})
}

// A cluster without a controller is worse than one with two.
func TestLeaseThatCannotBeWritten(t *testing.T) {
	for name, refusal := range map[string]error{
		"no right":      apierrors.NewForbidden(coordinationv1.Resource("leases"), LeaseName, errors.New("no")),
		"refused":       apierrors.NewInvalid(coordinationv1.SchemeGroupVersion.WithKind("Lease").GroupKind(), LeaseName, nil),
		"store is full": apierrors.NewInternalError(errors.New("database space exceeded")),
	} {
		for _, holder := range []string{"", "dead"} {
			t.Run(name+", holder "+holder, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a := newAPI()
					if holder != "" {
						require.NoError(t, a.Tracker().Add(&coordinationv1.Lease{
							ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: LeaseName}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder},
						}))
					}
					a.failWrites = refusal
					b := a.start(t, "b")
					time.Sleep(duration + retryInterval)
					synctest.Wait()
					require.NoError(t, b.Serving())
					b.stop()
				})
			})
		}
	}
}

func TestNoNewcomerServesBesideALivingHolderThatItCannotReplace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		old := a.start(t, "old")
		synctest.Wait()
		a.failWrites = apierrors.NewInternalError(errors.New("busy"))
		b := a.start(t, "b")
		time.Sleep(retryInterval)
		synctest.Wait()
		require.NoError(t, old.Serving())
		require.Error(t, b.Serving())
		b.stop()
		old.stop()
	})
}

func TestLeaseWithoutRoomForTransitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		most := int32(math.MaxInt32)
		require.NoError(t, a.Tracker().Add(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: LeaseName}, Spec: coordinationv1.LeaseSpec{LeaseTransitions: &most},
		}))
		b := a.start(t, "b")
		synctest.Wait()
		require.NoError(t, b.Serving())
		lease, err := a.CoordinationV1().Leases("kube-system").Get(t.Context(), LeaseName, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, "b", *lease.Spec.HolderIdentity)
		b.stop()
	})
}

func TestEndBeforeReady(t *testing.T) {
	a := newAPI()
	l := New(a, "kube-system", "a", func() {})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.Run(ctx, nil)
	require.Empty(t, a.Actions())
}
