// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// thirdNode is a Node that consists only of its object: the agents make routes and flows to it.
const thirdNode = "node-3"

// thirdPodNetworks are the Pod networks that the third Node may have.
var thirdPodNetworks = [2]string{"10.10.200.0/24", "10.10.201.0/24"}

func toggleThirdNode(ctx context.Context, w *world, _ event) error {
	if w.thirdPods != "" {
		return w.removeThirdNode(ctx)
	}
	return w.addThirdNode(ctx, thirdPodNetworks[0])
}

func (w *world) addThirdNode(ctx context.Context, pods string) error {
	_, err := w.Client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: thirdNode},
		Spec:       corev1.NodeSpec{PodCIDR: pods, PodCIDRs: []string{pods}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	w.thirdPods = pods
	if err := w.addressThirdNode(ctx, 200); err != nil {
		return err
	}
	return w.waitRoutes(ctx, pods, true)
}

func (w *world) removeThirdNode(ctx context.Context) error {
	pods, err := w.deleteThirdNode(ctx)
	if err != nil {
		return err
	}
	return w.waitRoutes(ctx, pods, false)
}

// deleteThirdNode deletes the object and returns the Pod network that it had.
func (w *world) deleteThirdNode(ctx context.Context) (pods string, err error) {
	if err := w.Client.CoreV1().Nodes().Delete(ctx, thirdNode, metav1.DeleteOptions{}); err != nil {
		return "", err
	}
	pods, w.thirdPods = w.thirdPods, ""
	return pods, nil
}

// changeThirdPodNetwork gives the third Node another Pod network, after it has been added if there is none. The API allows that only to a new Node of
// the same name, and agents may see the two as one change.
func changeThirdPodNetwork(ctx context.Context, w *world, e event) error {
	if w.thirdPods == "" {
		if err := toggleThirdNode(ctx, w, e); err != nil {
			return err
		}
	}
	former, err := w.deleteThirdNode(ctx)
	if err != nil {
		return err
	}
	next := thirdPodNetworks[0]
	if former == next {
		next = thirdPodNetworks[1]
	}
	return errors.Join(w.addThirdNode(ctx, next), w.waitRoutes(ctx, former, false))
}

// readdressThirdNode changes its address, after it has been added if there is none.
func readdressThirdNode(ctx context.Context, w *world, e event) error {
	if w.thirdPods == "" {
		if err := toggleThirdNode(ctx, w, e); err != nil {
			return err
		}
	}
	w.made++
	return w.addressThirdNode(ctx, byte(201+w.made%50))
}

func (w *world) addressThirdNode(ctx context.Context, lastByte byte) error {
	nodes := w.Client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, thirdNode, metav1.GetOptions{})
	if err != nil {
		return err
	}
	address := w.Nodes[0].IPv4.As4()
	address[3] = lastByte
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: netip.AddrFrom4(address).String()}}
	_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return err
}

// waitRoutes waits until all Nodes have a route to a Pod network, or none has.
func (w *world) waitRoutes(ctx context.Context, pods string, want bool) error {
	return eventually(ctx, fmt.Sprintf("routes to %s: %t", pods, want), func() error {
		for _, n := range w.Nodes {
			out, err := n.Exec(ctx, "ip", "route", "show", pods)
			if err != nil {
				return err
			}
			if (out != "") != want {
				return fmt.Errorf("%s: %q", n.Name, out)
			}
		}
		return nil
	})
}

// churnPods makes Pods and deletes them again, all at the same time.
func churnPods(ctx context.Context, w *world, e event) error {
	const pods = 3
	results := make(chan error, pods)
	for range pods {
		w.made++
		name := fmt.Sprint("churn-", w.made)
		go func() {
			pod, err := w.createPod(ctx, w.Nodes[e.node], name, "churn")
			if err == nil {
				err = pod.Delete(ctx)
			}
			results <- err
		}()
	}
	var err error
	for range pods {
		err = errors.Join(err, <-results)
	}
	return err
}

// reuseAddress deletes a Pod that may reach a server, and gives its address to one that may not. Once the server's Node enforces that, nothing
// gets there.
func reuseAddress(ctx context.Context, w *world, e event) error {
	n := w.Nodes[e.node]
	w.made++
	welcome, err := w.createPod(ctx, n, fmt.Sprint("welcome-", w.made), "client")
	if err != nil {
		return err
	}
	if err := w.awaitWelcome(ctx, welcome); err != nil {
		return errors.Join(err, welcome.Delete(ctx))
	}
	if err := welcome.Delete(ctx); err != nil {
		return err
	}
	if err := n.SetNextAddress(welcome.IP); err != nil {
		return err
	}
	stranger, err := w.createPod(ctx, n, fmt.Sprint("successor-", w.made), "stranger")
	if err != nil {
		return err
	}
	return errors.Join(w.probeFromSuccessor(ctx, welcome, stranger), stranger.Delete(ctx))
}

// awaitWelcome waits until a new Pod reaches the server.
func (w *world) awaitWelcome(ctx context.Context, pod *cluster.Pod) error {
	return eventually(ctx, "the new Pod to reach the server", func() error {
		answered, err := w.pingServer(ctx, pod)
		if err == nil && answered.Received == 0 {
			err = errors.New("no datagram was answered")
		}
		return err
	})
}

func (w *world) probeFromSuccessor(ctx context.Context, former, pod *cluster.Pod) error {
	if pod.IP != former.IP {
		return fmt.Errorf("the second Pod has the address %s, want the first one's, %s", pod.IP, former.IP)
	}
	err := eventually(ctx, w.far.Node.Name+" to forget the address of the Pod that is gone", func() error {
		flows, err := w.far.Node.Exec(ctx, "ovs-ofctl", "-O", "OpenFlow15", "--names", "--no-stats", "dump-flows", "br-int", "table=IngressRule")
		if err == nil && strings.Contains(flows, "nw_src="+pod.IP.String()+" ") {
			err = errors.New("a rule of policies has it")
		}
		return err
	})
	if err != nil {
		return err
	}
	answered, err := w.pingServer(ctx, pod)
	w.probed = append(w.probed, probed{"a Pod with the address of one that may", uint64(answered.Sent), uint64(answered.Received)})
	return err
}

// pingServer sends some datagrams, from another port each time: conntrack remembers the connections of a Pod that is gone.
func (w *world) pingServer(ctx context.Context, pod *cluster.Pod) (answered report.Ping, err error) {
	out, err := pod.Exec(ctx, "traffic", "udp-ping", fmt.Sprintf("--to=%s:%d", w.far.IP, echoPort), "--count=10", "--rate=50")
	if err != nil {
		return answered, err
	}
	return answered, json.Unmarshal([]byte(out), &answered)
}

// disconnectAPI makes the Kubernetes API unreachable for agents and controller.
func disconnectAPI(ctx context.Context, w *world, e event) error {
	w.DisconnectAPI()
	return errors.Join(last(ctx, e.length), w.ConnectAPI())
}

func restartController(ctx context.Context, w *world, e event) error {
	if err := w.StopController(); err != nil {
		return err
	}
	return w.startController(ctx, e)
}

func killController(ctx context.Context, w *world, e event) error {
	w.KillController()
	return w.startController(ctx, e)
}

func (w *world) startController(ctx context.Context, e event) error {
	if err := last(ctx, e.length); err != nil {
		return err
	}
	if err := w.StartController(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return w.WaitControllerReady(ctx)
}
