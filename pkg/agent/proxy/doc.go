// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxy is the controller of AntreaProxy: it watches Services and EndpointSlices and keeps in the switch, for
// each port of a Service and each IP version, the addresses at which clients reach it and the Endpoints that serve it.
// docs/use/antrea-proxy.md describes it for users.
//
// config.go says which Services are handled. service.go and slice.go read the objects, networks.go and regions.go Nodes. claims.go decides which Service gets an address
// that several want. core.go keeps all of it and says which Services an event matters for. endpoints.go selects
// Endpoints, and evaluate.go turns a Service into the wanted state of the switch; external.go does so for proxyAll.
// plan.go compares the wanted state with the switch, and lists the operations. None of them does I/O. watch.go and
// controller.go run them, host.go makes the host follow, addresses.go finds the addresses for NodePorts. cleaner.go
// ends the UDP connections that comparison.go finds wrong, orphans.go the connections of a former agent (kernel.go defines
// conntrack's table); findings.go reports problems, query.go answers questions, metrics.go counts.
//
// An event causes the evaluation of the Services that it concerns, and one operation for each port that changes.
// Nothing is done periodically, or for all Services, except when this Node moves to another zone.
//
// # What Kubernetes leaves open
//
//   - If several Services want an address and port, cluster IPs win over addresses of load balancers, and these over external IPs.
//     Among equals the oldest Service wins, then the first by Namespace and name.
//   - If an Endpoint is in several EndpointSlices, the entry counts that does not terminate, then one that is ready, then one that
//     serves, then the one in the first slice by name.
//   - An Endpoint whose address is a cluster IP is left out, as the documentation of Services without selector demands, except for
//     Services that come from other clusters: the pipeline leads on to that Service's Endpoints. An address in the Pod network of a Node is always taken for a Pod's.
//
// # Why not kube-proxy's packages
//
// k8s.io/kubernetes/pkg/proxy tracks the changes of the same objects. It can be built into the agent (Kubernetes 1.37.2: 12
// packages, 1.3 MB), but a module that requires k8s.io/kubernetes needs 33 replace directives for the modules of which that is
// composed, and so does each module that requires this one; Kubernetes does not support it as a library, and its functions
// change from release to release. It was not used, because this controller would need little of it: it logs bad objects and
// forgets them where problems have to be reported, keeps each IP version apart, applies changes in batches, and does not notice two
// Services with one address. Remaining would be the choice of Endpoints by readiness, hints and traffic policy
// (CategorizeEndpoints), which is endpoints.go. test/services/kubeproxy compares the two.
package proxy
