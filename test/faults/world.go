// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

const (
	namespace = "faults"
	gate      = "ONCache"
	// tunnelDevice is Geneve's device.
	tunnelDevice = "genev_sys_6081"

	// patience is the limit for anything that an event must lead to, on a slow machine.
	patience = 3 * time.Minute
)

// Ports of servers. A port of a Service is serviceShift higher, so that ports are also translated. Connections through
// a Service go to ports of their own: conntrack remembers them for two minutes, and drops one to the Endpoint from the
// same port of the client.
const (
	echoPort         = 5002 // UDP
	requestPort      = 5003 // TCP, as all others
	shortPort        = 5004
	serviceShortPort = 5005
	streamPort       = 5010
	serviceStream    = 5011
	forbiddenPort    = 5020 // UDP
	outsidePort      = 5030 // of the host outside the cluster
	serviceShift     = 1000
)

var allowedPorts = []port{
	{corev1.ProtocolUDP, echoPort}, {corev1.ProtocolTCP, requestPort}, {corev1.ProtocolTCP, shortPort}, {corev1.ProtocolTCP, serviceShortPort},
	{corev1.ProtocolTCP, streamPort}, {corev1.ProtocolTCP, serviceStream},
}

type port struct {
	protocol corev1.Protocol
	number   int32
}

func (p port) name() string {
	return fmt.Sprintf("%s-%d", strings.ToLower(string(p.protocol)), p.number)
}

// world is the cluster with everything that is there all the time.
type world struct {
	*cluster.Cluster
	progress *progress.Printer
	options

	client *cluster.Pod
	// far is the server on the second Node, near that on the client's.
	far, near *cluster.Pod
	// subject opens connections to target, which policies forbid at times. mute may send nothing, and unrelated Pods
	// have no way to the servers.
	subject, target, mute *cluster.Pod
	strangers             [2]*cluster.Pod
	// elsewhere is on each Node the only Pod that some policies concern.
	elsewhere [2]*cluster.Pod
	// farService and nearService are the cluster IPs in front of far and near.
	farService, nearService netip.Addr

	// objects reaches custom resources. sources are the packets of unrelated Pods outside the cluster, where Egress gives them their address.
	objects dynamic.Interface
	sources *sources
	// clearText counts packets that were not encrypted; it is nil in other modes than WireGuard.
	clearText *clearText
	// homes are the addresses of the second Node, the first one at the start.
	homes [2]home

	// upgraded are the Nodes whose agents have maps of another size than at the start.
	upgraded [2]bool

	targetForbidden bool
	// thirdPods is the Pod network of the third Node, "" if there is no such Node.
	thirdPods string
	// probed are forbidden packets that events themselves have sent.
	probed []probed
	// made counts objects, for their names.
	made int
}

// probed is a probe of which this much was delivered.
type probed struct {
	name            string
	sent, delivered uint64
}

// options are the options of a world.
type options struct {
	mode cluster.Mode
	// gateOn is the feature gate ONCache.
	gateOn bool
	// tunnel is oncache.tunnel.
	tunnel string
	// load is the amount of traffic, 1 for all of it.
	load float64
	// flows matches the names of flows that there are.
	flows *regexp.Regexp
}

// Values of oncache.tunnel.
const (
	tunnelEncap   = "encap"
	tunnelRewrite = "rewrite"
)

// maxFlows is the size of the maps. With the default size each start of an agent takes longer on an emulated machine.
const maxFlows = 65536

// cache is the part of an agent's configuration about the cache.
func (o options) cache(maxFlows int) map[string]any {
	return map[string]any{"maxFlows": maxFlows, "tunnel": o.tunnel, "direct": o.mode.Direct()}
}

// args returns the options that a replay by make test-faults needs.
func (o options) args() string {
	switch {
	case o.mode != cluster.Encap:
		return " FAULTS_ARGS=-mode=" + string(o.mode)
	case o.tunnel != tunnelEncap:
		return " FAULTS_ARGS=-tunnel=" + o.tunnel
	}
	return ""
}

