// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart tests the Helm chart build/charts/antrea: make chart-test.
//
// Helm renders it with many values (render_test.go). Each rendered object is decoded strictly into its Go type, and the
// configuration files in the ConfigMap are read by the packages with which agent and controller read them. Values of the wrong
// kind must be refused (refused_test.go). The values are compared with the schema, the page that lists them, the configuration
// keys and the feature gates (values_test.go), and the rights with docs/operate/rbac.md (rbac_test.go). Prometheus' promtool checks the alerts
// and lets them fire, and checks the queries of the dashboard (monitoring_test.go).
package chart
