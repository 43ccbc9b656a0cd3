// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/policy"
)

// writers is the maximum number of concurrent requests to the Kubernetes API.
const writers = 8

// worlds applies one world of policies after the other to the Kubernetes API, and detects when each is realized: a marker,
// which is a policy for a Pod on each Node, follows every change through the same streams.
type worlds struct {
	f       *field
	current *policy.World
	markers []*cluster.Pod
	marks   int
	// uids are the UIDs of all markers' policies.
	uids []string
	// ids are the flow ids of the marker's rule, by Node.
	ids map[string]string
}

const (
	markerNamespace = "marker"
	markerPort      = 9 // no other policy has it
)

func newWorlds(t *testing.T, f *field) *worlds {
	t.Helper()
	w := &worlds{f: f, current: &policy.World{}, ids: map[string]string{}}
	ctx, cancel := context.WithTimeout(t.Context(), setupTimeout)
	defer cancel()
	for _, n := range f.s.Nodes {
		p, err := f.s.CreatePod(ctx, n, markerNamespace, "marker-"+n.Name)
		require.NoError(t, err)
		t.Cleanup(func() { deletePod(t, p) })
		w.markers = append(w.markers, p)
	}
	t.Cleanup(func() {
		for _, p := range w.current.Policies {
			require.NoError(t, w.deletePolicy(p))
		}
		require.NoError(t, w.deletePolicy(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: markerNamespace, Name: w.markerName()}}))
	})
	return w
}

// show applies a world with the Pods of the field, and returns when it is enforced on all Nodes.
func (w *worlds) show(t *testing.T, next *policy.World) {
	t.Helper()
	w.apply(t, next)
	w.settle(t)
}

// apply applies a world to the API.
func (w *worlds) apply(t *testing.T, next *policy.World) {
	t.Helper()
	for _, p := range next.Pods {
		ips := w.f.place(p).IPs
		p.IPv4, p.IPv6 = ips[0], ips[len(ips)-1]
	}
	var removing, creating errgroup.Group
	removing.SetLimit(writers)
	creating.SetLimit(writers)
	for _, p := range w.current.Policies {
		if slices.Contains(next.Policies, p) {
			continue
		}
		removing.Go(func() error { return w.deletePolicy(p) })
	}
	require.NoError(t, removing.Wait())
	for name, labels := range next.Namespaces {
		// Namespaces outlive clusters: at first they may have the labels of another test.
		if now, known := w.current.Namespaces[name]; known && maps.Equal(now, labels) {
			continue
		}
		creating.Go(func() error { return w.labelNamespace(name, labels) })
	}
	for _, p := range next.Pods {
		if slices.ContainsFunc(w.current.Pods, func(o *policy.Pod) bool { return podKey(o) == podKey(p) && maps.Equal(o.Labels, p.Labels) }) {
			continue
		}
		creating.Go(func() error { return w.labelPod(p.Namespace, p.Name, p.Labels) })
	}
	for _, p := range next.Policies {
		if slices.Contains(w.current.Policies, p) {
			continue
		}
		creating.Go(func() error { return w.createPolicy(p) })
	}
	require.NoError(t, creating.Wait())
	w.current = next
}

// settle returns when everything in the API is enforced on all Nodes.
func (w *worlds) settle(t *testing.T) {
	t.Helper()
	w.mark(t)
	w.waitMarked(t, w.f.s.Nodes...)
	for _, n := range w.f.s.Nodes {
		eventually(t, "the marker to be enforced on "+n.Name, func() error {
			policies, err := tryAskAgent[[]apis.NetworkPolicy](t, n, "/networkpolicies?name="+w.uids[len(w.uids)-1])
			if err == nil && !policies[0].Enforced {
				err = notYet("it is only realized")
			}
			return err
		})
	}
}

func (w *worlds) markerName() string { return fmt.Sprint("marker-", w.marks) }