func newWorld(ctx context.Context, p *progress.Printer, o options) (_ *world, err error) {
	w := &world{progress: p, options: o}
	w.Cluster, err = cluster.New(ctx, cluster.Options{
		TunnelType: "geneve", FeatureGates: map[string]bool{gate: o.gateOn}, Progress: p, AgentArgs: []string{"-v=2"},
		AgentConfig: func(_ int, conf map[string]any) {
			o.mode.Configure(conf)
			conf["oncache"] = o.cache(maxFlows)
		},
	})
	if err != nil {
		return nil, err
	}
	if err := w.StartAgents(ctx); err != nil {
		return w, err
	}
	w.homes = homesOf(o.mode, w.Nodes[1].IPv4)
	if o.mode == cluster.WireGuard {
		if w.clearText, err = recordClearText(w.Cluster); err != nil {
			return w, err
		}
	}
	if err := w.makePods(ctx); err != nil {
		return w, err
	}
	if err := w.makePolicies(ctx); err != nil {
		return w, err
	}
	if o.mode == cluster.Encap {
		if err := w.makeEgress(ctx); err != nil {
			return w, err
		}
	}
	if w.sources, err = recordSources(w.Internet, outside); err != nil {
		return w, err
	}
	for _, n := range w.Nodes {
		// Routers do this when their MAC address changes; see next-hop-mac.
		if err := n.WriteFile("/proc/sys/net/ipv4/conf/eth0/arp_notify", []byte("1")); err != nil {
			return w, err
		}
	}
	return w, nil
}

// makePods makes the Pods that stay, and the Services in front of the servers.
func (w *world) makePods(ctx context.Context) error {
	var err error
	n1, n2 := w.Nodes[0], w.Nodes[1]
	for _, make := range []struct {
		pod  **cluster.Pod
		node *cluster.Node
		name string
		app  string
	}{
		{&w.client, n1, "client", "client"}, {&w.far, n2, "far", "server"}, {&w.near, n1, "near", "server"},
		{&w.subject, n1, "subject", "subject"}, {&w.target, n2, "target", "target"}, {&w.mute, n1, "mute", "mute"},
		{&w.strangers[0], n1, "stranger-1", "stranger"}, {&w.strangers[1], n2, "stranger-2", "stranger"},
		{&w.elsewhere[0], n1, "elsewhere-1", "elsewhere"}, {&w.elsewhere[1], n2, "elsewhere-2", "elsewhere"},
	} {
		if *make.pod, err = w.createPod(ctx, make.node, make.name, make.app); err != nil {
			return err
		}
	}
	if w.farService, err = w.makeService(ctx, "far", w.far); err != nil {
		return err
	}
	w.nearService, err = w.makeService(ctx, "near", w.near)
	return err
}

func (w *world) createPod(ctx context.Context, n *cluster.Node, name, app string) (*cluster.Pod, error) {
	return w.CreatePod(ctx, n, namespace, name, func(p *corev1.Pod) { p.Labels = map[string]string{"app": app} })
}

// makeService makes a Service without a selector, whose only Endpoint is a Pod, with all ports of servers.
func (w *world) makeService(ctx context.Context, name string, pod *cluster.Pod) (netip.Addr, error) {
	spec := corev1.ServiceSpec{}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{pod.IP.String()}, NodeName: &pod.Node.Name}},
	}
	for _, p := range append(slices.Clone(allowedPorts), port{corev1.ProtocolUDP, forbiddenPort}) {
		spec.Ports = append(spec.Ports, corev1.ServicePort{Name: p.name(), Protocol: p.protocol, Port: p.number + serviceShift})
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: ptr.To(p.name()), Protocol: &p.protocol, Port: &p.number})
	}
	service, err := w.Client.CoreV1().Services(namespace).Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return netip.Addr{}, err
	}
	if _, err := w.Client.DiscoveryV1().EndpointSlices(namespace).Create(ctx, slice, metav1.CreateOptions{}); err != nil {
		return netip.Addr{}, err
	}
	return netip.ParseAddr(service.Spec.ClusterIP)
}

// close ends the cluster. The API outlives it, but not the testbed.
func (w *world) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	if w.thirdPods != "" {
		err = w.removeThirdNode(ctx)
	}
	if w.sources != nil {
		err = errors.Join(err, w.sources.end())
	}
	if w.clearText != nil {
		err = errors.Join(err, w.clearText.end())
	}
	return errors.Join(err, w.Close())
}

// eventually waits until condition returns nil.
func eventually(ctx context.Context, what string, condition func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s", patience))
	defer cancel()
	return cluster.Eventually(ctx, "waiting for "+what, condition)
}
