// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package antctl is the command line tool for inspecting a running component. Commands are data: a Definition names the
// command, its arguments and flags, the path of the component's API that answers it, and a Response that decodes the answer
// and lays it out as a table. All commands share the code for cobra commands, finding the server, JSON, YAML and tables.
//
// To add a command, append a Definition to agentDefinitions, for example
//
//	{
//		Use: "things", Aliases: []string{"thing"}, Short: "Print things", Group: Get,
//		Args:  []Arg{{Name: "name"}},
//		Flags: []Flag{{Name: "namespace", Shorthand: "n", Usage: "Only of this Namespace"}},
//		Agent: &Endpoint{Path: "/things", Response: List(
//			Column[apis.Thing]{"NAME", func(t apis.Thing) string { return t.Name }},
//		)},
//	}
//
// Arguments and flags become query parameters of the same name. A command whose answer depends on them (views of one
// object) sets Endpoint.ResponseFor instead of Response. When the output differs from what the server sends, wrap the
// layout of the output: Transform(func([]apis.Thing) ([]row, error) {...}, List(...)).
//
// In a Pod of Antrea (environment variable POD_NAME) the server is the component in the same Pod, accessed with the
// loopback token. Elsewhere it is the controller's API through the Kubernetes API, accessed with a kubeconfig. A
// command exists only in the modes for which it has an Endpoint. Requests that the Kubernetes API does not forward go
// directly to agents and controller.
//
// Commands of several requests have files of their own.
package antctl
