// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const podInterface = "eth0"

// Pod is a Pod object and its sandbox: a network namespace of the Node, connected by CNI. As a Space it has the Node's file
// system and host name (and the Node's /sys), and the Pod's network.
type Pod struct {
	*Space
	Node               *Node
	Namespace, PodName string
	// IPs are the addresses from CNI, IPv4 first; IP is the first of them.
	IP  netip.Addr
	IPs []netip.Addr
	// ContainerID and NetNS (a path in the Node's mount namespace) are the CNI plugin's parameters.
	ContainerID, NetNS string

	deleting sync.Mutex
	deleted  bool
}

// CreatePod creates the Pod object on a Node, its sandbox, calls CNI ADD, and sets the object's status to Running. The
// namespace is created if it does not exist. opts may change the object before it is created (labels, annotations, ports).
// On error nothing is left.
func (c *Cluster) CreatePod(ctx context.Context, node *Node, namespace, name string, opts ...func(*corev1.Pod)) (_ *Pod, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("creating Pod %s/%s on %s: %w", namespace, name, node.Name, err)
		}
	}()
	if err := c.ensureNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: corev1.PodSpec{
			NodeName:   node.Name,
			Containers: []corev1.Container{{Name: "main", Image: "testbed"}},
		},
	}
	for _, opt := range opts {
		opt(object)
	}
	if object, err = c.Client.CoreV1().Pods(namespace).Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	p := &Pod{Node: node, Namespace: namespace, PodName: name, ContainerID: randomHex(32)}
	p.NetNS = "/var/run/netns/cni-" + p.ContainerID[:16]
	defer func() {
		if err != nil {
			err = errors.Join(err, p.undo(ctx, p.deleteObject))
		}
	}()
	var netns *os.File
	err = node.Do(func() error {
		netns, err = addNetNS(p.NetNS)
		return err
	})
	if err != nil {
		return nil, err
	}
	p.Space = newSpace(namespace+"/"+name, node.thread, netns, node.env)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.removeSandbox())
		}
	}()
	if p.IPs, err = p.cniAdd(ctx); err != nil {
		return nil, err
	}
	p.IP = p.IPs[0]
	if c.PodConnected != nil {
		c.PodConnected(p)
	}
	if _, err = c.setPodStatus(ctx, object, texts(node.IPs), texts(p.IPs)); err != nil {
		return nil, errors.Join(err, p.undo(ctx, p.cniDel))
	}
	node.mu.Lock()
	node.pods[p] = struct{}{}
	node.mu.Unlock()
	return p, nil
}

// Delete ends the Pod's programs, calls CNI DEL, and removes sandbox and object. Deleting twice is not an error.
func (p *Pod) Delete(ctx context.Context) error {
	p.deleting.Lock()
	defer p.deleting.Unlock()
	if p.deleted {
		return nil
	}
	p.stopAll()
	if err := p.cniDel(ctx); err != nil {
		return fmt.Errorf("deleting Pod %s: %w", p.Name, err)
	}
	p.deleted = true
	p.Node.mu.Lock()
	delete(p.Node.pods, p)
	p.Node.mu.Unlock()
	return errors.Join(p.removeSandbox(), p.deleteObject(ctx))
}

// undo calls a cleanup function and gives it time even if ctx has ended.
func (p *Pod) undo(ctx context.Context, fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return fn(ctx)
}

func (p *Pod) deleteObject(ctx context.Context) error {
	return p.Node.cluster.deletePodObject(ctx, p.Namespace, p.PodName)
}

func (p *Pod) removeSandbox() error {
	return errors.Join(p.netns.Close(), p.Node.Do(func() error { return removeNetNS(p.NetNS) }))
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // documented to never fail
	return hex.EncodeToString(b)
}
