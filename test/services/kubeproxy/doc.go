// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeproxy compares AntreaProxy with a second opinion: the packages with which kube-proxy reads Services and EndpointSlices and
// selects Endpoints (k8s.io/kubernetes/pkg/proxy). Both get the same random objects; compared are, for each port and IP version, the
// Endpoints for the traffic policies Cluster and Local.
//
// It is a module of its own, with tests only, because k8s.io/kubernetes needs a replace directive for each of the modules that it is
// composed of (package proxy says why the agent does not use it). The objects are valid ones, as the API server would accept them, and no
// address is twice in a Service: which of two Endpoints with one address counts, kube-proxy leaves open.
package kubeproxy
