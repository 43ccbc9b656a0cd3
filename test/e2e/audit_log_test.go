// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// testAuditLog checks that the log has a line for each new connection of a Namespace with the annotation, that a connection on the fast
// path adds none, and that the annotation can be changed under it.
func testAuditLog(t *testing.T, s *suite) {
	startEcho(t, s.server.Space, s.server.IP)
	udp, tcp := ptr.To(corev1.ProtocolUDP), ptr.To(corev1.ProtocolTCP)
	remove := s.applyPolicy(t, ingressTo("audit", "server", networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{{PodSelector: selector("client")}},
		Ports: []networkingv1.NetworkPolicyPort{
			{Protocol: tcp, Port: ptr.To(intstr.FromInt32(sinkPort))}, {Protocol: udp, Port: ptr.To(intstr.FromInt32(udpEchoPort))},
		},
	}))
	defer remove()
	s.setLogging(t, "true")
	defer s.setLogging(t, "")
	s.waitPossible(t, s.client, 4810)
	open := s.flow("UDP", 4840, udpEchoPort)
	ping := start(t, s.client.Space, "udp-ping", open.from(), open.to(), "--rate=100", "--progress=100ms")
	waitReceived(t, ping, 100, patience)
	s.waitFastIfGate(t, open)

	allowed := func(port uint16) string {
		return fmt.Sprintf("IngressRule K8sNetworkPolicy:%s/audit <nil> Ingress Allow 190 %s/%s %s %d %s %d UDP ", namespace, namespace, s.server.PodName,
			s.client.IP, port, s.server.IP, udpEchoPort)
	}
	s.waitLogged(t, allowed(open.client.Port()))
	requireConnects(t, s.client.Space, s.address(sinkPort))
	s.waitLogged(t, fmt.Sprintf(`IngressRule K8sNetworkPolicy:%s/audit <nil> Ingress Allow 190 %s/%s %s \d+ %s %d TCP 60 <nil>$`, namespace, namespace,
		s.server.PodName, s.client.IP, s.server.IP, sinkPort))
	requireNoConnection(t, s.neighbor.Space, s.address(sinkPort))
	s.waitLogged(t, fmt.Sprintf(`IngressDefaultRule K8sNetworkPolicy <nil> Ingress Drop <nil> %s/%s %s \d+ %s %d TCP 60 <nil>`, namespace,
		s.server.PodName, s.neighbor.IP, s.server.IP, sinkPort))

	s.setLogging(t, "")
	unlogged := s.newPing(t, s.client, 4841)
	require.NotZero(t, unlogged.Received)
	requireNoConnection(t, s.neighbor.Space, s.address(sinkPort))
	s.setLogging(t, "true")
	logged := s.newPing(t, s.client, 4842)
	require.NotZero(t, logged.Received)
	s.waitLogged(t, allowed(4842))
	require.Empty(t, s.logged(t, allowed(4841)), "the annotation was away")

	s.waitFastIfGate(t, open)
	requireNoLoss(t, stop[report.Ping](t, ping))
	require.Len(t, s.logged(t, allowed(open.client.Port())), 1, "only the first packet is logged")
}

// setLogging changes the Namespace's annotation, "" for none, and waits until new connections follow it on the server's Node.
func (s *suite) setLogging(t *testing.T, value string) {
	t.Helper()
	annotation := "null"
	if value != "" {
		annotation = fmt.Sprintf("%q", value)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"networkpolicy.antrea.io/enable-logging":%s}}}`, annotation)
	_, err := s.Client.CoreV1().Namespaces().Patch(context.WithoutCancel(t.Context()), namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
	eventually(t, fmt.Sprintf("logging %q to be in force", value), func() error {
		p, err := s.policyOn(t, s.server.Node, "audit")
		if err == nil && (!p.Enforced || p.Rules[0].EnableLogging != (value == "true")) {
			err = notYet(fmt.Sprintf("logging %v, enforced %v", p.Rules[0].EnableLogging, p.Enforced))
		}
		return err
	})
}

// logged returns the lines of the log of the server's Node that contain a match.
func (s *suite) logged(t *testing.T, expression string) []string {
	t.Helper()
	content, err := os.ReadFile(auditLog(s.server.Node))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	return regexp.MustCompile(`(?m)^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{6} `+expression+`.*$`).FindAllString(string(content), -1)
}

func auditLog(n *cluster.Node) string { return filepath.Join(n.LogDir, "antrea/networkpolicy/np.log") }

func (s *suite) waitLogged(t *testing.T, expression string) {
	t.Helper()
	eventually(t, "the log of policies to have "+expression, func() error {
		if len(s.logged(t, expression)) == 0 {
			return notYet("it has not")
		}
		return nil
	})
}
