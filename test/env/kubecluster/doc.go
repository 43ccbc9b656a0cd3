// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubecluster runs a whole Kubernetes cluster on one machine: etcd, kube-apiserver, kube-controller-manager and kube-scheduler as
// programs of this host, and Nodes that are machines of user-mode Linux, each with a kernel and a disk of its own, containerd and a kubelet. Its only
// network plugin is the one that a user installs.
//
// Files: prepare.go (what is built once on a machine), cluster.go (start and end), networks.go (its networks), node.go (one Node: boot, programs, reboot), kubelet.go (the files that configure a Node's programs),
// disk.go (the Nodes' disk, made once for each set of images), addons.go (what kubeadm would add: kube-proxy, CoreDNS).
package kubecluster
