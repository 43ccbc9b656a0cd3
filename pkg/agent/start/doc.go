// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package start starts the agent in order.
//
// phases.go names the phases of the start. agent.go contains the parts of the agent that take part in the order: each says which phases it
// waits for and which it reaches. run.go brings the Node up step by step and then runs the parts; group.go runs them until the agent ends.
// docs/design/start.md shows the order; a test writes its table.
package start
