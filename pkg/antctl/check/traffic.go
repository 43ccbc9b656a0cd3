// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/antctl/testpods"
)

const (
	// serverPort is the servers' HTTP port.
	serverPort = 8080
	// role is the label by which Service and NetworkPolicy select Pods.
	role = "antrea-check"
)

// bed is the Namespace in which the traffic of one run takes place.
type bed struct {
	*Installation
	*testpods.Namespace
}

// traffic makes Pods on one or two of the Nodes and checks the traffic between them. Everything that it makes is in one
// Namespace, which it deletes.
func (i *Installation) traffic(ctx context.Context, nodes []string, caches map[string]*api.Status) (err error) {
	// One Pod is on a Node's own network, which some clusters refuse otherwise.
	namespace, err := testpods.New(ctx, i.Kube, map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}, i.Limits)
	if err != nil {
		return err
	}
	defer func() {
		i.collectIfFailed(err)
		err = errors.Join(err, namespace.Delete(ctx))
	}()
	b := &bed{Installation: i, Namespace: namespace}
	if err := b.WaitForServiceAccount(ctx); err != nil {
		i.Report.Fail("traffic", "%v", err)
		return nil
	}
	server, err := b.Start(ctx, b.server("server", nodes[0]), testpods.IsReady)
	if err != nil {
		i.Report.Fail("traffic", "no server: %v", err)
		return nil
	}
	b.addresses(ctx, "same Node", nodes[0], server)
	if len(nodes) < 2 {
		i.Report.Warn("between Nodes", "not tried: only Node %s has an agent that works", nodes[0])
		b.service(ctx, nodes[0])
		b.host(ctx, nodes[0], server)
		b.policy(ctx, nodes[0], nodes[0])
		return nil
	}
	b.addresses(ctx, "between Nodes", nodes[1], server)
	b.large(ctx, nodes[1], server)
	b.service(ctx, nodes[1])
	b.host(ctx, nodes[1], server)
	b.policy(ctx, nodes[0], nodes[1])
	b.fastPath(ctx, server, nodes[1], caches)
	return nil
}

// service reaches the server through a Service.
func (b *bed) service(ctx context.Context, from string) {
	service, err := b.makeService(ctx, "server", corev1.ServiceTypeClusterIP)
	if err != nil {
		b.Report.Fail("service", "making the Service: %v", err)
		return
	}
	b.connect(ctx, "service", from, net.JoinHostPort(service.Spec.ClusterIP, "80"), true)
	b.dns(ctx, from, service)
}

// makeService makes a Service of the server.
func (b *bed) makeService(ctx context.Context, name string, kind corev1.ServiceType) (*corev1.Service, error) {
	return b.Kube.CoreV1().Services(b.Name).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.Name},
		Spec: corev1.ServiceSpec{
			Type: kind, Selector: map[string]string{role: "server"},
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(serverPort)}},
		},
	}, metav1.CreateOptions{})
}

// dns reaches the server by the name of its Service.
func (b *bed) dns(ctx context.Context, from string, service *corev1.Service) {
	const check = "dns"
	_, err := b.Kube.CoreV1().Services(metav1.NamespaceSystem).Get(ctx, "kube-dns", metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		b.Report.Warn(check, "not tried: there is no Service %s/kube-dns", metav1.NamespaceSystem)
	case err != nil:
		b.Report.Fail(check, "reading Service %s/kube-dns: %v", metav1.NamespaceSystem, err)
	default:
		b.connect(ctx, check, from, service.Name+"."+service.Namespace+".svc:80", true)
	}
}

// addresses reaches all addresses of a server.
func (b *bed) addresses(ctx context.Context, check, from string, server *corev1.Pod) {
	b.connect(ctx, check, from, hostPort(server), true)
	for _, other := range server.Status.PodIPs {
		if other.IP != server.Status.PodIP {
			b.connect(ctx, check, from, net.JoinHostPort(other.IP, strconv.Itoa(serverPort)), true)
		}
	}
}

// uploadBytes is the size of a file that makes packets as large as the path may carry.
const uploadBytes = 200_000

