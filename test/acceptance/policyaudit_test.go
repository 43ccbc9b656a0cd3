// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/antrea-oncache/antrea/test/acceptance/policycases"
)

// auditLogging are the cases of TestGroupAuditLogging.
var auditLogging = map[string]func(*policyBed, *testing.T){
	"AuditLoggingBasic":      (*policyBed).testAuditBasic,
	"AuditLoggingEnableK8s":  (*policyBed).testAuditKubernetes,
	"AuditLoggingK8sService": (*policyBed).testAuditService,
}

// auditLog is the file of the audit log in an agent.
const auditLog = "/var/log/antrea/networkpolicy/np.log"

// logged waits for lines of the audit log on the Node of a Pod. Each expression has to match one of them.
func (b *policyBed) logged(t *testing.T, pod string, expressions ...string) {
	t.Helper()
	agent := b.c.agentOn(t, b.pods[pod].Spec.NodeName)
	eventually(t, policyDelay, func() error {
		log := b.c.exec(t, agent, agentContainer, "cat", auditLog)
		for _, e := range expressions {
			if !regexp.MustCompile(`(?m) ` + b.expand(t, e) + `( \[[0-9]+ packets in .*\])?$`).MatchString(log) {
				lines := strings.Split(log, "\n")
				return fmt.Errorf("np.log has no line %q; its last lines:\n%s", b.expand(t, e), strings.Join(lines[max(0, len(lines)-20):], "\n"))
			}
		}
		return nil
	})
}

// testAuditBasic: a line for each denied connection.
func (b *policyBed) testAuditBasic(t *testing.T) {
	name := "test-log-acnp-deny-" + rand.String(5)
	policy := policycases.Object{Kind: policycases.ACNP, Name: name, Spec: `{priority: 1, appliedTo: [{podSelector: {matchLabels: {pod: a}}, namespaceSelector: {matchLabels: {ns: "${x}"}}}],
		egress: [{action: Drop, name: DropToZ, enableLogging: true, logLabel: testLogLabel, to: [{namespaceSelector: {matchLabels: {ns: "${z}"}}}], ports: [{protocol: TCP, port: 80}]}]}`}
	step := policycases.Step{Do: []policycases.Change{{Apply: &policy}}, NoMesh: true}
	var lines []string
	for _, to := range []string{"z/a", "z/b", "z/c"} {
		step.Probes = append(step.Probes, policycases.Probe{From: "x/a", To: "${" + to + "}", Want: policycases.Dropped})
		lines = append(lines, "AntreaPolicyEgressRule AntreaClusterNetworkPolicy:"+name+" DropToZ Egress Drop [0-9]+ ${x}/a ${x/a} [0-9]+ ${"+to+"} 80 TCP [0-9]+ testLogLabel")
	}
	b.run(t, policycases.Case{Steps: []policycases.Step{step}})
	b.logged(t, "x/a", lines...)
}

// annotate asks for lines about Kubernetes' policies of Namespaces.
func (b *policyBed) annotate(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		namespaces := b.c.client.CoreV1().Namespaces()
		set := func(value string) {
			require.NoError(t, retryOnConflict(func() error {
				namespace, err := namespaces.Get(context.Background(), b.namespaces[name], metav1.GetOptions{})
				require.NoError(t, err)
				namespace.Annotations = map[string]string{"networkpolicy.antrea.io/enable-logging": value}
				_, err = namespaces.Update(context.Background(), namespace, metav1.UpdateOptions{})
				return err
			}))
		}
		set("true")
		t.Cleanup(func() { set("false") })
	}
}

// testAuditKubernetes: lines about what Kubernetes' policies allow, and what they do not.
func (b *policyBed) testAuditKubernetes(t *testing.T) {
	b.annotate(t, "x", "y")
	allow := policycases.Object{Kind: policycases.NetworkPolicy, Namespace: "x", Name: "allow-x-b-to-x-a",
		Spec: "{podSelector: {matchLabels: {pod: a}}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {pod: b}}}]}]}"}
	deny := policycases.Object{Kind: policycases.NetworkPolicy, Namespace: "y", Name: "deny-all", Spec: "{podSelector: {}, policyTypes: [Ingress]}"}
	b.run(t, policycases.Case{Steps: []policycases.Step{{
		Do: []policycases.Change{{Apply: &allow}, {Apply: &deny}}, NoMesh: true, Probes: []policycases.Probe{
			{From: "x/b", To: "${x/a}", Want: policycases.Connected}, {From: "x/c", To: "${x/a}", Want: policycases.Dropped},
			{From: "x/b", To: "${y/a}", Want: policycases.Dropped},
		},
	}}})
	const denied = "IngressDefaultRule K8sNetworkPolicy <nil> Ingress Drop <nil> "
	b.logged(t, "x/a", "IngressRule K8sNetworkPolicy:${x}/allow-x-b-to-x-a <nil> Ingress Allow [0-9]+ ${x}/a ${x/b} [0-9]+ ${x/a} 80 TCP [0-9]+ <nil>",
		denied+"${x}/a ${x/c} [0-9]+ ${x/a} 80 TCP [0-9]+ <nil>")
	b.logged(t, "y/a", denied+"${y}/a ${x/b} [0-9]+ ${y/a} 80 TCP [0-9]+ <nil>")
}

// testAuditService: a line about a connection to a Service has the Endpoint's address.
func (b *policyBed) testAuditService(t *testing.T) {
	b.annotate(t, "x")
	service := policycases.Object{Kind: policycases.Service, Namespace: "x", Name: "web", Spec: "{selector: {app: a}, ports: [{port: 80}]}"}
	allow := policycases.Object{Kind: policycases.NetworkPolicy, Namespace: "x", Name: "allow-x-b-to-service",
		Spec: "{podSelector: {matchLabels: {pod: a}}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {pod: b}}}]}]}"}
	b.run(t, policycases.Case{Steps: []policycases.Step{{
		Do: []policycases.Change{{Apply: &service}, {Apply: &allow}}, NoMesh: true, Probes: []policycases.Probe{
			{From: "x/b", To: "${svc x/web}", Want: policycases.Connected}, {From: "z/b", To: "${svc x/web}", Want: policycases.Dropped},
		},
	}}})
	b.logged(t, "x/a", "IngressRule K8sNetworkPolicy:${x}/allow-x-b-to-service <nil> Ingress Allow [0-9]+ ${x}/a ${x/b} [0-9]+ ${x/a} 80 TCP [0-9]+ <nil>",
		"IngressDefaultRule K8sNetworkPolicy <nil> Ingress Drop <nil> ${x}/a ${z/b} [0-9]+ ${x/a} 80 TCP [0-9]+ <nil>")
}