// mark makes the next marker follow all changes so far.
func (w *worlds) mark(t *testing.T) {
	t.Helper()
	policies := w.f.s.Client.NetworkingV1().NetworkPolicies(markerNamespace)
	if w.marks > 0 {
		require.NoError(t, policies.Delete(t.Context(), w.markerName(), metav1.DeleteOptions{}))
	}
	w.marks++
	labels := map[string]string{"marker": strconv.Itoa(w.marks)}
	require.NoError(t, w.labelNamespace(markerNamespace, labels))
	for _, p := range w.markers {
		require.NoError(t, w.labelPod(p.Namespace, p.PodName, labels))
	}
	selector := metav1.LabelSelector{MatchLabels: labels}
	marker, err := policies.Create(t.Context(), &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: w.markerName()},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: selector, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From:  []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &selector, PodSelector: &selector}},
				Ports: []networkingv1.NetworkPolicyPort{{Protocol: ptr.To(corev1.ProtocolSCTP), Port: ptr.To(intstr.FromInt32(markerPort))}},
			}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.uids = append(w.uids, string(marker.UID))
}

var (
	markerFlow = regexp.MustCompile(`sctp6?,tp_dst=9 .*conjunction\((\d+),3/3\)`)
	flowSource = regexp.MustCompile(`(?:nw|ipv6)_src=([0-9a-f.:]+)`)
)

// waitMarked returns when the last marker is on the switch of the Nodes: a new rule with all marker Pods as peers.
func (w *worlds) waitMarked(t *testing.T, nodes ...*cluster.Node) {
	t.Helper()
	var addresses []string
	for _, p := range w.markers {
		addresses = append(addresses, texts(p.IPs)...)
	}
	for _, n := range nodes {
		eventuallyWithin(t, 2*patience, "all changes to be realized on "+n.Name, func() error {
			flows := succeeds(t, n.Space, "ovs-ofctl", "-O", "OpenFlow15", "--names", "dump-flows", "br-int", "table=IngressRule")
			id, peers := "", 0
			for line := range strings.Lines(flows) {
				if m := markerFlow.FindStringSubmatch(line); m != nil {
					id = m[1]
				}
			}
			for line := range strings.Lines(flows) {
				m := flowSource.FindStringSubmatch(line)
				if m != nil && slices.Contains(addresses, m[1]) && strings.Contains(line, "conjunction("+id+",1/3)") {
					peers++
				}
			}
			if id == "" || id == w.ids[n.Name] || peers < len(addresses) {
				return fmt.Errorf("marker %d has rule %q with %d peers, the one before had rule %q", w.marks, id, peers, w.ids[n.Name])
			}
			w.ids[n.Name] = id
			return nil
		})
	}
}

func texts[T fmt.Stringer](values []T) []string {
	var out []string
	for _, v := range values {
		out = append(out, v.String())
	}
	return out
}

func (w *worlds) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), setupTimeout)
}

func (w *worlds) createPolicy(p *networkingv1.NetworkPolicy) error {
	ctx, cancel := w.context()
	defer cancel()
	object := p.DeepCopy()
	object.UID = ""
	_, err := w.f.s.Client.NetworkingV1().NetworkPolicies(p.Namespace).Create(ctx, object, metav1.CreateOptions{})
	return err
}

func (w *worlds) deletePolicy(p *networkingv1.NetworkPolicy) error {
	ctx, cancel := w.context()
	defer cancel()
	err := w.f.s.Client.NetworkingV1().NetworkPolicies(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (w *worlds) labelNamespace(name string, labels map[string]string) error {
	ctx, cancel := w.context()
	defer cancel()
	namespaces := w.f.s.Client.CoreV1().Namespaces()
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		object, err := namespaces.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		object.Labels = labels
		_, err = namespaces.Update(ctx, object, metav1.UpdateOptions{})
		return err
	})
}

func (w *worlds) labelPod(namespace, name string, labels map[string]string) error {
	ctx, cancel := w.context()
	defer cancel()
	pods := w.f.s.Client.CoreV1().Pods(namespace)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		object, err := pods.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		object.Labels = labels
		_, err = pods.Update(ctx, object, metav1.UpdateOptions{})
		return err
	})
}

// describeWorld returns the world in the form that is printed with a failure.
func describeWorld(world *policy.World) string {
	var b strings.Builder
	for name, labels := range world.Namespaces {
		fmt.Fprintln(&b, "# Namespace", name, labels)
	}
	for _, p := range world.Pods {
		fmt.Fprintln(&b, "# Pod", podKey(p), p.Node, p.Labels, p.IPv4, p.IPv6)
	}
	for _, p := range world.Policies {
		text, err := yaml.Marshal(p)
		fmt.Fprintf(&b, "---\n%s%v\n", text, err)
	}
	return b.String()
}

// isCacheable reports whether the fast path may carry the connection.
func isCacheable(a *attempt) bool {
	return a.Protocol != corev1.ProtocolSCTP
}
