// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// ingressTo returns a policy that isolates the Pods with this label, except for what rules allow.
func ingressTo(name, app string, rules ...networkingv1.NetworkPolicyIngressRule) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: *selector(app), PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, Ingress: rules,
		},
	}
}

func (s *suite) label(t *testing.T, p *cluster.Pod, labels map[string]string) {
	t.Helper()
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		pods := s.Client.CoreV1().Pods(p.Namespace)
		object, err := pods.Get(t.Context(), p.PodName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		object.Labels = labels
		_, err = pods.Update(t.Context(), object, metav1.UpdateOptions{})
		return err
	}))
}

// applyPolicy creates the policy and waits until it is realized where it applies. It is removed at the end of the test, or
// by remove, which waits until that is realized.
func (s *suite) applyPolicy(t *testing.T, policy *networkingv1.NetworkPolicy) (remove func()) {
	t.Helper()
	policies := s.Client.NetworkingV1().NetworkPolicies(namespace)
	_, err := policies.Create(t.Context(), policy, metav1.CreateOptions{})
	require.NoError(t, err)
	gone := func() {
		t.Helper()
		err := policies.Delete(context.WithoutCancel(t.Context()), policy.Name, metav1.DeleteOptions{})
		if !apierrors.IsNotFound(err) {
			require.NoError(t, err)
		}
	}
	t.Cleanup(gone)
	node := s.node1
	if policy.Spec.PodSelector.MatchLabels["app"] == "server" {
		node = s.server.Node
	}
	eventually(t, "policy "+policy.Name+" to be realized", func() error {
		p, err := s.policyOn(t, node, policy.Name)
		if err == nil && len(p.Realized) == 0 {
			err = notYet("it has no rule on the switch")
		}
		return err
	})
	return func() {
		t.Helper()
		gone()
		eventually(t, "policy "+policy.Name+" to be gone", func() error {
			if _, err := s.policyOn(t, node, policy.Name); !errors.Is(err, errNoPolicy) {
				return fmt.Errorf("it is still there (%w)", err)
			}
			return s.noRules(t, node)
		})
	}
}

var errNoPolicy = errors.New("the agent does not know the policy")

func (s *suite) policyOn(t *testing.T, node *cluster.Node, name string) (apis.NetworkPolicy, error) {
	policies, err := tryAskAgent[[]apis.NetworkPolicy](t, node, "/networkpolicies?source="+name+"&namespace="+namespace)
	if err != nil {
		return apis.NetworkPolicy{}, err
	}
	if len(policies) == 0 {
		return apis.NetworkPolicy{}, errNoPolicy
	}
	return policies[0], nil
}

// noRules returns an error while the switch has flows of rules that no policy of the agent has.
func (s *suite) noRules(t *testing.T, node *cluster.Node) error {
	policies, err := tryAskAgent[[]apis.NetworkPolicy](t, node, "/networkpolicies")
	if err != nil || len(policies) > 0 {
		return err
	}
	for _, flow := range askAgent[[]apis.OVSFlow](t, node, "/ovsflows?table=IngressDefaultRule,EgressDefaultRule") {
		if containsAll(flow.Flow, []string{"priority=200"}) {
			return notYet(flow.Flow)
		}
	}
	return nil
}

// waitPeers waits until the policy's first rule has this number of peers.
func (s *suite) waitPeers(t *testing.T, name string, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("policy %s to have %d peers", name, want), func() error {
		p, err := s.policyOn(t, s.server.Node, name)
		if err != nil {
			return err
		}
		flows, source := 0, "nw_src="
		if s.ipv6 {
			source = "ipv6_src="
		}
		for _, flow := range askAgent[[]apis.OVSFlow](t, s.server.Node, "/ovsflows?table=IngressRule") {
			if containsAll(flow.Flow, []string{source, fmt.Sprintf("conjunction(%d,1/3)", p.Realized[0].FlowID)}) {
				flows++
			}
		}
		if flows != want {
			return fmt.Errorf("it has %d", flows)
		}
		return nil
	})
}

// connect opens a TCP connection and closes it.
func connect(t *testing.T, from *cluster.Space, to netip.AddrPort) error {
	ctx, cancel := context.WithTimeout(t.Context(), execTimeout)
	defer cancel()
	_, err := from.Exec(ctx, "timeout", "3", "bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/%s/%d", to.Addr(), to.Port()))
	return err
}

// requireConnects and requireNoConnection give the kernel time to forget megaflows of former rules.
func requireConnects(t *testing.T, from *cluster.Space, to netip.AddrPort) {
	t.Helper()
	eventually(t, fmt.Sprintf("a connection from %s to %s", from.Name, to), func() error { return connect(t, from, to) })
}

// requireNoConnection is described with requireConnects. Packets must be dropped, so that connecting lasts until the
// timeout.
func requireNoConnection(t *testing.T, from *cluster.Space, to netip.AddrPort) {
	t.Helper()
	eventually(t, fmt.Sprintf("no connection from %s to %s", from.Name, to), func() error {
		var exit *cluster.ExitError
		err := connect(t, from, to)
		if err == nil {
			return notYet("it is possible")
		}
		if errors.As(err, &exit) && exit.Code == 124 {
			return nil
		}
		return err
	})
}

// newPing sends some requests from a port to the echo on server.
func (s *suite) newPing(t *testing.T, from *cluster.Pod, port uint16) report.Ping {
	t.Helper()
	f := s.flow("UDP", port, udpEchoPort)
	return runTraffic[report.Ping](t, from.Space, execTimeout, "udp-ping", f.from(), f.to(), "--rate=100", "--duration=200ms")
}

// waitPossible waits until new connections to the echo on server are possible, that is, until the policies of the
// previous test have left the datapath. Each attempt is a new connection, from the next port, because policies do not
// apply to established ones.
func (s *suite) waitPossible(t *testing.T, from *cluster.Pod, port uint16) {
	t.Helper()
	eventually(t, "new connections to be possible", func() error {
		port++
		if p := s.newPing(t, from, port); p.Sent == 0 || p.Lost > 0 {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})
}