// large sends a file: where a link between the Nodes carries less than Pods believe, connections are made and their data is lost.
func (b *bed) large(ctx context.Context, from string, server *corev1.Pod) {
	const check = "large packets"
	script := fmt.Sprintf("head -c %d /dev/zero >/tmp/file && curl -sS -o /dev/null --max-time 10 --retry 2 -F file=@/tmp/file http://%s/upload", uploadBytes, hostPort(server))
	client, err := b.Start(ctx, b.pod("upload-"+rand.String(5), from, corev1.Container{Command: []string{"sh", "-c", script}}), hasEnded)
	switch {
	case err != nil:
		b.Report.Fail(check, "no client: %v", err)
	case client.Status.Phase == corev1.PodSucceeded:
		b.Report.OK(check, "Node %s sent %d bytes to %s", from, uploadBytes, hostPort(server))
	default:
		b.Report.Fail(check, "Node %s cannot send %d bytes to %s %s: set defaultMTU to the largest packet that the network between the Nodes carries, minus 50, or 70 over IPv6",
			from, uploadBytes, hostPort(server), output(client))
	}
}

// policy must not reach a server that a NetworkPolicy isolates.
func (b *bed) policy(ctx context.Context, on, from string) {
	_, err := b.Kube.NetworkingV1().NetworkPolicies(b.Name).Create(ctx, &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "isolated", Namespace: b.Name},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{role: "isolated"}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		b.Report.Fail("network policy", "making the NetworkPolicy: %v", err)
		return
	}
	server, err := b.Start(ctx, b.server("isolated", on), testpods.IsReady)
	if err != nil {
		b.Report.Fail("network policy", "no server: %v", err)
		return
	}
	b.connect(ctx, "network policy", from, hostPort(server), false)
}

// connect checks whether a Pod on a Node can connect to an address.
func (b *bed) connect(ctx context.Context, check, node, address string, allowed bool) {
	b.connectBy(ctx, check, b.pod("client-"+rand.String(5), node, corev1.Container{}), address, allowed)
}

// connectBy checks whether a Pod, which gets its command here, can connect to an address, and returns whether all is as it should be.
func (b *bed) connectBy(ctx context.Context, check string, pod *corev1.Pod, address string, allowed bool) bool {
	tries := "1 2 3 4 5"
	if !allowed {
		tries = "1"
	}
	script := fmt.Sprintf("for try in %s; do /agnhost connect %s --timeout=2s && exit 0; sleep 1; done; exit 1", tries, address)
	node := pod.Spec.NodeName
	pod.Spec.Containers[0].Command = []string{"sh", "-c", script}
	client, err := b.Start(ctx, pod, hasEnded)
	switch reached := err == nil && client.Status.Phase == corev1.PodSucceeded; {
	case err != nil:
		b.Report.Fail(check, "no client: %v", err)
	case reached == allowed:
		b.Report.OK(check, "Node %s to %s: %s", node, address, verdict(reached))
		return true
	default:
		b.Report.Fail(check, "Node %s to %s: %s %s", node, address, verdict(reached), output(client))
	}
	return false
}

func verdict(reached bool) string {
	if reached {
		return "connected"
	}
	return "no connection"
}

// output returns the final message of the Pod's program in parentheses.
func output(pod *corev1.Pod) string {
	if message := testpods.Output(pod); message != "" {
		return "(" + message + ")"
	}
	return ""
}

func hostPort(server *corev1.Pod) string {
	return net.JoinHostPort(server.Status.PodIP, strconv.Itoa(serverPort))
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// server is a Pod that answers HTTP and UDP requests.
func (b *bed) server(name, node string) *corev1.Pod {
	return b.pod(name, node, corev1.Container{
		Args: []string{"netexec", "--http-port=" + strconv.Itoa(serverPort), "--udp-port=" + strconv.Itoa(udpPort)},
		ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/hostname", Port: intstr.FromInt32(serverPort)},
		}},
	})
}

func (b *bed) pod(name, node string, container corev1.Container) *corev1.Pod {
	container.Name, container.Image = "agnhost", b.Image
	pod := b.Pod(name, node, container)
	pod.Labels = map[string]string{role: name}
	return pod
}
