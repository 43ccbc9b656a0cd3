// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"net/http"
	"net/url"
)

// Group is the position of a command in the tree.
type Group string

const (
	// Flat commands are directly under antctl; their default output is YAML.
	Flat Group = ""
	// Get commands are under antctl get; their default output is a table.
	Get Group = "get"
	// Query commands are under antctl query; their default output is a table.
	Query Group = "query"
	// ONCache commands are under antctl oncache; their default output is a table.
	ONCache Group = "oncache"
)

// Definition is one command.
type Definition struct {
	Use     string
	Aliases []string
	Short   string
	Long    string
	Example string
	Group   Group
	// Args are optional positional arguments, in this order.
	Args  []Arg
	Flags []Flag
	// Watch is set for the command that has --watch (addWatch).
	Watch bool
	// Unanswered, when set, is what the command prints beside the error when no server answers.
	Unanswered func() Result
	// Agent and Controller answer the command in these modes; nil if the command does not exist there.
	Agent, Controller *Endpoint
}

// Arg is an optional positional argument; Name is the query parameter.
type Arg struct {
	Name string
}

// Flag is a string flag, or with Bool set a switch. It becomes the query parameter Parameter, or Name, when the user sets it.
type Flag struct {
	Name      string
	Parameter string
	Shorthand string
	Usage     string
	Bool      bool
}

// Endpoint answers a command: GET Path with the arguments as query, PUT when they request a change, or POST with Body.
type Endpoint struct {
	Path     string
	Response Response
	// ChangedBy is the parameter that requests a change; empty if there is none.
	ChangedBy string
	// Changes is set for a command whose only purpose is a change.
	Changes bool
	// ResponseFor, when set, returns the Response for the query instead of Response.
	ResponseFor func(query url.Values) Response
	// Query, when set, converts the arguments and flags to the request's query.
	Query func(url.Values) url.Values
	// Body, when set, makes the body of a POST of the arguments and flags.
	Body func(url.Values) ([]byte, error)
	// Direct is set for a path that the Kubernetes API does not forward to the controller: outside the controller's Pod, antctl
	// connects to the controller itself.
	Direct bool
	// TextOnly commands print Result.Text and lack the flag --output.
	TextOnly bool
}

func (e *Endpoint) method(query url.Values) string {
	if e.Body != nil {
		return http.MethodPost
	}
	if e.Changes || e.ChangedBy != "" && query.Has(e.ChangedBy) {
		return http.MethodPut
	}
	return http.MethodGet
}

func (e *Endpoint) response(query url.Values) Response {
	if e.ResponseFor != nil {
		return e.ResponseFor(query)
	}
	return e.Response
}

func (d *Definition) endpoint(mode Mode) *Endpoint {
	switch mode {
	case ModeAgent:
		return d.Agent
	case ModeController:
		return d.Controller
	default:
		return nil
	}
}
