// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"

	"github.com/antrea-oncache/antrea/test/acceptance/policycases"
)

// policyBed is a mesh of Pods in Namespaces, for cases of package policycases.
type policyBed struct {
	c          *cluster
	dynamic    dynamic.Interface
	namespaces map[string]string      // by the name in the cases
	pods       map[string]*corev1.Pod // by Namespace and name, "x/a"
	mesh       []string               // names in pods
	complete   bool                   // all Pods reach each other
}

// xyzPods are upstream's Pods a, b and c in the Namespaces x, y and z, on two Nodes.
func xyzPods() (pods []policycases.Pod) {
	for _, namespace := range []string{"x", "y", "z"} {
		for i, name := range []string{"a", "b", "c"} {
			pods = append(pods, policycases.Pod{Namespace: namespace, Name: name, Node: i % 2})
		}
	}
	return pods
}

// policyBed makes the Pods and waits until all reach each other. They stay until owner ends, which may be a test that contains t.
func (c *cluster) policyBed(owner, t *testing.T, pods []policycases.Pod, labels map[string]map[string]string) *policyBed {
	t.Helper()
	b := &policyBed{c: c, namespaces: map[string]string{}, pods: map[string]*corev1.Pod{}}
	var err error
	b.dynamic, err = dynamic.NewForConfig(c.config)
	require.NoError(t, err)
	for _, p := range pods {
		b.namespace(owner, t, p.Namespace, labels[p.Namespace])
		b.create(t, p)
	}
	for _, p := range pods {
		b.mesh = append(b.mesh, p.Namespace+"/"+p.Name)
		b.pods[p.Namespace+"/"+p.Name] = c.waitForPod(t, b.namespaces[p.Namespace], p.Name)
	}
	b.check(t, policycases.Step{Ports: []int{80, 81}}, podTimeout)
	b.complete = true
	return b
}

// namespace makes a Namespace with the label ns, unless the bed has it. It goes with owner, or with t if that cannot complete the bed, whose Pods would
// keep ports of the Nodes.
func (b *policyBed) namespace(owner, t *testing.T, name string, labels map[string]string) {
	t.Helper()
	if b.namespaces[name] != "" {
		return
	}
	full := namespacePrefix + name + "-" + rand.String(6)
	all := map[string]string{"ns": full}
	maps.Copy(all, labels)
	namespaces := b.c.client.CoreV1().Namespaces()
	_, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: full, Labels: all}}, metav1.CreateOptions{})
	require.NoError(t, err)
	b.namespaces[name] = full
	remove := func(t *testing.T) {
		err := namespaces.Delete(context.Background(), full, metav1.DeleteOptions{})
		require.True(t, err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err), "%v", err) // a conflict: it is being deleted
	}
	owner.Cleanup(func() { remove(owner) })
	t.Cleanup(func() {
		if !b.complete && t != owner {
			remove(t)
		}
	})
}

// serve listens on upstream's ports.
const serve = `for protocol in TCP UDP SCTP; do for port in 80 81 8080 8081 8082; do export SERVE_${protocol}_PORT_$port=a; done; done; exec /agnhost porter`

// create makes a Pod that serves.
func (b *policyBed) create(t *testing.T, p policycases.Pod) {
	t.Helper()
	labels := p.Labels
	if labels == nil {
		labels = map[string]string{"pod": p.Name, "app": p.Name}
	}
	if p.Account != "" && p.Account != "default" {
		accounts := b.c.client.CoreV1().ServiceAccounts(b.namespaces[p.Namespace])
		_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: p.Account}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	var ports []corev1.ContainerPort
	for _, port := range []int32{80, 81, 8080, 8081, 8082} {
		ports = append(ports, corev1.ContainerPort{Name: fmt.Sprintf("serve-%d", port), ContainerPort: port})
	}
	b.c.createPod(t, b.namespaces[p.Namespace], p.Name, b.c.nodes[p.Node], podOptions{
		image: agnhostImage, command: []string{"/bin/bash", "-c"}, args: []string{serve}, labels: labels, ports: ports, account: p.Account, hostNetwork: p.HostNetwork,
	})
}

// add makes a Pod that goes with t, and waits until it runs.
func (b *policyBed) add(t *testing.T, p policycases.Pod) {
	t.Helper()
	b.create(t, p)
	name := p.Namespace + "/" + p.Name
	b.pods[name] = b.c.waitForPod(t, b.namespaces[p.Namespace], p.Name)
	t.Cleanup(func() { b.remove(t, name) })
}

// remove deletes a Pod, also after the end of t, and does not wait.
func (b *policyBed) remove(t *testing.T, name string) {
	grace, pod := int64(0), b.pods[name]
	err := b.c.client.CoreV1().Pods(pod.Namespace).Delete(context.Background(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &grace})
	require.NoError(t, err)
	delete(b.pods, name)
}

// expand replaces the placeholders of a text.
func (b *policyBed) expand(t *testing.T, text string) string {
	t.Helper()
	expanded, err := policycases.Expand(text, func(name string) (string, bool) {
		if namespace, found := b.namespaces[name]; found {
			return namespace, true
		}
		if pod, found := b.pods[name]; found {
			return pod.Status.PodIP, true
		}
		word, of, _ := strings.Cut(name, " ")
		switch word {
		case "svc":
			return b.clusterIP(t, of), true
		case "node", "nodeip":
			return b.node(t, word == "nodeip", of), true
		case "first", "last":
			return b.clientPort(t, word == "last"), true
		}
		return "", false
	})
	require.NoError(t, err)
	return expanded
}

func (b *policyBed) clusterIP(t *testing.T, name string) string {
	namespace, service, _ := strings.Cut(name, "/")
	s, err := b.c.client.CoreV1().Services(b.namespaces[namespace]).Get(t.Context(), service, metav1.GetOptions{})
	require.NoError(t, err)
	return s.Spec.ClusterIP
}

// node returns the name or the address of a Node.
func (b *policyBed) node(t *testing.T, address bool, index string) string {
	name := b.c.nodes[int(index[0]-'0')]
	if !address {
		return name
	}
	node, err := b.c.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	at := slices.IndexFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
	return node.Status.Addresses[at].Address
}

// clientPort returns the first or the last port that connections come from.
func (b *policyBed) clientPort(t *testing.T, last bool) string {
	fields := strings.Fields(b.c.exec(t, b.pods[b.mesh[0]], "", "cat", "/proc/sys/net/ipv4/ip_local_port_range"))
	require.Len(t, fields, 2)
	if last {
		return fields[1]
	}
	return fields[0]
}
